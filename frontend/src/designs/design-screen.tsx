/** Before a job: what was read from the files, what was derived or looks wrong, the start in numbers and as a picture, the job form. */
import { useMemo } from "preact/hooks";
import { api, isNotFound } from "../api/client";
import type { CanvasRead, ConstraintsRead, Counts, DesignRead } from "../api/types";
import { buildScene } from "../geometry/scene";
import { JobForm } from "../jobs/job-form";
import { LayoutView } from "../layout/layout-view";
import { ago, bytes, cost, count, measure, microns, percent } from "../ui/format";
import { useLoad, useTitle } from "../ui/hooks";
import { Icon } from "../ui/icon";
import { NotFound } from "../ui/not-found";
import { Failure, Link, Loading } from "../ui/parts";
import { groupMessages } from "./warnings";

const WHILE_PARSING_MS = 500;

export function DesignScreen({ designId }: { designId: string }) {
  const {
    data: design,
    error,
    reload,
  } = useLoad(
    `design ${designId}`,
    () => api.design(designId),
    (data) => (data?.state === "parsing" ? WHILE_PARSING_MS : null),
  );
  useTitle(design?.name ?? "Design");
  if (isNotFound(error))
    return <NotFound what="design" detail="It may have been deleted, or the address is not complete." />;
  if (!design)
    return error == null ? (
      <Loading what="the design" />
    ) : (
      <Failure title="The design could not be loaded" error={error} onRetry={reload} />
    );
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <Link to="/">Designs</Link>
        <Icon name="chevron" />
        <span aria-current="page">{design.name}</span>
      </nav>
      <div class="title-row">
        <h1>{design.name}</h1>
        <p class="muted">
          {design.files.map((file) => `${file.name} (${bytes(file.bytes)})`).join(", ")} · {ago(design.created_at)}
        </p>
      </div>
      {error != null && <Failure title="The design could not be loaded again" error={error} onRetry={reload} />}
      {design.state === "parsing" && <Loading what="the netlist: the service is reading it" />}
      {design.state === "failed" && <Unusable design={design} />}
      {design.state === "ready" && design.counts && design.canvas && (
        <Preview design={design} counts={design.counts} canvas={design.canvas} />
      )}
    </div>
  );
}

function Unusable({ design }: { design: DesignRead }) {
  return (
    <>
      <Failure
        title="These files cannot be used"
        error={design.error ?? "The service gave no reason."}
        hint="Nothing of them was kept for placing. Correct the file at the place named and upload it again."
      />
      <p>
        <Link to="/" class="button">
          Upload again
        </Link>
      </p>
    </>
  );
}

function Preview({ design, counts, canvas }: { design: DesignRead; counts: Counts; canvas: CanvasRead }) {
  const layout = useLoad(`layout ${design.id}`, () => api.layout(design.id));
  const scene = useMemo(() => (layout.data ? buildScene(layout.data) : null), [layout.data]);
  return (
    <div class="work">
      <div class="work-main">
        <div class="panel panel-flush">
          {scene && <LayoutView scene={scene} label={`Start of ${design.name}`} />}
          {!scene && layout.error == null && <Loading what="the picture" />}
          {layout.error != null && (
            <Failure title="The picture could not be loaded" error={layout.error} onRetry={layout.reload} />
          )}
        </div>
        <Messages title="Warnings" messages={design.warnings ?? []} />
        <Messages
          title="The start is not legal"
          messages={design.start_problems ?? []}
          foot="A job first moves macros as little as it can to make the start legal. Its result is always legal."
        />
      </div>
      <div class="work-side">
        <section class="panel" aria-labelledby="job-title">
          <h2 id="job-title">New job</h2>
          <JobForm designId={design.id} />
        </section>
        <section class="panel" aria-labelledby="counts-title">
          <h2 id="counts-title">Netlist</h2>
          <dl class="facts">
            <Fact name="Hard macros" value={count(counts.hard_macros)} strong />
            <Fact name="Soft macros" value={count(counts.soft_macros)} />
            <Fact name="Ports" value={count(counts.ports)} />
            {counts.cells > 0 && <Fact name="Standard cells" value={count(counts.cells)} />}
            <Fact name="Nets" value={count(counts.nets)} />
            <Fact name="Pins" value={count(counts.pins)} />
            {counts.fixed > 0 && <Fact name="Fixed, ports included" value={count(counts.fixed)} />}
            {counts.drivers_without_sinks > 0 && (
              <Fact name="Drivers without sinks" value={count(counts.drivers_without_sinks)} />
            )}
          </dl>
        </section>
        <section class="panel" aria-labelledby="canvas-title">
          <h2 id="canvas-title">Canvas</h2>
          <dl class="facts">
            <Fact name="Size" value={`${microns(canvas.width_um)} × ${microns(canvas.height_um)}`} />
            <Fact name="Grid" value={`${canvas.columns} columns × ${canvas.rows} rows`} />
            <Fact name="Area used by hard macros" value={percent(canvas.utilisation)} />
            <Fact
              name="Routes per µm"
              value={`${measure4(canvas.hor_routes_per_um)} hor · ${measure4(canvas.ver_routes_per_um)} ver`}
            />
            <Fact
              name="Taken by macros"
              value={`${measure4(canvas.hor_macro_routes_per_um)} hor · ${measure4(canvas.ver_macro_routes_per_um)} ver`}
            />
            <Fact name="Smoothing" value={`${canvas.smoothing} cells`} />
          </dl>
          <Derived derived={design.derived ?? {}} />
        </section>
        {design.constraints && <Constraints rules={design.constraints} />}
        {design.start_costs && (
          <section class="panel" aria-labelledby="start-title">
            <h2 id="start-title">Costs of the start as uploaded</h2>
            <dl class="facts">
              <Fact name="Proxy cost" value={cost(design.start_costs.proxy_cost)} strong />
              <Fact name="Wirelength" value={cost(design.start_costs.wirelength_cost)} />
              <Fact name="Density" value={cost(design.start_costs.density_cost)} />
              <Fact name="Congestion" value={cost(design.start_costs.congestion_cost)} />
              <Fact name="Weighted wire" value={microns(design.start_costs.wirelength)} />
            </dl>
            <p class="muted small">Proxy cost = wirelength + 0.5 × density + 0.5 × congestion. Lower is better.</p>
          </section>
        )}
      </div>
    </div>
  );
}

/** Rules that came with the files; nothing where there are none. */
function Constraints({ rules }: { rules: ConstraintsRead }) {
  const rows: [string, number][] = [
    ["Fixed hard macros", rules.fixed_macros],
    ["Macros with a halo", rules.macros_with_halo],
    ["Macros in regions", rules.macros_in_regions],
    ["Macros with listed orientations", rules.macros_with_orientations],
    ["Macros kept off the edge", rules.macros_off_boundary],
    ["Regions", rules.regions],
    ["Blockages", rules.blockages],
  ];
  const shown = rows.filter(([, value]) => value > 0);
  if (shown.length === 0 && rules.macro_spacing_um === 0) return null;
  return (
    <section class="panel" aria-labelledby="constraints-title">
      <h2 id="constraints-title">Constraints</h2>
      <dl class="facts">
        {shown.map(([name, value]) => (
          <Fact key={name} name={name} value={count(value)} />
        ))}
        {rules.macro_spacing_um > 0 && <Fact name="Macro spacing" value={microns(rules.macro_spacing_um)} />}
      </dl>
    </section>
  );
}

/** Routing supplies are given with up to four digits. */
const measure4 = (value: number): string => (value >= 100 ? measure(value) : Number(value.toPrecision(4)).toString());

function Fact({ name, value, strong = false }: { name: string; value: string; strong?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={strong ? "num strong" : "num"}>{value}</dd>
    </div>
  );
}

function Derived({ derived }: { derived: Readonly<Record<string, string>> }) {
  const entries = Object.entries(derived);
  if (entries.length === 0) return null;
  return (
    <div class="derived">
      <h3>Derived, because no file gives them</h3>
      <dl>
        {entries.map(([name, rule]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>{rule}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Messages({ title, messages, foot }: { title: string; messages: readonly string[]; foot?: string }) {
  if (messages.length === 0) return null;
  return (
    <section class="notice notice-warn" aria-label={title}>
      <Icon name="warning" />
      <div class="notice-body">
        <p class="notice-title">
          {title} <span class="muted">({messages.length})</span>
        </p>
        <ul class="message-list">
          {groupMessages(messages).map(({ key, messages: group }) => (
            <li key={key}>
              {group.length === 1 ? (
                <code>{group[0]}</code>
              ) : (
                <details>
                  <summary>
                    <code>{group[0]}</code> <span class="muted">and {count(group.length - 1)} like it</span>
                  </summary>
                  <ul class="message-list">
                    {group.slice(1).map((message) => (
                      <li key={message}>
                        <code>{message}</code>
                      </li>
                    ))}
                  </ul>
                </details>
              )}
            </li>
          ))}
        </ul>
        {foot && <p class="muted">{foot}</p>}
      </div>
    </section>
  );
}
