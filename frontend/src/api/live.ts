/**
 * A job's event stream that outlives lost connections: `GET /jobs/{id}/events`, resumed with Last-Event-ID, retried with growing
 * delays, and asking the caller to poll in between. fetch rather than EventSource: it tells a 401 or 404 from a broken line, and
 * the delay between tries is ours.
 */
import { API, ApiError, errorFrom, noteError } from "./client";
import { type SseEvent, SseParser } from "./sse";
import type { EventKind, EventRead } from "./types";

export type Connection = "connecting" | "open" | "lost" | "closed";

export interface LiveHandlers {
  /** One event; stored ones have a positive id. Never twice the same id. */
  onEvent(event: EventRead): void;
  /** The connection's state changed. `retryAt` (ms, Date.now()) is set while it is lost. */
  onConnection(state: Connection, retryAt: number | null): void;
  /** The stream is down: fetch the state by REST instead. Rejects when that fails too. */
  poll(): Promise<void>;
  /** The stream cannot be had at all (not found, not signed in). */
  onRefused(error: ApiError): void;
}

/** Servers send a comment every 15 s; a line silent for three of them is dead even if the socket does not say so. */
const SILENCE_MS = 45_000;

/** Delay before try number `failures` (from 1): 1, 2, 4, 8, then 15 s, each shortened by up to a quarter at random. */
export function retryDelayMs(failures: number, random = Math.random): number {
  return Math.min(15_000, 1000 * 2 ** (failures - 1)) * (1 - random() / 4);
}

export interface Live {
  stop(): void;
  /** Tries again at once instead of waiting for the next try. */
  retry(): void;
}

/** Opens the stream and keeps it open until it is stopped or the job is over. */
export function openLive(jobId: string, handlers: LiveHandlers): Live {
  const stop = new AbortController();
  const online = () => wake?.();
  let wake: (() => void) | null = null;
  let lastId = 0;
  let failures = 0;
  let over = false; // the job's last state has been seen: the server's closing the stream is no failure

  const take = (event: EventRead) => {
    if (event.id > 0) {
      if (event.id <= lastId) return;
      lastId = event.id;
    }
    if (event.kind === "state" && FINAL_STATES.has(String(event.data["state"]))) over = true;
    handlers.onEvent(event);
  };

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    handlers.onConnection("connecting", null);
    while (!stop.signal.aborted) {
      try {
        const complete = await readStream(jobId, lastId, stop.signal, take, () => {
          failures = 0;
          handlers.onConnection("open", null);
        });
        over ||= complete;
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
          noteError(error);
          handlers.onRefused(error);
          return;
        }
      }
      if (over || stop.signal.aborted) break;
      failures += 1;
      const delay = retryDelayMs(failures);
      handlers.onConnection("lost", Date.now() + delay);
      await Promise.all([pause(delay), handlers.poll().catch(() => undefined)]);
    }
    handlers.onConnection("closed", null);
  };

  window.addEventListener("online", online);
  void run();
  return {
    stop: () => {
      stop.abort();
      wake?.();
      window.removeEventListener("online", online);
    },
    retry: online,
  };
}

/** Stored events carry an id and a whole EventRead; progress and metrics carry their values only, and get the id 0. */
export function readEvent(message: SseEvent): EventRead {
  const data: unknown = JSON.parse(message.data);
  if (message.id !== null) return data as EventRead;
  return { id: 0, kind: message.event as EventKind, at: new Date().toISOString(), data: data as EventRead["data"] };
}

const FINAL_STATES = new Set(["done", "failed", "cancelled"]);

/** Reads one connection to its end. True: the server says that the job is over and every event of it was received. */
async function readStream(
  jobId: string,
  lastId: number,
  stop: AbortSignal,
  take: (event: EventRead) => void,
  opened: () => void,
): Promise<boolean> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await fetch(`${API}/jobs/${encodeURIComponent(jobId)}/events`, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": String(lastId) },
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.any([stop, silence.signal]),
    });
    if (!response.ok) throw errorFrom(response.status, await response.text());
    if (response.status === 204) return true;
    if (!response.body) throw new ApiError(0, "The event stream has no body.");
    opened();
    const parser = new SseParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      for (const message of parser.push(value)) take(readEvent(message));
    }
  } finally {
    clearTimeout(timer);
  }
}
