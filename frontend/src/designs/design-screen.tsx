/** Before a job: what was read from the files, what was derived or looks wrong, the start in numbers and as a picture, the job form. */
import { useMemo } from "preact/hooks";
import { api, isNotFound } from "../api/client";
import type { CanvasRead, Counts, DesignRead } from "../api/types";
import { buildScene } from "../geometry/scene";
import { JobForm } from "../jobs/job-form";
import { LayoutView } from "../layout/layout-view";
import { ago, bytes } from "../ui/format";
import { useLoad, useTitle } from "../ui/hooks";
import { Icon } from "../ui/icon";
import { NotFound } from "../ui/not-found";
import { Failure, Link, Loading } from "../ui/parts";
import { MacroRulePanel } from "./macro-rule-panel";
import { Messages } from "./messages";
import { CanvasPanel, ConstraintsPanel, DerivedPanel, MacrosPanel, NetlistPanel, StartPanel } from "./panels";

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
  const preview = design.preview ?? null; // none of a design that an older version has read
  const layout = useLoad(`layout ${design.id}`, () => api.layout(design.id));
  const scene = useMemo(() => (layout.data ? buildScene(layout.data, preview?.die_um) : null), [layout.data, preview]);
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
        <NetlistPanel counts={counts} flat={preview?.counts ?? null} />
        {preview && <MacrosPanel design={design} preview={preview} />}
        {preview?.macro_height != null && (
          <MacroRulePanel
            key={design.id}
            designId={design.id}
            used={preview.macro_height}
            heights={preview.node_heights ?? []}
          />
        )}
        <CanvasPanel canvas={canvas} preview={preview} />
        <DerivedPanel derived={design.derived ?? {}} />
        {design.constraints && <ConstraintsPanel rules={design.constraints} />}
        {design.start_costs && <StartPanel costs={design.start_costs} />}
      </div>
    </div>
  );
}
