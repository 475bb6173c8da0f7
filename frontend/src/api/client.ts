/**
 * The REST API as typed functions. In: ids and schemas of `types.ts` (generated); out: their answers, or a thrown `ApiError`.
 * Every failure becomes an `ApiError` with words to show: the service's problem details, or a description of the lost connection.
 * Knows nothing of pages. The session is an HttpOnly cookie that the browser sends by itself.
 */

import type { PlacementFile } from "./placement-file";
import type {
  DesignPage,
  DesignRead,
  Health,
  JobCreate,
  JobPage,
  JobRead,
  LayoutRead,
  MetricsRead,
  PlacementPage,
  PlacementRead,
  Problem,
  RolesRestart,
  TopologyPatch,
  TopologyRead,
} from "./types";

export const API = "/api/v1";

/** A request that failed. `status` 0 = no answer at all. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly problem: Problem | null;

  constructor(status: number, message: string, problem: Problem | null = null) {
    super(message);
    this.status = status;
    this.problem = problem;
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** Words for any thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const NO_ANSWER = "The service does not answer. Check that it is still running (`placewright serve`) and reachable.";

/** What to say when an answer is an error but holds no problem details, e.g. from a proxy in between. */
const BARE: Readonly<Record<number, string>> = {
  401: "You are not signed in.",
  404: "There is nothing at this address.",
  413: "The files are larger than this service (or a proxy before it) accepts.",
  429: "Too many requests. Wait a moment and try again.",
  502: "A proxy before the service got no answer from it. Is the service running?",
  503: "The service is not ready. Try again in a moment.",
  504: "A proxy before the service waited too long for its answer.",
  507: "The service's disk is full.",
};

/** The error that a body and status stand for. `body` may be anything. */
export function errorFrom(status: number, body: string): ApiError {
  let problem: Problem | null = null;
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "title" in parsed) problem = parsed as Problem;
  } catch {
    // Not JSON: a proxy's page. The status says enough.
  }
  const message = problem
    ? problem.detail || problem.title
    : (BARE[status] ?? `The service answered with status ${status}.`);
  return new ApiError(status, message, problem);
}

type Listener = () => void;
const unauthorised = new Set<Listener>();

/** Calls `listener` whenever an answer says that nobody is signed in. Returns the function that stops it. */
export function onUnauthorised(listener: Listener): () => void {
  unauthorised.add(listener);
  return () => unauthorised.delete(listener);
}

/** Tells the listeners of `onUnauthorised` if this error is one. */
export function noteError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) for (const listener of unauthorised) listener();
}

async function request<T>(path: string, init: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(API + path, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, NO_ANSWER);
  }
  if (!response.ok) {
    const error = errorFrom(response.status, await response.text().catch(() => ""));
    if (!path.startsWith("/session")) noteError(error);
    throw error;
  }
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

const json = (method: string, body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method,
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify(body),
});

const id = encodeURIComponent;
/** What the service gives at most in one answer. */
const LONGEST_PAGE = 200;
const page = (cursor: string | null) => (cursor ? `&cursor=${id(cursor)}` : "");

export const api = {
  signIn: (token: string) => request<void>("/session", json("POST", { token })),
  health: () => request<Health>("/healthz"),
  designs: (limit: number, cursor: string | null) => request<DesignPage>(`/designs?limit=${limit}${page(cursor)}`),
  design: (designId: string) => request<DesignRead>(`/designs/${id(designId)}`),
  layout: (designId: string) => request<LayoutRead>(`/designs/${id(designId)}/layout`),
  jobs: (limit: number, cursor: string | null) => request<JobPage>(`/jobs?limit=${limit}${page(cursor)}`),
  job: (jobId: string) => request<JobRead>(`/jobs/${id(jobId)}`),
  /** Sent again with the same key, the service answers with the job it made before. */
  createJob: (job: JobCreate, key: string) => request<JobRead>("/jobs", json("POST", job, { "Idempotency-Key": key })),
  cancelJob: (jobId: string) => request<JobRead>(`/jobs/${id(jobId)}`, { method: "DELETE" }),
  metrics: (jobId: string) => request<MetricsRead>(`/jobs/${id(jobId)}/metrics`),
  topology: (jobId: string) => request<TopologyRead>(`/jobs/${id(jobId)}/topology`),
  scaleJob: (jobId: string, patch: TopologyPatch) =>
    request<TopologyRead>(`/jobs/${id(jobId)}/topology`, json("PATCH", patch)),
  restartRoles: (jobId: string, which: RolesRestart) =>
    request<TopologyRead>(`/jobs/${id(jobId)}/roles/restart`, json("POST", which)),
  placements: (jobId: string) => request<PlacementPage>(`/jobs/${id(jobId)}/placements`),
  placement: (placementId: string) => request<PlacementRead>(`/placements/${id(placementId)}`),
  placementFile: (placementId: string) => request<PlacementFile>(fileUrl(placementId, "json").slice(API.length)),
};

/** The first `wanted` items of a list, page after page; `more` = there are others behind them. */
export async function listed<T>(
  list: (limit: number, cursor: string | null) => Promise<{ items: T[]; next_cursor?: string | null }>,
  wanted: number,
): Promise<{ items: readonly T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const next = await list(Math.min(wanted - items.length, LONGEST_PAGE), cursor);
    items.push(...next.items);
    cursor = next.next_cursor ?? null;
  } while (cursor && items.length < wanted);
  return { items, more: cursor !== null };
}

/** Address of a placement's file, for a download link. */
export const fileUrl = (placementId: string, format: PlacementRead["formats"][number]): string =>
  `${API}/placements/${id(placementId)}/files/${format}`;
