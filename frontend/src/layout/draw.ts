/**
 * Drawing a scene on a 2D context of fixed size. In: scene, view, size, theme, what to show; out: pixels.
 * Level of detail: what is smaller than a few pixels loses its edge, its orientation mark and its label; what is not in view is
 * skipped. The context is scaled so that one unit is one CSS pixel. No events, no state: layout-view.tsx calls it when dirty.
 */
import { orientPoint } from "../geometry/orientation";
import { KIND, type Scene } from "../geometry/scene";
import { type ChipBox, px, um } from "../geometry/units";
import { type Size, toScreen, type View, visibleBox } from "../geometry/view";
import type { LayoutTheme } from "./theme";

export interface Shown {
  readonly soft: boolean;
  readonly nets: boolean;
  readonly grid: boolean;
  readonly labels: boolean;
  readonly pins: boolean;
  readonly halos: boolean;
}

export const isShown =
  (shown: Shown) =>
  (kind: number): boolean =>
    kind === KIND.softMacro || kind === KIND.cell ? shown.soft : true;

/** CSS pixels under which a detail is left out. */
const DETAIL = { edge: 4, mark: 12, labelWidth: 46, labelHeight: 11, gridCell: 7 };
const PIN_LINE = 3;

interface Pixels {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function drawScene(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  size: Size,
  theme: LayoutTheme,
  shown: Shown,
): void {
  context.fillStyle = theme.outside;
  context.fillRect(0, 0, size.width, size.height);
  const canvas = { left: um(0), bottom: um(0), right: um(scene.canvas.width_um), top: um(scene.canvas.height_um) };
  const frame = boxPixels(view, canvas);
  context.fillStyle = theme.inside;
  context.fillRect(frame.x, frame.y, frame.width, frame.height);
  if (shown.grid) drawGrid(context, scene, view, size, theme);
  drawBlockages(context, scene, view, theme);
  drawDie(context, scene, view, theme);

  const seen = visibleBox(view, size);
  if (shown.soft) {
    drawBoxes(context, scene, scene.soft, view, seen, () => theme.soft, theme.softEdge);
    drawBoxes(context, scene, scene.cells, view, seen, () => theme.soft, theme.softEdge);
  }
  if (shown.halos) drawHalos(context, scene, view, seen, theme);
  if (shown.nets) drawNets(context, scene, view, theme, shown);
  drawBoxes(
    context,
    scene,
    scene.hard,
    view,
    seen,
    (i) => theme.hard[scene.group[i]! % theme.hard.length]!,
    theme.hardEdge,
  );
  drawMarks(context, scene, view, seen, theme);
  if (shown.pins) drawPinSides(context, scene, view, seen, theme);
  drawPorts(context, scene, view, seen, theme);
  if (shown.labels) drawLabels(context, scene, view, seen, theme);

  context.strokeStyle = theme.border;
  context.lineWidth = 1.5;
  context.strokeRect(frame.x, frame.y, frame.width, frame.height);
}

function boxPixels(view: View, box: ChipBox): Pixels {
  const corner = toScreen(view, { x: box.left, y: box.top });
  return {
    x: corner.x,
    y: corner.y,
    width: (box.right - box.left) * view.scale,
    height: (box.top - box.bottom) * view.scale,
  };
}

const nodeBox = (scene: Scene, i: number): ChipBox => ({
  left: um(scene.left[i]!),
  bottom: um(scene.bottom[i]!),
  right: um(scene.right[i]!),
  top: um(scene.top[i]!),
});

const outOfSight = (scene: Scene, i: number, seen: ChipBox): boolean =>
  scene.right[i]! < seen.left ||
  scene.left[i]! > seen.right ||
  scene.top[i]! < seen.bottom ||
  scene.bottom[i]! > seen.top;

function drawBoxes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  nodes: Int32Array,
  view: View,
  seen: ChipBox,
  fill: (i: number) => string,
  edge: string,
): void {
  const { scale } = view;
  context.strokeStyle = edge;
  context.lineWidth = 1;
  let last = "";
  for (const i of nodes) {
    if (outOfSight(scene, i, seen)) continue;
    // Whole pixels: no anti-aliasing, which is the dearest part, and sharp edges.
    const x = Math.round((scene.left[i]! - view.left) * scale);
    const y = Math.round((view.top - scene.top[i]!) * scale);
    const width = Math.round((scene.right[i]! - view.left) * scale) - x;
    const height = Math.round((view.top - scene.bottom[i]!) * scale) - y;
    const colour = fill(i);
    if (colour !== last) {
      context.fillStyle = colour;
      last = colour;
    }
    context.fillRect(x, y, Math.max(width, 1), Math.max(height, 1));
    if (width > DETAIL.edge && height > DETAIL.edge) context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
}

function drawGrid(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, theme: LayoutTheme): void {
  const { width_um: width, height_um: height, columns, rows } = scene.canvas;
  if ((width / columns) * view.scale < DETAIL.gridCell) return;
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  const low = toScreen(view, { x: um(0), y: um(0) });
  const high = toScreen(view, { x: um(width), y: um(height) });
  for (let c = 1; c < columns; c++) {
    const x = Math.round(low.x + ((high.x - low.x) * c) / columns) + 0.5;
    if (x < 0 || x > size.width) continue;
    context.moveTo(x, high.y);
    context.lineTo(x, low.y);
  }
  for (let r = 1; r < rows; r++) {
    const y = Math.round(low.y + ((high.y - low.y) * r) / rows) + 0.5;
    if (y < 0 || y > size.height) continue;
    context.moveTo(low.x, y);
    context.lineTo(high.x, y);
  }
  context.stroke();
}

function drawBlockages(context: CanvasRenderingContext2D, scene: Scene, view: View, theme: LayoutTheme): void {
  for (const box of scene.blockages) {
    const { x, y, width, height } = boxPixels(view, box);
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.strokeStyle = theme.blockage;
    context.lineWidth = 1;
    context.beginPath();
    const step = Math.max(8, (width + height) / 200);
    for (let d = 0; d < width + height; d += step) {
      context.moveTo(x + d, y);
      context.lineTo(x + d - height, y + height);
    }
    context.stroke();
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    context.restore();
  }
}

function drawMarks(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  seen: ChipBox,
  theme: LayoutTheme,
): void {
  context.fillStyle = theme.mark;
  context.beginPath();
  for (const i of scene.hard) {
    if (outOfSight(scene, i, seen)) continue;
    const { x, y, width, height } = boxPixels(view, nodeBox(scene, i));
    if (width < DETAIL.mark || height < DETAIL.mark) continue;
    const [ownX, ownY] = orientPoint(scene.orientation[i]!, -1, -1);
    const [right, top] = [ownX > 0, ownY > 0];
    const arm = Math.min(9, Math.min(width, height) / 3);
    const cornerX = right ? x + width - 1 : x + 1;
    const cornerY = top ? y + 1 : y + height - 1;
    context.moveTo(cornerX, cornerY);
    context.lineTo(cornerX + (right ? -arm : arm), cornerY);
    context.lineTo(cornerX, cornerY + (top ? arm : -arm));
    context.closePath();
  }
  context.fill();
  context.strokeStyle = theme.fixed;
  context.lineWidth = 2;
  for (const i of scene.hard) {
    if (!scene.fixed[i] || outOfSight(scene, i, seen)) continue;
    const { x, y, width, height } = boxPixels(view, nodeBox(scene, i));
    context.strokeRect(x + 1, y + 1, Math.max(0, width - 2), Math.max(0, height - 2));
  }
}

/** Where a macro's pins are: a thick line inside the box along the part of each side that has some. */
function drawPinSides(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  seen: ChipBox,
  theme: LayoutTheme,
): void {
  context.fillStyle = theme.pin;
  for (const [node, stretches] of scene.pins) {
    if (outOfSight(scene, node, seen)) continue;
    const { x, y, width, height } = boxPixels(view, nodeBox(scene, node));
    if (width < DETAIL.mark || height < DETAIL.mark) continue;
    for (const { side, from, to } of stretches) {
      const length = Math.max((to - from) * view.scale, PIN_LINE);
      const middle = ((from + to) / 2) * view.scale;
      if (side === "left" || side === "right") {
        const at = side === "left" ? x + 1 : x + width - 1 - PIN_LINE;
        context.fillRect(at, y + height / 2 - middle - length / 2, PIN_LINE, length);
      } else {
        const at = side === "top" ? y + 1 : y + height - 1 - PIN_LINE;
        context.fillRect(x + width / 2 + middle - length / 2, at, length, PIN_LINE);
      }
    }
  }
}

function drawHalos(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  seen: ChipBox,
  theme: LayoutTheme,
): void {
  context.strokeStyle = theme.halo;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  for (const { node, sides } of scene.halos) {
    if (outOfSight(scene, node, seen)) continue;
    const box = nodeBox(scene, node);
    const { x, y, width, height } = boxPixels(view, {
      left: um(box.left - sides.left),
      bottom: um(box.bottom - sides.bottom),
      right: um(box.right + sides.right),
      top: um(box.top + sides.top),
    });
    if (width > DETAIL.mark && height > DETAIL.mark) context.strokeRect(x, y, width, height);
  }
  context.setLineDash([]);
}

/** The die's own outline, which may be rectilinear and larger than the canvas. */
function drawDie(context: CanvasRenderingContext2D, scene: Scene, view: View, theme: LayoutTheme): void {
  if (scene.die.length === 0) return;
  context.strokeStyle = theme.die;
  context.lineWidth = 2;
  context.beginPath();
  for (const corner of scene.die) {
    const { x, y } = toScreen(view, corner);
    context.lineTo(x, y);
  }
  context.closePath();
  context.stroke();
}

function drawPorts(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  seen: ChipBox,
  theme: LayoutTheme,
): void {
  context.fillStyle = theme.port;
  for (const i of scene.ports) {
    if (outOfSight(scene, i, seen)) continue;
    const x = (scene.left[i]! - view.left) * view.scale;
    const y = (view.top - scene.top[i]!) * view.scale;
    context.fillRect(x - 2, y - 2, 4, 4);
  }
}

/** Each sampled net as lines from its driver to its sinks. */
function drawNets(context: CanvasRenderingContext2D, scene: Scene, view: View, theme: LayoutTheme, shown: Shown): void {
  const visible = isShown(shown);
  context.strokeStyle = theme.net;
  context.lineWidth = 1;
  context.beginPath();
  const centreX = (i: number) => ((scene.left[i]! + scene.right[i]!) / 2 - view.left) * view.scale;
  const centreY = (i: number) => (view.top - (scene.bottom[i]! + scene.top[i]!) / 2) * view.scale;
  for (const net of scene.nets) {
    const driver = net[0]!;
    if (!visible(scene.kind[driver]!)) continue;
    for (const sink of net) {
      if (sink === driver || !visible(scene.kind[sink]!)) continue;
      context.moveTo(centreX(driver), centreY(driver));
      context.lineTo(centreX(sink), centreY(sink));
    }
  }
  context.stroke();
}

function drawLabels(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  seen: ChipBox,
  theme: LayoutTheme,
): void {
  context.fillStyle = theme.label;
  context.font = `11px ${theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const i of scene.hard) {
    if (outOfSight(scene, i, seen)) continue;
    const { x, y, width, height } = boxPixels(view, nodeBox(scene, i));
    if (width < DETAIL.labelWidth || height < DETAIL.labelHeight) continue;
    // 6.7 px a character: the advance of common monospace fonts at 11 px.
    context.fillText(shortName(scene.name[i]!, Math.floor((width - 8) / 6.7)), x + width / 2, y + height / 2);
  }
}

/** The end of a name, which tells macros of one module apart, in at most `room` characters. */
export function shortName(name: string, room: number): string {
  if (name.length <= room) return name;
  return room <= 1 ? "…" : `…${name.slice(name.length - room + 1)}`;
}

/** The layer above: outlines of the node under the pointer, of the one chosen, and where the chosen one's nets go. */
export function drawOverlay(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  size: Size,
  theme: LayoutTheme,
  hovered: number,
  selected: number,
): void {
  context.clearRect(0, 0, size.width, size.height);
  for (const i of new Set([hovered, selected])) {
    if (i < 0 || i >= scene.count) continue;
    const { x, y, width, height } = boxPixels(view, nodeBox(scene, i));
    const grow = px(i === selected ? 2 : 1);
    context.strokeStyle = theme.label;
    context.lineWidth = i === selected ? 2.5 : 1.5;
    context.strokeRect(x - grow, y - grow, width + 2 * grow, height + 2 * grow);
  }
}
