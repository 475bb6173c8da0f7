import { describe, expect, it } from "vitest";
import { px, um } from "./units";
import {
  centreOn,
  fitView,
  keepInSight,
  MAX_ZOOM,
  MIN_ZOOM,
  panBy,
  scaleBar,
  toChip,
  toScreen,
  type View,
  visibleBox,
  zoomAt,
} from "./view";

const size = { width: px(800), height: px(600) };
const canvas = { width: um(400), height: um(1000) };

/** Views and points spread over several decades, the same every time. */
function* cases(): Generator<{ view: View; x: number; y: number }> {
  let state = 12345;
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  for (let i = 0; i < 200; i++) {
    const view = { scale: 10 ** (next() * 6 - 3), left: um(next() * 2000 - 1000), top: um(next() * 2000 - 1000) };
    yield { view, x: next() * 800, y: next() * 600 };
  }
}

describe("view", () => {
  it("turns y up into y down, and back", () => {
    const view = { scale: 2, left: um(10), top: um(100) };
    expect(toScreen(view, { x: um(10), y: um(100) })).toEqual({ x: 0, y: 0 });
    expect(toScreen(view, { x: um(15), y: um(90) })).toEqual({ x: 10, y: 20 });
    expect(toChip(view, { x: px(10), y: px(20) })).toEqual({ x: 15, y: 90 });
  });

  it("screen to chip and back is the identity", () => {
    for (const { view, x, y } of cases()) {
      const back = toScreen(view, toChip(view, { x: px(x), y: px(y) }));
      expect(back.x).toBeCloseTo(x, 5);
      expect(back.y).toBeCloseTo(y, 5);
    }
  });

  it("fits the whole canvas with its margin, centred", () => {
    const view = fitView(canvas, size, px(20));
    const low = toScreen(view, { x: um(0), y: um(0) });
    const high = toScreen(view, { x: canvas.width, y: canvas.height });
    expect(high.y).toBeCloseTo(20);
    expect(low.y).toBeCloseTo(580);
    expect(low.x + high.x).toBeCloseTo(800);
    expect(low.x).toBeGreaterThan(0);
  });

  it("pans with the pointer: what was under it stays under it", () => {
    for (const { view, x, y } of cases()) {
      const held = toChip(view, { x: px(x), y: px(y) });
      const after = toScreen(panBy(view, px(33), px(-21)), held);
      expect(after.x).toBeCloseTo(x + 33, 5);
      expect(after.y).toBeCloseTo(y - 21, 5);
    }
  });

  it("zooms about the pointer and within limits", () => {
    const fitted = fitView(canvas, size);
    const at = { x: px(123), y: px(456) };
    const held = toChip(fitted, at);
    const zoomed = zoomAt(fitted, 7, at, fitted);
    expect(zoomed.scale).toBeCloseTo(fitted.scale * 7);
    expect(toScreen(zoomed, held).x).toBeCloseTo(123);
    expect(toScreen(zoomed, held).y).toBeCloseTo(456);
    expect(zoomAt(fitted, 1e9, at, fitted).scale).toBeCloseTo(fitted.scale * MAX_ZOOM);
    expect(zoomAt(fitted, 1e-9, at, fitted).scale).toBeCloseTo(fitted.scale * MIN_ZOOM);
  });

  it("never loses the canvas out of sight", () => {
    for (const { view } of cases()) {
      const seen = visibleBox(keepInSight(view, canvas, size), size);
      expect(Math.min(seen.right, canvas.width) - Math.max(seen.left, 0)).toBeGreaterThan(0);
      expect(Math.min(seen.top, canvas.height) - Math.max(seen.bottom, 0)).toBeGreaterThan(0);
    }
  });

  it("leaves a view alone that shows the canvas", () => {
    const view = fitView(canvas, size);
    const kept = keepInSight(view, canvas, size);
    expect(kept.left).toBeCloseTo(view.left);
    expect(kept.top).toBeCloseTo(view.top);
  });

  it("brings a point into the middle, never zooming out for it", () => {
    const fitted = fitView(canvas, size);
    const point = { x: um(70), y: um(800) };
    const close = centreOn(fitted, point, size, um(5), px(50));
    expect(close.scale).toBeCloseTo(10);
    expect(toScreen(close, point)).toEqual({ x: expect.closeTo(400), y: expect.closeTo(300) });
    const closer = { ...close, scale: 40 };
    expect(centreOn(closer, point, size, um(5), px(50)).scale).toBe(40);
  });

  it("gives round scale bars that fill at least two fifths of their room", () => {
    for (const { view } of cases()) {
      const length = scaleBar(view, px(120));
      const mantissa = length / 10 ** Math.floor(Math.log10(length) + 1e-9);
      expect([1, 2, 5].some((step) => Math.abs(mantissa - step) < 1e-6)).toBe(true);
      expect(length * view.scale).toBeLessThanOrEqual(120.001);
      expect(length * view.scale).toBeGreaterThanOrEqual(120 * 0.4 - 0.001);
    }
  });
});
