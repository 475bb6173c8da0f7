/** What was read of a design, in lists of facts: netlist, macros, canvas, derived values, rules, costs of the start. */
import type { ComponentChildren } from "preact";
import type { CanvasRead, ConstraintsRead, Costs, Counts, DesignRead, PreviewRead } from "../api/types";
import { cost, count, measure, microns, percent } from "../ui/format";

/** Counts of what a job places; `flat`: of the files, where their cells were clustered. */
export function NetlistPanel({ counts, flat }: { counts: Counts; flat: Counts | null }) {
  const clustered = flat !== null && flat.cells > counts.cells;
  return (
    <Panel id="counts" title="Netlist">
      <Facts>
        <Fact name="Hard macros" value={count(counts.hard_macros)} strong />
        <Fact name="Soft macros" value={count(counts.soft_macros)} />
        <Fact name="Ports" value={count(counts.ports)} />
        {counts.cells > 0 && <Fact name="Standard cells" value={count(counts.cells)} />}
        {clustered && <Fact name="Standard cells in the files" value={count(flat.cells)} />}
        {clustered && <Fact name="Nets in the files" value={count(flat.nets)} />}
        <Fact name="Nets" value={count(counts.nets)} />
        <Fact name="Pins" value={count(counts.pins)} />
        {counts.drivers_without_sinks > 0 && (
          <Fact name="Drivers without sinks" value={count(counts.drivers_without_sinks)} />
        )}
      </Facts>
    </Panel>
  );
}

/** What a job may do with the hard macros. */
export function MacrosPanel({ design, preview }: { design: DesignRead; preview: PreviewRead }) {
  const { macros: states, counts } = preview;
  return (
    <Panel id="macros" title="What may move">
      <Facts>
        <Fact name="Macros locked" value={count(states.locked)} />
        <Fact name="Macros with a hint" value={count(states.hint)} />
        <Fact name="Macros free" value={count(states.free)} />
        <Fact name="Fixed in all, ports included" value={count(counts.fixed)} />
      </Facts>
      <p class="muted small">
        Locked stays where it is. A hint is the place to start from. Free has no place in the files
        {states.hint > 0 && states.free > 0 ? "; it begins amid what it connects." : "."}
        {design.lock_placed && " What is PLACED was locked, as asked with the upload."}
      </p>
    </Panel>
  );
}

export function CanvasPanel({ canvas, preview }: { canvas: CanvasRead; preview: PreviewRead | null }) {
  const die = preview?.die_um ?? [];
  return (
    <Panel id="canvas" title="Canvas">
      <Facts>
        <Fact name="Size" value={`${microns(canvas.width_um)} × ${microns(canvas.height_um)}`} />
        {die.length > 0 && <Fact name="Die" value={dieText(die)} />}
        {preview?.units_per_um != null && (
          <Fact name="Database units" value={`${count(preview.units_per_um)} per µm`} />
        )}
        {preview?.grid_um != null && <Fact name="Manufacturing grid" value={microns(preview.grid_um)} />}
        <Fact name="Grid" value={`${canvas.columns} columns × ${canvas.rows} rows`} />
        <Fact name="Area used by hard macros" value={percent(canvas.utilisation)} />
        <Fact
          name="Routes per µm"
          value={`${supply(canvas.hor_routes_per_um)} hor · ${supply(canvas.ver_routes_per_um)} ver`}
        />
        <Fact
          name="Taken by macros"
          value={`${supply(canvas.hor_macro_routes_per_um)} hor · ${supply(canvas.ver_macro_routes_per_um)} ver`}
        />
        <Fact name="Smoothing" value={`${canvas.smoothing} cells`} />
      </Facts>
    </Panel>
  );
}

/** "812 µm × 790 µm", and the number of corners where it is no rectangle. */
function dieText(die: readonly (readonly [number, number])[]): string {
  const span = (values: readonly number[]) => microns(Math.max(...values) - Math.min(...values));
  const box = `${span(die.map(([x]) => x))} × ${span(die.map(([, y]) => y))}`;
  return die.length > 4 ? `${box}, rectilinear, ${die.length} corners` : box;
}

/** Routing supplies are given with up to four digits. */
const supply = (value: number): string => (value >= 100 ? measure(value) : Number(value.toPrecision(4)).toString());

export function DerivedPanel({ derived }: { derived: Readonly<Record<string, string>> }) {
  const entries = Object.entries(derived);
  if (entries.length === 0) return null;
  return (
    <Panel id="derived" title="Derived values, and by which rule">
      <dl class="derived">
        {entries.map(([name, rule]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>{rule}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

/** Rules that came with the files; nothing where there are none. */
export function ConstraintsPanel({ rules }: { rules: ConstraintsRead }) {
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
    <Panel id="constraints" title="Constraints">
      <Facts>
        {shown.map(([name, value]) => (
          <Fact key={name} name={name} value={count(value)} />
        ))}
        {rules.macro_spacing_um > 0 && <Fact name="Macro spacing" value={microns(rules.macro_spacing_um)} />}
      </Facts>
    </Panel>
  );
}

export function StartPanel({ costs }: { costs: Costs }) {
  return (
    <Panel id="start" title="Costs of the start as uploaded">
      <Facts>
        <Fact name="Proxy cost" value={cost(costs.proxy_cost)} strong />
        <Fact name="Wirelength" value={cost(costs.wirelength_cost)} />
        <Fact name="Density" value={cost(costs.density_cost)} />
        <Fact name="Congestion" value={cost(costs.congestion_cost)} />
        <Fact name="Weighted wire" value={microns(costs.wirelength)} />
      </Facts>
      <p class="muted small">Proxy cost = wirelength + 0.5 × density + 0.5 × congestion. Lower is better.</p>
    </Panel>
  );
}

export function Panel({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>;

function Fact({ name, value, strong = false }: { name: string; value: string; strong?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={strong ? "num strong" : "num"}>{value}</dd>
    </div>
  );
}
