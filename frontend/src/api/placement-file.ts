/**
 * A placement's JSON file (format `placewright-placement`, version 1): its nodes are those of the design's layout, in its order.
 * In: the design's layout and the file; out: the layout with the file's positions.
 */
import type { LayoutRead } from "./types";

export interface PlacementFile {
  readonly format: string;
  readonly version: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly x_um: number;
    readonly y_um: number;
    readonly orientation: string;
    readonly fixed: boolean;
  }[];
}

/** Throws an Error in words when the file does not belong to the design. */
export function placed(layout: LayoutRead, file: PlacementFile): LayoutRead {
  if (file.format !== "placewright-placement" || file.version !== 1)
    throw new Error(
      `The placement's file has format ${file.format}, version ${file.version}; this page reads version 1.`,
    );
  if (file.nodes.length !== layout.name.length)
    throw new Error(`The placement has ${file.nodes.length} nodes, the design ${layout.name.length}.`);
  const stranger = file.nodes.findIndex((node, i) => node.name !== layout.name[i]);
  if (stranger >= 0)
    throw new Error(
      `Node ${stranger} is ${file.nodes[stranger]!.name} in the placement and ${layout.name[stranger]} in the design.`,
    );
  return {
    ...layout,
    x_um: file.nodes.map((node) => node.x_um),
    y_um: file.nodes.map((node) => node.y_um),
    orientation: file.nodes.map((node) => node.orientation),
    fixed: file.nodes.map((node) => node.fixed),
  };
}
