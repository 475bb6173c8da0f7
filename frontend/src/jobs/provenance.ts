/** A placement's provenance in a line, and its stages. The service's dictionary is open: unknown entries stay for the details. Pure. */
import type { PlacementRead } from "../api/types";
import { cost, duration, signed } from "../ui/format";

type Provenance = PlacementRead["provenance"];

/** One stage of the way to a placement: what it took, and what the cost fell by. */
export interface Stage {
  readonly round: number | null; // of the job's portfolio; null before its first
  readonly name: string;
  readonly seconds: number;
  readonly trials: number;
  readonly gain: number;
}

const KINDS: Readonly<Record<string, string>> = { annealing: "search", descent: "search", flips: "search" };

/** "legalised upload → global −0.1201 → search −0.0312 · 12 s". */
export function describe(provenance: Provenance): string {
  const gains = new Map<string, number>();
  for (const stage of stagesOf(provenance)) {
    const kind = KINDS[stage.name] ?? stage.name.split(" ")[0]!;
    gains.set(kind, (gains.get(kind) ?? 0) + stage.gain);
  }
  // The start's own stage is told by its words; what gained nothing that shows is left to the details.
  const told = [...gains].filter(([kind, gain]) => kind !== "legalise" && Number(cost(gain)) !== 0);
  const parts = [start(provenance), ...told.map(([kind, gain]) => `${kind} ${signed(-gain)}`)];
  const seconds = provenance["seconds"];
  const text = parts.filter(Boolean).join(" → ");
  return typeof seconds === "number" ? `${text} · ${duration(seconds)}` : text;
}

/** The stages of a placement, in order. */
export function stagesOf(provenance: Provenance): readonly Stage[] {
  const listed = provenance["stages"];
  return Array.isArray(listed) ? listed.flatMap(toStage) : [];
}

function toStage(entry: unknown): Stage[] {
  if (typeof entry !== "object" || entry === null) return [];
  const { round, name, seconds, trials, gain, taken_from: from } = entry as Record<string, unknown>;
  if (typeof name !== "string" || typeof gain !== "number") return [];
  return [
    {
      round: typeof round === "number" ? round : null,
      name: typeof from === "number" ? `${name} with member ${from}` : name,
      seconds: typeof seconds === "number" ? seconds : 0,
      trials: typeof trials === "number" ? trials : 0,
      gain,
    },
  ];
}

function start(provenance: Provenance): string {
  const version = provenance["policy_version"];
  if (typeof version === "number") return `policy v${version}`;
  const from = provenance["start"];
  return typeof from === "string" && from ? from : "start";
}
