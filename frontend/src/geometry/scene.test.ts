import { describe, expect, it } from "vitest";
import { makeLayout } from "../../dev/mock-design";
import type { LayoutRead } from "../api/types";
import { buildIndex } from "./grid-index";
import { buildScene, centreOf, KIND, type Scene, sizeOf } from "./scene";
import { um } from "./units";

const base = makeLayout(60, 200, 3);

const tiny = (over: Partial<LayoutRead>): LayoutRead => ({
  ...base,
  name: ["bank/ram[0]", "bank/ram[1]", "other", "Grp_0", "p"],
  kind: [0, 0, 0, 1, 2],
  width_um: [20, 20, 10, 40, 0],
  height_um: [10, 10, 10, 40, 0],
  x_um: [50, 50, 200, 50, 0],
  y_um: [50, 90, 200, 50, 30],
  orientation: ["N", "E", "FS", "N", "N"],
  fixed: [false, false, true, false, true],
  nets: [],
  ...over,
});

describe("scene", () => {
  it("swaps width and height for the four turned orientations only", () => {
    const sides = (orientation: string) =>
      sizeOf(buildScene(tiny({ orientation: [orientation, "N", "N", "N", "N"] })), 0);
    for (const name of ["N", "FN", "S", "FS"]) expect(sides(name)).toEqual({ width: 20, height: 10 });
    for (const name of ["E", "FE", "W", "FW"]) expect(sides(name)).toEqual({ width: 10, height: 20 });
  });

  it("keeps centres whatever the orientation", () => {
    const scene = buildScene(base);
    for (let i = 0; i < scene.count; i++) {
      expect(centreOf(scene, i).x).toBeCloseTo(base.x_um[i]!, 9);
      expect(centreOf(scene, i).y).toBeCloseTo(base.y_um[i]!, 9);
    }
  });

  it("puts macros that differ in digits only into one bank, the largest bank first", () => {
    const scene = buildScene(tiny({}));
    expect([...scene.group.slice(0, 3)]).toEqual([0, 0, 1]);
    expect(scene.groupCount).toBe(2);
  });

  it("sorts every node into its kind once, large before small", () => {
    const scene = buildScene(base);
    expect(scene.hard.length + scene.soft.length + scene.ports.length + scene.cells.length).toBe(scene.count);
    const areas = [...scene.soft].map((i) => sizeOf(scene, i).width * sizeOf(scene, i).height);
    expect(areas).toEqual([...areas].sort((a, b) => b - a));
  });
});

/** The obvious way: look at every box, keep what is on top. */
function slowHit(scene: Scene, x: number, y: number, slack: number, shown: (kind: number) => boolean): number {
  const order = [...scene.soft, ...scene.cells, ...scene.hard, ...scene.ports];
  return order
    .filter((i) => {
      const { width, height } = sizeOf(scene, i);
      const centre = centreOf(scene, i);
      return (
        shown(scene.kind[i]!) &&
        Math.abs(x - centre.x) <= Math.max(width, slack) / 2 &&
        Math.abs(y - centre.y) <= Math.max(height, slack) / 2
      );
    })
    .reduce((_, i) => i, -1);
}

describe("grid index", () => {
  it("finds what looking at every box finds", () => {
    const scene = buildScene(base);
    const index = buildIndex(scene);
    const { width_um: width, height_um: height } = scene.canvas;
    const all = () => true;
    const hardOnly = (kind: number) => kind !== KIND.softMacro;
    let hits = 0;
    for (let i = 0; i < 4000; i++) {
      const x = ((i * 0.618034) % 1.1) * width - 0.05 * width;
      const y = ((i * 0.414214) % 1.1) * height - 0.05 * height;
      const slack = (i % 4) * 4;
      for (const shown of [all, hardOnly]) {
        const expected = slowHit(scene, x, y, slack, shown);
        const found = index.hit({ x: um(x), y: um(y) }, slack, shown);
        if (expected >= 0) hits += 1;
        // Of two boxes equally on top either may be named.
        if (found !== expected) {
          const area = (node: number) => sizeOf(scene, node).width * sizeOf(scene, node).height;
          expect(found).toBeGreaterThanOrEqual(0);
          expect(scene.kind[found]).toBe(scene.kind[expected]);
          expect(area(found)).toBeCloseTo(area(expected), 6);
        }
      }
    }
    expect(hits).toBeGreaterThan(2000);
  });

  it("says -1 beside everything", () => {
    const index = buildIndex(buildScene(tiny({})));
    expect(index.hit({ x: um(300), y: um(10) }, 1, () => true)).toBe(-1);
  });
});
