/**
 * A layout as it is drawn: boxes after orientation, in flat arrays. In: `LayoutRead` from the service; out: `Scene`.
 * Coordinates are chip microns, y up. Knows nothing of screens.
 */
import type { LayoutRead } from "../api/types";
import { isTurned, orientSide, orientSides, orientStretch, type Side } from "./orientation";
import { type ChipBox, type ChipPoint, type Micron, um } from "./units";

export const KIND = { hardMacro: 0, softMacro: 1, port: 2, cell: 3 } as const;
export type KindName = keyof typeof KIND;

export const KIND_LABEL: Readonly<Record<number, string>> = {
  [KIND.hardMacro]: "hard macro",
  [KIND.softMacro]: "soft macro",
  [KIND.port]: "port",
  [KIND.cell]: "standard cell",
};

/** Nodes in the order of the layout's columns; `left[i]`… are the edges of node i's box. */
export interface Scene {
  readonly canvas: LayoutRead["canvas"];
  readonly count: number;
  readonly name: readonly string[];
  readonly kind: Uint8Array;
  readonly left: Float64Array;
  readonly bottom: Float64Array;
  readonly right: Float64Array;
  readonly top: Float64Array;
  readonly orientation: readonly string[];
  readonly fixed: readonly boolean[];
  /** Number of the node's group, for colour: macros whose names differ only in their digits share one. */
  readonly group: Uint16Array;
  readonly groupCount: number;
  /** Index lists by kind, the greatest first, so that small ones are drawn on top. */
  readonly hard: Int32Array;
  readonly soft: Int32Array;
  readonly ports: Int32Array;
  readonly cells: Int32Array;
  readonly blockages: readonly ChipBox[];
  /** Corners of the die in order; empty where no file gives it. */
  readonly die: readonly ChipPoint[];
  readonly halos: readonly Halo[];
  /** By hard macro: the stretches of its sides that hold pins, after orientation. */
  readonly pins: ReadonlyMap<number, readonly PinStretch[]>;
  readonly nets: readonly (readonly number[])[];
}

/** Room that a hard macro keeps free beside each side, after orientation. */
export interface Halo {
  readonly node: number;
  readonly sides: Readonly<Record<Side, number>>;
}

/** Pins along a side of a macro; `from` and `to` from its centre. */
export interface PinStretch {
  readonly side: Side;
  readonly from: Micron;
  readonly to: Micron;
  readonly count: number;
}

/** `die`: the corners of its outline, where a file gives it. */
export function buildScene(layout: LayoutRead, die: readonly (readonly [number, number])[] = []): Scene {
  const count = layout.name.length;
  const left = new Float64Array(count);
  const bottom = new Float64Array(count);
  const right = new Float64Array(count);
  const top = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const turned = isTurned(layout.orientation[i]!);
    const width = turned ? layout.height_um[i]! : layout.width_um[i]!;
    const height = turned ? layout.width_um[i]! : layout.height_um[i]!;
    left[i] = layout.x_um[i]! - width / 2;
    right[i] = layout.x_um[i]! + width / 2;
    bottom[i] = layout.y_um[i]! - height / 2;
    top[i] = layout.y_um[i]! + height / 2;
  }
  const area = (i: number) => (right[i]! - left[i]!) * (top[i]! - bottom[i]!);
  const of = (kind: number) =>
    Int32Array.from(
      layout.kind.flatMap((value, i) => (value === kind ? [i] : [])).sort((a, b) => area(b) - area(a) || a - b),
    );
  const { group, groupCount } = groups(layout);
  return {
    canvas: layout.canvas,
    count,
    name: layout.name,
    kind: Uint8Array.from(layout.kind),
    left,
    bottom,
    right,
    top,
    orientation: layout.orientation,
    fixed: layout.fixed,
    group,
    groupCount,
    hard: of(KIND.hardMacro),
    soft: of(KIND.softMacro),
    ports: of(KIND.port),
    cells: of(KIND.cell),
    blockages: layout.blockages_um.map(([l, b, r, t]) => ({ left: um(l), bottom: um(b), right: um(r), top: um(t) })),
    die: die.map(([x, y]) => ({ x: um(x), y: um(y) })),
    halos: (layout.halos ?? []).map(({ node, left_um, right_um, bottom_um, top_um }) => ({
      node,
      sides: orientSides(layout.orientation[node]!, {
        left: left_um,
        right: right_um,
        bottom: bottom_um,
        top: top_um,
      }),
    })),
    pins: pinStretches(layout),
    nets: layout.nets ?? [],
  };
}

function pinStretches(layout: LayoutRead): Map<number, PinStretch[]> {
  const result = new Map<number, PinStretch[]>();
  for (const { node, side, from_um, to_um, pins } of layout.pin_sides ?? []) {
    const orientation = layout.orientation[node]!;
    const [from, to] = orientStretch(orientation, side, from_um, to_um);
    const stretch = { side: orientSide(orientation, side), from: um(from), to: um(to), count: pins };
    const known = result.get(node);
    if (known) known.push(stretch);
    else result.set(node, [stretch]);
  }
  return result;
}

/** Groups hard macros by name without digits: `u_core/data_bank[3].ram` and `…[4].ram` are one bank. Numbered by size. */
function groups(layout: LayoutRead): { group: Uint16Array; groupCount: number } {
  const members = new Map<string, number[]>();
  layout.name.forEach((name, i) => {
    if (layout.kind[i] !== KIND.hardMacro) return;
    const key = name.replace(/\d+/g, "#");
    const list = members.get(key);
    if (list) list.push(i);
    else members.set(key, [i]);
  });
  const group = new Uint16Array(layout.name.length);
  const ordered = [...members.entries()].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
  for (const [number, [, indices]] of ordered.entries()) for (const i of indices) group[i] = number;
  return { group, groupCount: ordered.length };
}

export const centreOf = (scene: Scene, i: number): ChipPoint => ({
  x: um((scene.left[i]! + scene.right[i]!) / 2),
  y: um((scene.bottom[i]! + scene.top[i]!) / 2),
});

export const sizeOf = (scene: Scene, i: number): { width: Micron; height: Micron } => ({
  width: um(scene.right[i]! - scene.left[i]!),
  height: um(scene.top[i]! - scene.bottom[i]!),
});
