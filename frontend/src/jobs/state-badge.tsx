/** A job's state in a word and a colour. */
import type { JobState } from "../api/types";

const KIND: Readonly<Record<JobState, string>> = {
  queued: "badge-wait",
  running: "badge-busy",
  finishing: "badge-busy",
  done: "badge-good",
  failed: "badge-bad",
  cancelled: "badge-wait",
};

export const isFinal = (state: JobState): boolean => state === "done" || state === "failed" || state === "cancelled";

export function StateBadge({ state }: { state: JobState }) {
  return <span class={`badge ${KIND[state]}`}>{state}</span>;
}
