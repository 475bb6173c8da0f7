/**
 * The layout with its tools: pan (drag, arrows), zoom (wheel, pinch, + and −), find and choose macros by mouse and by keyboard.
 * Events and controls only; drawing and state of the picture are engine.ts.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { SIDES } from "../geometry/orientation";
import { centreOf, type Halo, KIND, KIND_LABEL, type Scene, sizeOf } from "../geometry/scene";
import { px } from "../geometry/units";
import { scaleBar, type View } from "../geometry/view";
import { count, microns } from "../ui/format";
import { Icon } from "../ui/icon";
import type { Shown } from "./draw";
import { LayoutEngine } from "./engine";
import { watchPointers } from "./pointers";

interface Props {
  readonly scene: Scene;
  /** What the picture shows, in words: "Start of ariane". */
  readonly label: string;
}

const KEY_PAN = 60; // px an arrow key
const KEY_ZOOM = 1.25;

export function LayoutView({ scene, label }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const still = useRef<HTMLCanvasElement>(null);
  const live = useRef<HTMLCanvasElement>(null);
  const engine = useRef<LayoutEngine | null>(null);
  const [shown, setShown] = useState<Shown>({
    soft: true,
    nets: false,
    grid: true,
    labels: true,
    pins: true,
    halos: true,
  });
  const [hovered, setHovered] = useState(-1);
  const [selected, setSelected] = useState(-1);
  const [zoom, setZoom] = useState<{ view: View; share: number } | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: one engine for the component's life; changes go through its setters
  useEffect(() => {
    const made = new LayoutEngine(host.current!, still.current!, live.current!, scene, shown, {
      onHover: setHovered,
      onSelect: setSelected,
      onView: (view, fitted) => setZoom({ view, share: view.scale / fitted.scale }),
    });
    engine.current = made;
    const unwatch = watchPointers(host.current!, {
      pan: (dx, dy) => made.pan(dx, dy),
      zoom: (factor, at) => made.zoom(factor, at),
      hover: (at) => made.hover(at),
      press: (at) => made.selectAt(at),
    });
    return () => {
      unwatch();
      made.destroy();
    };
  }, []);
  useEffect(() => engine.current?.setScene(scene), [scene]);
  useEffect(() => engine.current?.setShown(shown), [shown]);

  const step = (by: 1 | -1) => {
    if (scene.hard.length === 0) return;
    const at = scene.hard.indexOf(selected);
    const next = at < 0 ? (by > 0 ? 0 : scene.hard.length - 1) : (at + by + scene.hard.length) % scene.hard.length;
    engine.current?.reveal(scene.hard[next]!);
  };

  const keys = new Map<string, () => void>([
    ["ArrowLeft", () => engine.current?.pan(KEY_PAN, 0)],
    ["ArrowRight", () => engine.current?.pan(-KEY_PAN, 0)],
    ["ArrowUp", () => engine.current?.pan(0, KEY_PAN)],
    ["ArrowDown", () => engine.current?.pan(0, -KEY_PAN)],
    ["+", () => engine.current?.zoom(KEY_ZOOM)],
    ["=", () => engine.current?.zoom(KEY_ZOOM)],
    ["-", () => engine.current?.zoom(1 / KEY_ZOOM)],
    ["0", () => engine.current?.fit()],
    ["n", () => step(1)],
    ["p", () => step(-1)],
    ["Escape", () => engine.current?.select(-1)],
  ]);

  const onKeyDown = (event: KeyboardEvent) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys.get(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  };

  const toggle = (key: keyof Shown) => setShown((old) => ({ ...old, [key]: !old[key] }));
  const fullScreen = () => {
    const panel = host.current?.closest(".layout");
    void (document.fullscreenElement ? document.exitFullscreen() : panel?.requestFullscreen());
  };

  return (
    <section class="layout" aria-label={label}>
      <div class="layout-tools">
        <div class="chips" role="group" aria-label="Shown in the layout">
          <Toggle on={shown.soft} label="Soft macros" onChange={() => toggle("soft")} />
          {scene.pins.size > 0 && <Toggle on={shown.pins} label="Pin sides" onChange={() => toggle("pins")} />}
          {scene.halos.length > 0 && <Toggle on={shown.halos} label="Halos" onChange={() => toggle("halos")} />}
          {scene.nets.length > 0 && <Toggle on={shown.nets} label="Nets" onChange={() => toggle("nets")} />}
          <Toggle on={shown.grid} label="Grid" onChange={() => toggle("grid")} />
          <Toggle on={shown.labels} label="Names" onChange={() => toggle("labels")} />
        </div>
        <Finder scene={scene} onFound={(node) => engine.current?.reveal(node)} />
        <div class="button-row" role="group" aria-label="Zoom">
          <button type="button" class="icon-button" onClick={() => engine.current?.zoom(1 / 1.5)} aria-label="Zoom out">
            <Icon name="minus" />
          </button>
          <button
            type="button"
            class="icon-button"
            onClick={() => engine.current?.fit()}
            title="Show the whole canvas (0)"
          >
            {zoom ? `${Math.round(zoom.share * 100)} %` : "100 %"}
            <span class="visually-hidden"> zoom: show the whole canvas</span>
          </button>
          <button type="button" class="icon-button" onClick={() => engine.current?.zoom(1.5)} aria-label="Zoom in">
            <Icon name="plus" />
          </button>
          <button type="button" class="icon-button" onClick={fullScreen} aria-label="Full screen">
            <Icon name="expand" />
          </button>
        </div>
      </div>
      <div
        class="layout-picture"
        ref={host}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application of its own, with keys of its own
        tabIndex={0}
        role="application"
        aria-roledescription="layout"
        aria-label={`${label}: ${count(scene.hard.length)} hard macros, ${count(scene.soft.length)} soft macros, ${count(scene.ports.length)} ports. Arrow keys move, plus and minus zoom, 0 shows all, N and P step through the hard macros.`}
        onKeyDown={onKeyDown}
      >
        <canvas ref={still} />
        <canvas ref={live} />
        {zoom && <ScaleBar view={zoom.view} />}
      </div>
      <div class="layout-status">
        <Legend scene={scene} />
        <NodeFacts scene={scene} node={hovered >= 0 ? hovered : selected} />
      </div>
      {/* Only what was chosen is announced: hovering would talk without end. */}
      <p class="visually-hidden" aria-live="polite">
        {selected >= 0 ? factsOf(scene, selected).join(", ") : ""}
      </p>
    </section>
  );
}

function Toggle({ on, label, onChange }: { on: boolean; label: string; onChange: () => void }) {
  return (
    <label class="chip">
      <input type="checkbox" checked={on} onChange={onChange} />
      {label}
    </label>
  );
}

function Finder({ scene, onFound }: { scene: Scene; onFound: (node: number) => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const nodes = [...scene.hard, ...scene.soft, ...scene.ports];
    return nodes.filter((i) => scene.name[i]!.toLowerCase().includes(wanted));
  }, [scene, text]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (found.length === 0) return;
    const next = (at + 1) % found.length;
    setAt(next);
    onFound(found[next]!);
  };
  return (
    <form class="finder" onSubmit={submit}>
      <input
        type="search"
        placeholder="Find macro or port"
        aria-label="Name of a macro or port"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(-1);
        }}
      />
      <span class="finder-count" aria-live="polite">
        {text.trim() === "" ? "" : at >= 0 ? `${at + 1} of ${count(found.length)}` : `${count(found.length)} found`}
      </span>
    </form>
  );
}

function ScaleBar({ view }: { view: View }) {
  const length = scaleBar(view, px(120));
  return (
    <div class="scale-bar" aria-hidden="true">
      <span style={{ width: `${length * view.scale}px` }} />
      {microns(length)}
    </div>
  );
}

function Legend({ scene }: { scene: Scene }) {
  return (
    <ul class="legend">
      <li>
        <span class="swatches">
          {["0", "1", "2"].slice(0, Math.max(1, scene.groupCount)).map((bank) => (
            <i key={bank} class="swatch" style={{ background: `var(--layout-hard-${bank})` }} />
          ))}
        </span>
        hard macro{scene.groupCount > 1 ? ", one colour a bank" : ""}
      </li>
      {scene.soft.length > 0 && (
        <li>
          <i class="swatch swatch-soft" /> soft macro
        </li>
      )}
      {scene.ports.length > 0 && (
        <li>
          <i class="swatch swatch-port" /> port
        </li>
      )}
      {scene.blockages.length > 0 && (
        <li>
          <i class="swatch swatch-blockage" /> blockage
        </li>
      )}
      {scene.pins.size > 0 && (
        <li>
          <i class="swatch swatch-pin" /> side with pins
        </li>
      )}
      {scene.halos.length > 0 && (
        <li>
          <i class="swatch swatch-halo" /> halo
        </li>
      )}
      {scene.die.length > 0 && (
        <li>
          <i class="swatch swatch-die" /> die
        </li>
      )}
      {scene.hard.some((i) => scene.fixed[i]) && (
        <li>
          <i class="swatch swatch-fixed" /> fixed
        </li>
      )}
    </ul>
  );
}

/** What is known of a node, its name first. */
function factsOf(scene: Scene, i: number): [string, ...string[]] {
  const { width, height } = sizeOf(scene, i);
  const { x, y } = centreOf(scene, i);
  const kind = scene.kind[i]!;
  const parts: [string, ...string[]] = [scene.name[i]!, KIND_LABEL[kind] ?? ""];
  if (kind !== KIND.port) parts.push(`${microns(width)} × ${microns(height)}`);
  if (kind === KIND.hardMacro) parts.push(`orientation ${scene.orientation[i]}`);
  parts.push(`centre ${microns(x)}, ${microns(y)}`);
  if (scene.fixed[i] && kind !== KIND.port) parts.push("fixed");
  const stretches = scene.pins.get(i) ?? [];
  if (stretches.length > 0) parts.push(`pins ${stretches.map(({ side, count: n }) => `${side} ${n}`).join(", ")}`);
  const halo = scene.halos.find(({ node }) => node === i);
  if (halo) parts.push(`halo ${haloText(halo)}`);
  return parts;
}

/** "2 µm", or each side where they differ. */
function haloText({ sides }: Halo): string {
  if (SIDES.every((side) => sides[side] === sides.left)) return microns(sides.left);
  return SIDES.map((side) => `${side} ${microns(sides[side])}`).join(", ");
}

function NodeFacts({ scene, node }: { scene: Scene; node: number }) {
  if (node < 0 || node >= scene.count)
    return <p class="node-facts muted">Point at a macro, or press N in the layout.</p>;
  const [name, ...rest] = factsOf(scene, node);
  return (
    <p class="node-facts">
      <code>{name}</code> <span class="muted">{rest.join(" · ")}</span>
    </p>
  );
}
