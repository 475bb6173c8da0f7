/**
 * A made-up service for `npm run dev:mock`: two designs, jobs that improve a little every second, and an event stream that
 * resumes. Development only; nothing of it is in the built pages.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import type { PlacementFile } from "../src/api/placement-file";
import type {
  Costs,
  DesignRead,
  EventRead,
  JobCreate,
  JobRead,
  LayoutRead,
  MetricPoint,
  PlacementRead,
} from "../src/api/types";
import { makeLayout, shake } from "./mock-design";

interface Job {
  read: JobRead;
  points: MetricPoint[];
  placements: PlacementRead[];
  events: EventRead[];
  live: Set<ServerResponse>;
  timer?: ReturnType<typeof setInterval>;
}

const designs = new Map<string, DesignRead>();
const layouts = new Map<string, LayoutRead>();
const jobs = new Map<string, Job>();
const iso = () => new Date().toISOString();

const costs = (level: number): Costs => ({
  wirelength: 9.6e5 * level,
  wirelength_cost: 0.0712 * level,
  density_cost: 0.712 * level,
  congestion_cost: 0.894 * level * level,
  proxy_cost: 0.0712 * level + 0.356 * level + 0.447 * level * level,
});

function addDesign(id: string, name: string, hard: number, soft: number, messages: Partial<DesignRead> = {}): void {
  const layout = makeLayout(hard, soft, 7);
  layouts.set(id, layout);
  const { canvas } = layout;
  designs.set(id, {
    id,
    name,
    state: "ready",
    error: null,
    created_at: iso(),
    files: [
      { name: "netlist.pb.txt.gz", bytes: 311_907 },
      { name: "initial.plc", bytes: 40_575 },
    ],
    counts: {
      hard_macros: hard,
      soft_macros: soft,
      ports: 495,
      cells: 0,
      pins: 24_412,
      nets: 18_301,
      drivers_without_sinks: 12,
      fixed: 0,
    },
    canvas,
    derived: {},
    warnings: [],
    start_costs: costs(1.08),
    start_problems: [],
    lock_placed: false,
    missing_cells_as_points: false,
    macros_on_soft_blockages: false,
    ...messages,
  });
}

function send(job: Job, kind: EventRead["kind"], data: EventRead["data"], stored = true): void {
  const event: EventRead = { id: stored ? job.events.length + 1 : 0, kind, at: iso(), data };
  if (stored) job.events.push(event);
  for (const response of job.live) response.write(frame(event));
}

/** As the service does it: stored events whole and with their id, the others by their values alone. */
const frame = (event: EventRead) =>
  event.id
    ? `id: ${event.id}
event: ${event.kind}
data: ${JSON.stringify(event)}

`
    : `event: ${event.kind}
data: ${JSON.stringify(event.data)}

`;

function addPlacement(job: Job, level: number, second: number): void {
  const placement: PlacementRead = {
    id: `${job.read.id}-p${job.placements.length}-${second}`,
    job_id: job.read.id,
    rank: 1,
    costs: costs(level),
    legal: true,
    problems: [],
    provenance:
      second % 3
        ? {
            policy_version: second * 11,
            stages: [
              { name: "annealing", seconds: 3.1, trials: 310_000, gain: 0.0123, round: 1 },
              { name: "flips", seconds: 0.1, trials: 400, gain: 0.004, round: 1 },
            ],
            seed: 0,
            seconds: second,
          }
        : { start: "legalised start", search: [{ stage: "local search", gain: 0.0312 }], seed: 0, seconds: second },
    created_at: iso(),
    formats: ["plc", "pb", "svg", "png", "json"],
  };
  job.placements = [placement, ...job.placements].slice(0, 10).map((entry, i) => ({ ...entry, rank: i + 1 }));
  job.read = { ...job.read, best_costs: placement.costs, best_placement_id: placement.id };
  send(job, "placement", placement as unknown as EventRead["data"]);
}

function startJob(id: string, spec: JobCreate): Job {
  const design = designs.get(spec.design_id)!;
  const job: Job = {
    read: {
      id,
      design_id: design.id,
      design_name: design.name,
      name: spec.name ?? null,
      method: spec.method,
      trials: spec.trials ?? null,
      from_scratch: spec.from_scratch,
      place_cells: spec.place_cells,
      seconds: spec.seconds,
      seed: spec.seed,
      workers: spec.workers,
      state: "running",
      stage: "Searching and learning",
      cause: null,
      progress: 0,
      eta_s: spec.seconds,
      attempt: 1,
      created_at: iso(),
      started_at: iso(),
      finished_at: null,
      start_costs: costs(1),
      best_costs: null,
      best_placement_id: null,
      constrained: spec.constraints != null,
    },
    points: [],
    placements: [],
    events: [],
    live: new Set(),
  };
  jobs.set(id, job);
  send(job, "state", { state: "queued" });
  send(job, "state", { state: "running", stage: "Legalising the start" });
  send(job, "log", { level: "info", message: "learner started on cpu", role: "learner" });
  send(job, "log", { level: "warning", message: "replay queue empty for 2.0 s", role: "replay" });
  let second = 0;
  job.timer = setInterval(() => {
    second += 1;
    const level = 0.78 + 0.22 * Math.exp(-second / 18);
    const best = costs(level);
    const point: MetricPoint = {
      time_s: second,
      values: {
        best_proxy_cost: best.proxy_cost,
        best_wirelength_cost: best.wirelength_cost,
        best_density_cost: best.density_cost,
        best_congestion_cost: best.congestion_cost,
        search_trials_per_s: 11_200 + 300 * Math.sin(second),
        ...(second > 4 && {
          episodes_per_s: 2.1 + 0.3 * Math.sin(second),
          learner_steps_per_s: 8.4,
          policy_lag: 1.2,
          policy_version: second * 8,
          loss: 1 / second,
          episode_cost_mean: 1.1 + 0.5 * Math.exp(-second / 30) + 0.03 * Math.sin(second * 3),
        }),
      },
    };
    job.points.push(point);
    const progress = Math.min(1, second / spec.seconds);
    job.read = { ...job.read, progress, eta_s: Math.max(0, spec.seconds - second) };
    send(job, "progress", { progress, eta_s: job.read.eta_s, stage: job.read.stage }, false);
    send(job, "metrics", { points: [point] }, false);
    if (second < 4 || second % 5 === 0) addPlacement(job, level, second);
    if (progress >= 1) finish(job, "done");
  }, 1000);
  return job;
}

function finish(job: Job, state: "done" | "cancelled"): void {
  clearInterval(job.timer);
  job.read = {
    ...job.read,
    state,
    finished_at: iso(),
    eta_s: null,
    cause: state === "cancelled" ? "cancelled by the user" : null,
  };
  send(job, "state", { state, cause: job.read.cause });
  for (const response of job.live) response.end();
  job.live.clear();
}

async function body(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

function placementFile(placementId: string): PlacementFile {
  const job = [...jobs.values()].find((entry) => placementId.startsWith(`${entry.read.id}-`))!;
  const layout = shake(layouts.get(job.read.design_id)!, Number(placementId.split("-").at(-1)));
  const nodes = layout.name.map((name, i) => ({
    name,
    x_um: layout.x_um[i]!,
    y_um: layout.y_um[i]!,
    orientation: layout.orientation[i]!,
    fixed: layout.fixed[i]!,
  }));
  return { format: "placewright-placement", version: 1, nodes };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? "").replace(/^\/api\/v1/, "").split("?")[0]!;
  const json = (value: unknown, status = 200) => {
    response.writeHead(status, { "Content-Type": status >= 400 ? "application/problem+json" : "application/json" });
    response.end(JSON.stringify(value));
  };
  const missing = () =>
    json({ type: "about:blank", title: "Not found", status: 404, detail: `Nothing at ${path}` }, 404);
  const [, kind, id, part, format] = path.split("/");
  if (kind === "session") {
    const { token } = JSON.parse(await body(request)) as { token: string };
    if (token !== "mock-token")
      return json({ type: "about:blank", title: "Unauthorized", status: 401, detail: "This token is not valid." }, 401);
    response.writeHead(204, { "Set-Cookie": "mock=1; HttpOnly; Path=/" });
    response.end();
    return;
  }
  if (!request.headers.cookie?.includes("mock=1"))
    return json({ type: "about:blank", title: "Unauthorized", status: 401, detail: "Sign in first." }, 401);
  if (kind === "designs" && !id && request.method === "POST") {
    await body(request);
    const made = `d${designs.size}`;
    addDesign(made, `upload-${made}`, 60, 240);
    const ready = designs.get(made)!;
    designs.set(made, { ...ready, state: "parsing", counts: null, canvas: null });
    setTimeout(() => designs.set(made, ready), 1500);
    return json(designs.get(made), 202);
  }
  if (kind === "designs" && !id) return json({ items: [...designs.values()].reverse(), next_cursor: null });
  if (kind === "designs")
    return part === "layout" ? json(layouts.get(id!)) : designs.has(id!) ? json(designs.get(id!)) : missing();
  if (kind === "jobs" && !id && request.method === "POST") {
    return json(startJob(`j${jobs.size}`, JSON.parse(await body(request)) as JobCreate).read, 202);
  }
  if (kind === "jobs" && !id)
    return json({ items: [...jobs.values()].map((job) => job.read).reverse(), next_cursor: null });
  if (kind === "placements" && part === "files" && format === "json") return json(placementFile(id!));
  const job = jobs.get(id ?? "");
  if (!job) return missing();
  if (request.method === "DELETE") {
    finish(job, "cancelled");
    return json(job.read, 202);
  }
  if (part === "metrics") return json({ points: job.points });
  if (part === "placements") return json({ items: job.placements, next_cursor: null });
  if (part === "events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    for (const event of job.events.slice(Number(request.headers["last-event-id"] ?? 0))) response.write(frame(event));
    if (job.read.finished_at) response.end();
    else job.live.add(response);
    request.on("close", () => job.live.delete(response));
    return;
  }
  return json(job.read);
}

function populate(): void {
  addDesign("ariane", "ariane133", 133, 782, {
    warnings: [
      "netlist.pb.txt:12001: net 'u_core/clk' has 4,120 pins",
      ...Array.from({ length: 41 }, (_, i) => `macro 'Grp_${i}' lies ${i + 1}.5 µm beyond the canvas`),
    ],
    start_problems: Array.from(
      { length: 18 },
      (_, i) => `macros 'sram_${i}' and 'sram_${i + 1}' overlap by ${i + 2}.1 × 3.0 µm`,
    ),
    derived: {
      canvas: "square of the total area of macros over 0.7 utilisation",
      grid: "cells of about the median macro width",
    },
  });
  addDesign("large", "sample-large", 800, 2000);
  designs.set("broken", {
    ...designs.get("ariane")!,
    id: "broken",
    name: "broken",
    state: "failed",
    counts: null,
    canvas: null,
    error:
      "netlist.pb.txt:1287:16: macro 'u_cache/bank3' (node 512): orientation 'R45' is not one of N FN S FS E FE W FW\n    512 103.2 88.0 R45 0\n                   ^^^",
  });
  startJob("demo", {
    design_id: "ariane",
    method: "auto",
    seconds: 90,
    seed: 0,
    workers: 2,
    from_scratch: false,
    place_cells: false,
    name: null,
  });
}

export const mockApi = (): Plugin => ({
  name: "mock-api",
  configureServer(server) {
    populate();
    server.middlewares.use((request, response, next) => {
      if (request.url?.startsWith("/api/")) void answer(request, response);
      else next();
    });
  },
});
