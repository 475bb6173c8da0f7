/**
 * Mouse, pen and fingers on the layout, as intentions: pan, zoom, hover, press. One pointer drags, two pinch, the wheel zooms.
 */
import { px, type ScreenPoint } from "../geometry/units";

export interface Intentions {
  pan(dx: number, dy: number): void;
  zoom(factor: number, at: ScreenPoint): void;
  hover(at: ScreenPoint | null): void;
  press(at: ScreenPoint): void;
}

/** A press that moves less than this is a click, not a drag. */
const CLICK_PX = 4;

export function watchPointers(element: HTMLElement, to: Intentions): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const down = new Map<number, ScreenPoint>();
  let travelled = 0;

  const at = (event: MouseEvent): ScreenPoint => {
    const box = element.getBoundingClientRect();
    return { x: px(event.clientX - box.left), y: px(event.clientY - box.top) };
  };

  const begin = (event: PointerEvent) => {
    if (event.button !== 0 && event.button !== 1) return;
    if (down.size === 0) travelled = 0;
    down.set(event.pointerId, at(event));
    if (event.isTrusted) element.setPointerCapture(event.pointerId);
    to.hover(null);
  };

  const move = (event: PointerEvent) => {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (!before) return to.hover(now);
    const others = [...down].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    down.set(event.pointerId, now);
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = others[0];
    if (!other) {
      if (travelled >= CLICK_PX) to.pan(now.x - before.x, now.y - before.y);
      return;
    }
    const middle = { x: px((now.x + other.x) / 2), y: px((now.y + other.y) / 2) };
    to.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    if (was > 0) to.zoom(Math.hypot(now.x - other.x, now.y - other.y) / was, middle);
  };

  const end = (event: PointerEvent) => {
    if (!down.delete(event.pointerId) || event.type === "pointercancel") return;
    if (down.size === 0 && travelled < CLICK_PX) to.press(at(event));
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    // deltaMode 1 = lines. A pinch on a touchpad arrives as a wheel with ctrlKey and small deltas.
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    to.zoom(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.0016)), at(event));
  };

  element.addEventListener("pointerdown", begin, options);
  element.addEventListener("pointermove", move, options);
  element.addEventListener("pointerup", end, options);
  element.addEventListener("pointercancel", end, options);
  element.addEventListener("pointerleave", () => to.hover(null), options);
  element.addEventListener("wheel", wheel, { ...options, passive: false });
  return () => stop.abort();
}
