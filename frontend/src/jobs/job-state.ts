/**
 * What the live page knows of a job, and how each event changes it. Pure: (state, event) in, state out.
 *
 * Live values (progress, metrics) are taken from the events themselves. Stored events (state, placement, log) also come again when
 * the stream is replayed after a reload, so they only extend the timeline and ask for a fresh REST answer (`overtaken`), which is
 * always the truth of now.
 */
import type { EventRead, JobRead, MetricPoint, PlacementRead } from "../api/types";

export interface JobView {
  readonly job: JobRead | null;
  readonly points: readonly MetricPoint[];
  readonly placements: readonly PlacementRead[];
  readonly events: readonly EventRead[];
  /** How many events have overtaken the REST answers for the job and its placements: a rise means "ask again". */
  readonly overtaken: number;
}

export const EMPTY: JobView = {
  job: null,
  points: [],
  placements: [],
  events: [],
  overtaken: 0,
};

/** A timeline longer than this loses its oldest entries; the service keeps all. */
const MAX_EVENTS = 500;

export function withEvent(view: JobView, event: EventRead): JobView {
  switch (event.kind) {
    case "progress":
      return { ...view, job: view.job && withProgress(view.job, event.data) };
    case "metrics":
      return { ...view, points: mergePoints(view.points, (event.data["points"] ?? []) as MetricPoint[]) };
    case "state": // the last one also completes the placements' files
    case "placement":
      return { ...timeline(view, event), overtaken: view.overtaken + 1 };
    case "log":
      return timeline(view, event);
  }
}

const timeline = (view: JobView, event: EventRead): JobView => ({
  ...view,
  events: [...view.events, event].slice(-MAX_EVENTS),
});

function withProgress(job: JobRead, data: EventRead["data"]): JobRead {
  const number = (name: string, before: number | null) => (typeof data[name] === "number" ? data[name] : before);
  return {
    ...job,
    progress: number("progress", job.progress) ?? job.progress,
    eta_s: number("eta_s", job.eta_s),
    stage: typeof data["stage"] === "string" ? data["stage"] : (job.stage ?? null),
  };
}

/** Points in order of time, each moment once; a later answer for the same moment wins. */
export function mergePoints(known: readonly MetricPoint[], added: readonly MetricPoint[]): readonly MetricPoint[] {
  if (added.length === 0) return known;
  const last = known.at(-1);
  if (!last || added[0]!.time_s > last.time_s) return [...known, ...added];
  const byTime = new Map(known.map((point) => [point.time_s, point]));
  for (const point of added)
    byTime.set(point.time_s, { ...point, values: { ...byTime.get(point.time_s)?.values, ...point.values } });
  return [...byTime.values()].sort((a, b) => a.time_s - b.time_s);
}

/** The latest known value of a metric. */
export function latest(points: readonly MetricPoint[], name: string): number | null {
  for (let i = points.length - 1; i >= 0; i--) {
    const value = points[i]!.values[name];
    if (value !== undefined) return value;
  }
  return null;
}

/** Columns for a chart: the times of all points that have any of the names, and each name's values, null where it has none. */
export function columns(points: readonly MetricPoint[], names: readonly string[]): [number[], ...(number | null)[][]] {
  const rows = points.filter((point) => names.some((name) => point.values[name] !== undefined));
  return [rows.map((point) => point.time_s), ...names.map((name) => rows.map((point) => point.values[name] ?? null))];
}
