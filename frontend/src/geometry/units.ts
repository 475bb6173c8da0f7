/**
 * Lengths as types, so that a chip's coordinates and a screen's cannot be mixed up.
 * Micron: on the canvas, origin at the lower left corner, y up. CssPx: on the page, origin at the upper left corner, y down.
 * Only view.ts converts one into the other.
 */
export type Micron = number & { readonly unit: "um" };
export type CssPx = number & { readonly unit: "css-px" };

export const um = (value: number): Micron => value as Micron;
export const px = (value: number): CssPx => value as CssPx;

/** A point on the chip, y up. */
export interface ChipPoint {
  readonly x: Micron;
  readonly y: Micron;
}

/** A point on the page, y down, from the upper left corner of the layout. */
export interface ScreenPoint {
  readonly x: CssPx;
  readonly y: CssPx;
}

/** A rectangle on the chip by its corners, y up. */
export interface ChipBox {
  readonly left: Micron;
  readonly bottom: Micron;
  readonly right: Micron;
  readonly top: Micron;
}
