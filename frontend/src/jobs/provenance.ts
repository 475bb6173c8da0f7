/** A placement's provenance in a line. The service's dictionary is open: unknown entries stay for the details. Pure. */
import type { PlacementRead } from "../api/types";
import { duration, signed } from "../ui/format";

/** "policy v120 → search −0.0312 · 12 s". */
export function describe(provenance: PlacementRead["provenance"]): string {
  const parts = [start(provenance)];
  const stages = provenance["search"];
  if (Array.isArray(stages)) for (const stage of stages) parts.push(stageText(stage));
  else if (stages != null) parts.push(stageText(stages));
  const seconds = provenance["seconds"];
  const text = parts.filter(Boolean).join(" → ");
  return typeof seconds === "number" ? `${text} · ${duration(seconds)}` : text;
}

function start(provenance: PlacementRead["provenance"]): string {
  const version = provenance["policy_version"];
  if (typeof version === "number") return `policy v${version}`;
  const from = provenance["start"];
  return typeof from === "string" && from ? from : "start";
}

function stageText(stage: unknown): string {
  if (typeof stage === "string") return stage;
  if (typeof stage !== "object" || stage === null) return "";
  const { stage: name, name: other, method, gain } = stage as Record<string, unknown>;
  const label = [name, other, method].find((value) => typeof value === "string") as string | undefined;
  // A gain is what the cost fell by.
  return `${label ?? "search"}${typeof gain === "number" ? ` ${signed(-gain)}` : ""}`;
}
