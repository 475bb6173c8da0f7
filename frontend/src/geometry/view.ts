/**
 * What part of the chip is seen, and where it lands on the page. The one place where y up becomes y down.
 * Pure: views in, views out. Drawing is layout/draw.ts, events are layout/layout-view.tsx.
 */
import { type ChipBox, type ChipPoint, type CssPx, type Micron, px, type ScreenPoint, um } from "./units";

/** screen x = (x - left) * scale; screen y = (top - y) * scale. */
export interface View {
  /** CSS pixels per micron. */
  readonly scale: number;
  /** Chip coordinates at the upper left corner of the layout. */
  readonly left: Micron;
  readonly top: Micron;
}

export interface Size {
  readonly width: CssPx;
  readonly height: CssPx;
}

export interface Extent {
  readonly width: Micron;
  readonly height: Micron;
}

/** Zoom is kept between this share of "all of it seen" and this many times it. */
export const MIN_ZOOM = 0.5;
export const MAX_ZOOM = 400;

export const toScreen = (view: View, point: ChipPoint): ScreenPoint => ({
  x: px((point.x - view.left) * view.scale),
  y: px((view.top - point.y) * view.scale),
});

export const toChip = (view: View, point: ScreenPoint): ChipPoint => ({
  x: um(view.left + point.x / view.scale),
  y: um(view.top - point.y / view.scale),
});

/** The part of the chip that a layout of this size shows. */
export function visibleBox(view: View, size: Size): ChipBox {
  const right = um(view.left + size.width / view.scale);
  const bottom = um(view.top - size.height / view.scale);
  return { left: view.left, top: view.top, right, bottom };
}

/** The view that shows the whole canvas, centred, with `margin` around it. */
export function fitView(canvas: Extent, size: Size, margin: CssPx = px(16)): View {
  const room = { width: Math.max(1, size.width - 2 * margin), height: Math.max(1, size.height - 2 * margin) };
  const scale = Math.min(room.width / canvas.width, room.height / canvas.height);
  return {
    scale,
    left: um(canvas.width / 2 - size.width / 2 / scale),
    top: um(canvas.height / 2 + size.height / 2 / scale),
  };
}

/** Moves what is seen along with a pointer that moved by (dx, dy) on the page. */
export const panBy = (view: View, dx: CssPx, dy: CssPx): View => ({
  scale: view.scale,
  left: um(view.left - dx / view.scale),
  top: um(view.top + dy / view.scale),
});

/** Zooms by `factor`, keeping the chip point under `at` where it is, within the limits that `fitted` gives. */
export function zoomAt(view: View, factor: number, at: ScreenPoint, fitted: View): View {
  const scale = Math.min(fitted.scale * MAX_ZOOM, Math.max(fitted.scale * MIN_ZOOM, view.scale * factor));
  const kept = toChip(view, at);
  return { scale, left: um(kept.x - at.x / scale), top: um(kept.y + at.y / scale) };
}

/** Moves the view just so far that at least a quarter of the layout still shows the canvas: one cannot get lost. */
export function keepInSight(view: View, canvas: Extent, size: Size): View {
  const width = size.width / view.scale;
  const height = size.height / view.scale;
  const spareX = Math.min(width, canvas.width) / 4;
  const spareY = Math.min(height, canvas.height) / 4;
  const left = Math.min(canvas.width - spareX, Math.max(spareX - width, view.left));
  const top = Math.max(spareY, Math.min(canvas.height + height - spareY, view.top));
  return { scale: view.scale, left: um(left), top: um(top) };
}

/** The view with this chip point in the middle; zoomed in at least so far that `side` microns span `span` pixels. */
export function centreOn(view: View, point: ChipPoint, size: Size, side: Micron, span: CssPx): View {
  const scale = Math.max(view.scale, span / side);
  return { scale, left: um(point.x - size.width / 2 / scale), top: um(point.y + size.height / 2 / scale) };
}

/** The length of a scale bar: the greatest of 1, 2, 5 × 10^k µm that is no longer than `room`. */
export function scaleBar(view: View, room: CssPx): Micron {
  const most = room / view.scale;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [5, 2, 1].find((factor) => factor * power <= most * (1 + 1e-9)) ?? 1;
  return um(step * power);
}
