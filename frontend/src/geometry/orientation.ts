/**
 * The eight DEF orientations: what becomes of a point, a side or a halo of a macro that is given in orientation N.
 * Pure; distances from the macro's centre, y up. Source: the table of orientations in the DEF language reference.
 */

/** [xx, xy, yx, yy]: x' = xx·x + xy·y, y' = yx·x + yy·y. */
type Matrix = readonly [number, number, number, number];

const N: Matrix = [1, 0, 0, 1];
const MATRICES: Readonly<Record<string, Matrix>> = {
  N,
  FN: [-1, 0, 0, 1],
  S: [-1, 0, 0, -1],
  FS: [1, 0, 0, -1],
  E: [0, 1, -1, 0],
  FE: [0, -1, -1, 0],
  W: [0, -1, 1, 0],
  FW: [0, 1, 1, 0],
};

/** Sides in an order in which the two of one direction stand together. */
export const SIDES = ["left", "right", "bottom", "top"] as const;
export type Side = (typeof SIDES)[number];

const NORMAL: Readonly<Record<Side, readonly [number, number]>> = {
  left: [-1, 0],
  right: [1, 0],
  bottom: [0, -1],
  top: [0, 1],
};

const matrixOf = (orientation: string): Matrix => MATRICES[orientation] ?? N;

/** Whether width and height are exchanged. */
export const isTurned = (orientation: string): boolean => matrixOf(orientation)[0] === 0;

/** Where a point of the macro comes to lie. */
export function orientPoint(orientation: string, x: number, y: number): readonly [number, number] {
  const [xx, xy, yx, yy] = matrixOf(orientation);
  return [xx * x + xy * y, yx * x + yy * y];
}

/** Which side a side of the macro becomes. */
export function orientSide(orientation: string, side: Side): Side {
  const [x, y] = orientPoint(orientation, ...NORMAL[side]);
  if (x !== 0) return x < 0 ? "left" : "right";
  return y < 0 ? "bottom" : "top";
}

/** A stretch along a side, from the macro's centre, low end first: where it lies along the side that its side becomes. */
export function orientStretch(orientation: string, side: Side, from: number, to: number): readonly [number, number] {
  const upright = side === "left" || side === "right";
  const ends = [from, to].map((at) => (upright ? orientPoint(orientation, 0, at) : orientPoint(orientation, at, 0)));
  const along = ends.map(([x, y]) => x + y); // one of the two is 0
  return [Math.min(...along), Math.max(...along)];
}

/** A value a side, as they are after orientation. */
export function orientSides(
  orientation: string,
  values: Readonly<Record<Side, number>>,
): Readonly<Record<Side, number>> {
  const turned = { left: 0, right: 0, bottom: 0, top: 0 };
  for (const side of SIDES) turned[orientSide(orientation, side)] = values[side];
  return turned;
}
