/** In-between scenes: boxes on their way from one placement to another. Pure. */
import type { Scene } from "../geometry/scene";

/** The scene `share` (0–1) of the way from `from` to `to`, slow at both ends. Both have the same nodes. */
export function blend(from: Scene, to: Scene, share: number): Scene {
  const t = share * share * (3 - 2 * share);
  const mix = (a: Float64Array, b: Float64Array) => b.map((value, i) => a[i]! + (value - a[i]!) * t);
  return {
    ...to,
    left: mix(from.left, to.left),
    right: mix(from.right, to.right),
    bottom: mix(from.bottom, to.bottom),
    top: mix(from.top, to.top),
  };
}
