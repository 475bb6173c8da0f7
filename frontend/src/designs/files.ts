/** Which chosen files make a design. Pure; the service judges their content. */

/** What the file picker offers. Other names are accepted too: the service decides by content. */
export const ACCEPT = ".txt,.pbtxt,.pb,.plc,.lef,.def,.aux,.nodes,.nets,.pl,.scl,.wts,.gz,.json";

const isConstraints = (name: string): boolean => /\.json(\.gz)?$/i.test(name);
const isLef = (name: string): boolean => /\.lef(\.gz)?$/i.test(name);
const isDef = (name: string): boolean => /\.def(\.gz)?$/i.test(name);
const isNodes = (name: string): boolean => /\.nodes(\.gz)?$/i.test(name);
const isPlc = (name: string): boolean => /\.plc(\.gz)?$/i.test(name);

/** A word to the user before anything is sent, or null if the selection makes sense. */
export function selectionProblem(files: readonly { readonly name: string; readonly size: number }[]): string | null {
  if (files.length === 0) return null;
  const empty = files.find((file) => file.size === 0);
  if (empty) return `${empty.name} is empty.`;
  if (files.every((file) => isConstraints(file.name)))
    return "Constraints are rules for a netlist. Add the netlist (.pb.txt or .pb.txt.gz) that they are for.";
  if (files.every((file) => isPlc(file.name) || isConstraints(file.name)))
    return "A .plc holds positions only. Add the netlist (.pb.txt or .pb.txt.gz) that it belongs to.";
  if (files.every((file) => isLef(file.name) || isConstraints(file.name)))
    return "A LEF describes cells and macros only. Add the DEF of the design.";
  if (files.filter((file) => isPlc(file.name)).length > 1) return "More than one .plc: keep the one to start from.";
  return null;
}

/** Whether the selection has states of placement, so that PLACED can be asked about. */
export const hasDef = (files: readonly { readonly name: string }[]): boolean => files.some((file) => isDef(file.name));

/** Whether the selection is Bookshelf, where a height tells macros from cells. */
export const hasNodes = (files: readonly { readonly name: string }[]): boolean =>
  files.some((file) => isNodes(file.name));

/** Adds files to a selection; one of the same name replaces the older. */
export function addFiles(selection: readonly File[], added: Iterable<File>): File[] {
  const byName = new Map(selection.map((file) => [file.name, file]));
  for (const file of added) byName.set(file.name, file);
  return [...byName.values()];
}

/** A name to propose for the design: the netlist's, without its endings; the upload's folder says nothing in a browser. */
export function proposedName(files: readonly { readonly name: string }[]): string {
  const netlist = files.find((file) => !isPlc(file.name) && !isConstraints(file.name) && !isLef(file.name));
  return (netlist?.name ?? "").replace(/\.gz$/i, "").replace(/\.(pb\.txt|pbtxt|pb|txt|def|aux|nodes)$/i, "");
}
