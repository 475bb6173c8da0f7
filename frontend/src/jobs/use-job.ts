/** A job as it happens: REST for the state of now, the event stream for what changes, REST again where the stream is down. */
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import { coalesce } from "../api/coalesce";
import { type Connection, type Live, openLive } from "../api/live";
import type { EventRead, JobRead, MetricPoint, PlacementRead } from "../api/types";
import { EMPTY, type JobView, mergePoints, withEvent } from "./job-state";

type Action =
  | { readonly kind: "events"; readonly events: readonly EventRead[] }
  | { readonly kind: "job"; readonly job: JobRead }
  | { readonly kind: "placements"; readonly placements: readonly PlacementRead[] }
  | { readonly kind: "points"; readonly points: readonly MetricPoint[] };

function reduce(view: JobView, action: Action): JobView {
  switch (action.kind) {
    case "events":
      return action.events.reduce(withEvent, view);
    case "job":
      return { ...view, job: action.job };
    case "placements":
      return { ...view, placements: action.placements };
    case "points":
      return { ...view, points: mergePoints(view.points, action.points) };
  }
}

export interface LiveJob {
  readonly view: JobView;
  readonly error: unknown;
  readonly connection: Connection;
  readonly retryAt: number | null;
  retry(): void;
  setJob(job: JobRead): void;
}

/** A burst of events is one render, and asks REST once. */
const BURST_MS = 150;

export function useJob(jobId: string): LiveJob {
  const [view, dispatch] = useReducer(reduce, EMPTY);
  const [error, setError] = useState<unknown>(null);
  const [line, setLine] = useState<{ state: Connection; retryAt: number | null }>({
    state: "connecting",
    retryAt: null,
  });
  const live = useRef<Live | null>(null);

  const loadAll = useCallback(async () => {
    const [job, metrics, placements] = await Promise.all([api.job(jobId), api.metrics(jobId), api.placements(jobId)]);
    dispatch({ kind: "points", points: metrics.points });
    dispatch({ kind: "placements", placements: placements.items });
    dispatch({ kind: "job", job });
    setError(null);
  }, [jobId]);

  useEffect(() => {
    let waiting: EventRead[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      dispatch({ kind: "events", events: waiting });
      waiting = [];
      timer = undefined;
    };
    live.current = openLive(jobId, {
      onEvent: (event) => {
        waiting.push(event);
        timer ??= setTimeout(flush, BURST_MS);
      },
      onConnection: (state, retryAt) => {
        setLine({ state, retryAt });
        // Metrics and progress are not replayed: what was missed while the line was down comes by REST.
        if (state === "open") loadAll().catch(setError);
      },
      poll: loadAll,
      onRefused: setError,
    });
    return () => {
      live.current?.stop();
      clearTimeout(timer);
    };
  }, [jobId, loadAll]);

  const askAgain = useMemo(
    () =>
      coalesce(async () => {
        const [job, placements] = await Promise.all([api.job(jobId), api.placements(jobId)]);
        dispatch({ kind: "placements", placements: placements.items });
        dispatch({ kind: "job", job });
      }),
    [jobId],
  );
  useEffect(() => {
    if (view.overtaken > 0) askAgain();
  }, [askAgain, view.overtaken]);

  return {
    view,
    error,
    connection: line.state,
    retryAt: line.retryAt,
    retry: () => live.current?.retry(),
    setJob: (job) => dispatch({ kind: "job", job }),
  };
}
