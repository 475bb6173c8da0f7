/** The processes of a job in order to be shown: grouped by cell, each place with its process, and what is waited for in words. Pure. */
import type { CellSpec, QueueRead, RoleName, RoleRead, RolesRestart, TopologyRead } from "../api/types";

/** One process that is to be there, or that still is. */
export interface Seat {
  readonly role: RoleName;
  readonly cell: string;
  readonly index: number;
  readonly name: string;
  /** Who has it; null = nobody yet. Where there were several: the one alive, else the one heard of last. */
  readonly holder: RoleRead | null;
  readonly wanted: boolean;
}

export interface Group {
  readonly cell: string; // "" = learners and optimisers, which belong to none
  readonly title: string;
  readonly spec: CellSpec | null; // what the cell is to have; null for those outside cells and for cells that are gone
  readonly seats: readonly Seat[];
}

export type Health = "good" | "busy" | "bad" | "wait";

const ORDER: readonly RoleName[] = ["learner", "optimiser", "replay", "cache", "actor"];
const NAMES: Readonly<Record<RoleName, string>> = {
  learner: "learner",
  optimiser: "optimiser",
  replay: "replay shard",
  cache: "cache",
  actor: "actor",
};

const key = (role: string, cell: string, index: number): string => `${role} ${cell} ${index}`;

/** All places, cell after cell; those outside cells first. */
export function groupsOf(topology: TopologyRead): readonly Group[] {
  const { desired } = topology;
  const holders = new Map<string, RoleRead>();
  for (const role of topology.roles) {
    const place = key(role.role, role.cell, role.index);
    const known = holders.get(place);
    if (!known || isNewer(role, known)) holders.set(place, role);
  }
  const count: Readonly<Record<RoleName, (cell: CellSpec | null) => number>> = {
    learner: () => desired.learners,
    optimiser: () => desired.optimisers,
    replay: (cell) => cell?.replay_shards ?? 0,
    cache: (cell) => cell?.caches ?? 0,
    actor: (cell) => cell?.actors ?? 0,
  };
  const group = (cell: string, spec: CellSpec | null, roles: readonly RoleName[]): Group => {
    const seats = roles.flatMap((role) => {
      const wanted = count[role](spec);
      // Of those too many only who still lives: a place that was given up is no news.
      const surplus = topology.roles.filter(
        (other) => other.role === role && other.cell === cell && other.index >= wanted && other.alive,
      );
      const indices = [...Array(wanted).keys(), ...new Set(surplus.map((other) => other.index))];
      return indices.map((index) => ({
        role,
        cell,
        index,
        name: `${NAMES[role]} ${index}`,
        holder: holders.get(key(role, cell, index)) ?? null,
        wanted: index < wanted,
      }));
    });
    return { cell, title: cell ? `Cell ${cell}` : "Learners and optimisers", spec, seats };
  };
  const named = new Set(desired.cells.map((cell) => cell.name));
  const leaving = [...new Set(topology.roles.filter((role) => role.cell && role.alive).map((role) => role.cell))];
  return [
    group("", null, ORDER.slice(0, 2)),
    ...desired.cells.map((cell) => group(cell.name, cell, ORDER.slice(2))),
    ...leaving.filter((cell) => !named.has(cell)).map((cell) => group(cell, null, ORDER.slice(2))),
  ];
}

const isNewer = (role: RoleRead, than: RoleRead): boolean =>
  role.alive === than.alive ? role.heartbeat_age_s < than.heartbeat_age_s : role.alive;

/** A place's state in words and a colour. `over`: the job has ended. */
export function stateOf(seat: Seat, over: boolean): { words: string; health: Health } {
  const { holder } = seat;
  if (!holder) return { words: over ? "never started" : "not there yet", health: "wait" };
  if (over) return { words: holder.state, health: holder.state.startsWith("failed") ? "bad" : "wait" };
  if (!holder.alive && holder.state.startsWith("stopped")) return { words: "stopped", health: "wait" };
  if (!holder.alive && holder.state.startsWith("failed")) return { words: holder.state, health: "bad" };
  if (!holder.alive) return { words: `silent, last ${holder.state}`, health: "bad" };
  if (holder.stopping) return { words: "told to stop", health: "wait" };
  if (holder.restarting) return { words: `${holder.state}, restart to come`, health: "busy" };
  return { words: holder.state, health: holder.state === "running" ? "good" : "busy" };
}

/** "2 more actors of cell east (1 of 3 there)": each thing that is missing, too many, or about to be restarted. */
export function waitingOf(topology: TopologyRead): readonly string[] {
  if (topology.state === "queued") return ["The job waits for a worker; its processes start with it."];
  if (topology.state !== "running") return [];
  const words = topology.queues.flatMap((queue) => [missing(queue, topology.local)].filter((text) => text !== null));
  const stopping = topology.roles.filter((role) => role.alive && role.stopping).length;
  if (stopping) words.push(`${processes(stopping)} told to stop, to end at the next heartbeat.`);
  const turns = topology.roles.filter((role) => role.alive && role.restarting && !role.stopping).length;
  if (turns)
    words.push(
      `Rolling restart: ${processes(turns)} still to come, one at a time, each when the one before is at work again.`,
    );
  return words;
}

const processes = (count: number): string => (count === 1 ? "1 process" : `${count} processes`);

function missing({ queue, wanted, present, allowed }: QueueRead, local: boolean): string | null {
  if (present >= wanted) return null;
  const what = inWords(queue, wanted - present);
  const there = `(${present} of ${wanted} there)`;
  if (allowed !== null && allowed <= present)
    return `Waiting for ${what} ${there}: the workers have room for ${allowed} of this job. Start a worker with the queue ${queue}.`;
  return `Waiting for ${what} ${there}: ${local || allowed === null ? "starting on the run's host" : "a worker is to take them"}.`;
}

/** "2 more actors of cell east" of a queue "actor.east". */
function inWords(queue: string, count: number): string {
  const dot = queue.indexOf(".");
  const role = (dot < 0 ? queue : queue.slice(0, dot)) as RoleName;
  const name = NAMES[role] ?? role;
  return `${count} more ${name}${count === 1 ? "" : "s"}${dot < 0 ? "" : ` of cell ${queue.slice(dot + 1)}`}`;
}

/** The conditions that name one place alone. */
export const onlyThis = ({ role, cell, index }: Seat): RolesRestart => ({
  role,
  index,
  ...(cell ? { cell } : {}),
});

/** The number of a field, if it can be one of actors; else what is wrong with it. */
export function actorsOf(text: string): { actors: number } | { error: string } {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < 0 || value > MAX_ACTORS)
    return { error: `Enter 0 to ${MAX_ACTORS} actors.` };
  return { actors: value };
}

/** Of one cell, as the service allows. */
export const MAX_ACTORS = 1024;
