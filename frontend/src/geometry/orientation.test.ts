import { describe, expect, it } from "vitest";
import { isTurned, orientPoint, orientSide, orientSides, orientStretch } from "./orientation";

// A macro of 10 × 4 with its pin at (1, 1) from its corner, so at (-4, -1) from its centre.
const TABLE: readonly (readonly [string, readonly [number, number], boolean])[] = [
  ["N", [-4, -1], false],
  ["S", [4, 1], false],
  ["FN", [4, -1], false],
  ["FS", [-4, 1], false],
  ["W", [1, -4], true],
  ["E", [-1, 4], true],
  ["FW", [-1, -4], true],
  ["FE", [1, 4], true],
];

describe("orientation", () => {
  it("moves a pin as DEF says, in all eight", () => {
    for (const [orientation, pin, turned] of TABLE) {
      const [x, y] = orientPoint(orientation, -4, -1);
      expect([x + 0, y + 0], orientation).toEqual(pin);
      expect(isTurned(orientation)).toBe(turned);
    }
  });

  it("moves sides with the points on them", () => {
    const sideOf = (x: number, y: number, width: number) =>
      Math.abs(x) === width / 2 ? (x < 0 ? "left" : "right") : y < 0 ? "bottom" : "top";
    for (const [orientation, , turned] of TABLE)
      for (const [side, x, y] of [
        ["left", -5, 1],
        ["right", 5, 1],
        ["bottom", 1, -2],
        ["top", 1, 2],
      ] as const) {
        const [toX, toY] = orientPoint(orientation, x, y);
        const becomes = orientSide(orientation, side);
        expect(becomes, `${side} in ${orientation}`).toBe(sideOf(toX, toY, turned ? 4 : 10));
        const along = becomes === "left" || becomes === "right" ? toY : toX;
        expect(orientStretch(orientation, side, 1, 1)).toEqual([along, along]);
      }
  });

  it("keeps the low end of a stretch first", () => {
    expect(orientStretch("S", "left", -1, 3)).toEqual([-3, 1]);
    expect(orientStretch("E", "bottom", -4, 2)).toEqual([-2, 4]);
  });

  it("turns a halo with its macro", () => {
    const halo = { left: 1, right: 2, bottom: 3, top: 4 };
    expect(orientSides("S", halo)).toEqual({ left: 2, right: 1, bottom: 4, top: 3 });
    expect(orientSides("W", halo)).toEqual({ left: 4, right: 3, bottom: 1, top: 2 });
  });

  it("takes an orientation that it does not know for N", () => {
    expect(orientPoint("-", 3, 4)).toEqual([3, 4]);
  });
});
