/** Bookshelf says of no node that it is a macro: a height does. How many macros another height would find. Pure. */
import type { PreviewRead } from "../api/types";

type Heights = PreviewRead["node_heights"];

/** Heights worth choosing, rising: nodes higher than one of them are macros. 0 makes every movable node a macro. */
export function thresholds(heights: Heights): readonly number[] {
  const all = new Set((heights ?? []).map(({ height }) => height));
  return [0, ...[...all].filter((height) => height > 0).sort((a, b) => a - b)];
}

/** The greatest of the thresholds that finds what `height` finds. */
export function nearest(choices: readonly number[], height: number): number {
  return Math.max(
    0,
    choices.findLastIndex((choice) => choice <= height),
  );
}

export const macrosAbove = (heights: Heights, height: number): number =>
  (heights ?? []).reduce((sum, entry) => sum + (entry.height > height ? entry.nodes : 0), 0);
