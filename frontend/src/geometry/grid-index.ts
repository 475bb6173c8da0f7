/**
 * Which box is under a point: a uniform grid of cells, each with the boxes that touch it. Built once a scene, in O(boxes);
 * a question costs one cell. In: a scene; out: node indices into it.
 */
import { KIND, type Scene } from "./scene";
import type { ChipPoint } from "./units";

export interface GridIndex {
  /** Node on top at this point among the kinds that `shown` allows, or -1. Boxes smaller than `slack` microns count as larger. */
  hit(point: ChipPoint, slack: number, shown: (kind: number) => boolean): number;
}

export function buildIndex(scene: Scene): GridIndex {
  // About two boxes a cell; at least one cell.
  const side = Math.max(1, Math.ceil(Math.sqrt(scene.count / 2)));
  const cellWidth = scene.canvas.width_um / side;
  const cellHeight = scene.canvas.height_um / side;
  const clamp = (value: number) => Math.min(side - 1, Math.max(0, Math.floor(value)));
  const cells: number[][] = Array.from({ length: side * side }, () => []);
  for (let i = 0; i < scene.count; i++) {
    const column = clamp(scene.right[i]! / cellWidth);
    const row = clamp(scene.top[i]! / cellHeight);
    for (let r = clamp(scene.bottom[i]! / cellHeight); r <= row; r++)
      for (let c = clamp(scene.left[i]! / cellWidth); c <= column; c++) cells[r * side + c]!.push(i);
  }

  const inside = (i: number, { x, y }: ChipPoint, slack: number) => {
    const spareX = Math.max(0, (slack - (scene.right[i]! - scene.left[i]!)) / 2);
    const spareY = Math.max(0, (slack - (scene.top[i]! - scene.bottom[i]!)) / 2);
    return (
      x >= scene.left[i]! - spareX &&
      x <= scene.right[i]! + spareX &&
      y >= scene.bottom[i]! - spareY &&
      y <= scene.top[i]! + spareY
    );
  };

  return {
    hit(point, slack, shown) {
      let best = -1;
      let bestRank = Number.POSITIVE_INFINITY;
      // Slack may reach into the next cell, so look at all cells that the slack square touches.
      const c0 = clamp((point.x - slack / 2) / cellWidth);
      const c1 = clamp((point.x + slack / 2) / cellWidth);
      const r0 = clamp((point.y - slack / 2) / cellHeight);
      const r1 = clamp((point.y + slack / 2) / cellHeight);
      for (let r = r0; r <= r1; r++)
        for (let c = c0; c <= c1; c++)
          for (const i of cells[r * side + c]!) {
            if (!shown(scene.kind[i]!) || !inside(i, point, slack)) continue;
            const rank = drawRank(scene, i);
            if (rank < bestRank) {
              best = i;
              bestRank = rank;
            }
          }
      return best;
    },
  };
}

/** Small = on top: ports, then hard macros, then cells and soft macros; within a kind the smaller box. */
function drawRank(scene: Scene, i: number): number {
  const area = (scene.right[i]! - scene.left[i]!) * (scene.top[i]! - scene.bottom[i]!);
  const canvas = scene.canvas.width_um * scene.canvas.height_um;
  const kind = scene.kind[i]!;
  const layer = kind === KIND.port ? 0 : kind === KIND.hardMacro ? 1 : kind === KIND.cell ? 2 : 3;
  return layer + Math.min(0.99, area / canvas);
}
