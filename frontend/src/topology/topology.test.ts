import { describe, expect, it } from "vitest";
import type { RoleRead, TopologyRead } from "../api/types";
import { actorsOf, groupsOf, onlyThis, stateOf, waitingOf } from "./topology";

const role = (name: RoleRead["role"], cell: string, index: number, more: Partial<RoleRead> = {}): RoleRead => ({
  id: `${name} ${cell} ${index}`,
  role: name,
  cell,
  index,
  host: "h",
  pid: 7,
  address: null,
  version: "1",
  state: "running",
  alive: true,
  stopping: false,
  restarting: false,
  heartbeat_age_s: 1,
  ...more,
});

const topology = (more: Partial<TopologyRead> = {}): TopologyRead => ({
  job_id: "j",
  state: "running",
  local: true,
  desired: {
    cells: [
      { name: "east", actors: 2, caches: 1, replay_shards: 1 },
      { name: "west", actors: 1, caches: 0, replay_shards: 0 },
    ],
    learners: 1,
    devices: 1,
    optimisers: 1,
    start_smaller: false,
  },
  queues: [],
  waiting_for: [],
  roles: [],
  ...more,
});

describe("groupsOf", () => {
  it("has a place for every process that is wanted, cell by cell, whoever is there", () => {
    const groups = groupsOf(topology({ roles: [role("actor", "east", 1)] }));
    expect(groups.map((group) => group.title)).toEqual(["Learners and optimisers", "Cell east", "Cell west"]);
    expect(groups.map((group) => group.seats.map((seat) => seat.name))).toEqual([
      ["learner 0", "optimiser 0"],
      ["replay shard 0", "cache 0", "actor 0", "actor 1"],
      ["actor 0"],
    ]);
    expect(groups[1]!.seats.map((seat) => seat.holder?.pid ?? null)).toEqual([null, null, null, 7]);
  });

  it("shows of several in one place the living one, else the one heard of last", () => {
    const dead = role("learner", "", 0, { id: "old", alive: false, heartbeat_age_s: 0.5, state: "failed: killed" });
    const living = role("learner", "", 0, { id: "new", heartbeat_age_s: 2 });
    const holder = (roles: RoleRead[]) => groupsOf(topology({ roles }))[0]!.seats[0]!.holder?.id;
    expect(holder([dead, living])).toBe("new");
    expect(holder([living, dead])).toBe("new");
    expect(holder([{ ...living, alive: false }, dead])).toBe("old");
  });

  it("keeps those too many in sight until they have ended, and cells that are given up", () => {
    const roles = [
      role("actor", "west", 1, { stopping: true }),
      role("actor", "west", 2, { alive: false, state: "stopped" }),
      role("cache", "north", 0),
    ];
    const groups = groupsOf(topology({ roles }));
    expect(groups[2]!.seats.map((seat) => [seat.name, seat.wanted])).toEqual([
      ["actor 0", true],
      ["actor 1", false],
    ]);
    expect([groups[3]!.title, groups[3]!.spec, groups[3]!.seats.length]).toEqual(["Cell north", null, 1]);
  });

  it("names one place alone for a restart", () => {
    const [outside, east] = groupsOf(topology());
    expect(onlyThis(east!.seats[3]!)).toEqual({ role: "actor", cell: "east", index: 1 });
    expect(onlyThis(outside!.seats[0]!)).toEqual({ role: "learner", index: 0 });
  });
});

describe("stateOf", () => {
  it.each<[Partial<RoleRead> | null, boolean, string, string]>([
    [null, false, "not there yet", "wait"],
    [null, true, "never started", "wait"],
    [{}, false, "running", "good"],
    [{ state: "waiting for the first model" }, false, "waiting for the first model", "busy"],
    [{ restarting: true }, false, "running, restart to come", "busy"],
    [{ stopping: true, restarting: true }, false, "told to stop", "wait"],
    [{ alive: false }, false, "silent, last running", "bad"],
    [{ alive: false, state: "failed: exit 1" }, false, "failed: exit 1", "bad"],
    [{ alive: false, state: "stopped" }, false, "stopped", "wait"],
    [{ alive: false, state: "stopped" }, true, "stopped", "wait"],
    [{ alive: false, state: "failed: exit 1" }, true, "failed: exit 1", "bad"],
  ])("%o, over %s: %s", (more, over, words, health) => {
    const holder = more && role("actor", "east", 0, more);
    const seat = { role: "actor", cell: "east", index: 0, name: "actor 0", holder, wanted: true } as const;
    expect(stateOf(seat, over)).toEqual({ words, health });
  });
});

describe("waitingOf", () => {
  const queue = (name: string, wanted: number, present: number, allowed: number | null = null) => ({
    queue: name,
    wanted,
    present,
    allowed,
  });

  it("says nothing of a job that has all or is over", () => {
    expect(waitingOf(topology({ queues: [queue("learner", 1, 1)] }))).toEqual([]);
    expect(waitingOf(topology({ state: "done", queues: [queue("learner", 1, 0)] }))).toEqual([]);
  });

  it("says what is missing, how much is there, and who is to bring it", () => {
    expect(waitingOf(topology({ queues: [queue("actor.east", 3, 1), queue("replay.west", 1, 0)] }))).toEqual([
      "Waiting for 2 more actors of cell east (1 of 3 there): starting on the run's host.",
      "Waiting for 1 more replay shard of cell west (0 of 1 there): starting on the run's host.",
    ]);
    const queues = [queue("actor.east", 3, 1, 1), queue("learner", 1, 0, 1), queue("optimiser", 1, 0)];
    expect(waitingOf(topology({ local: false, queues }))).toEqual([
      "Waiting for 2 more actors of cell east (1 of 3 there): the workers have room for 1 of this job. " +
        "Start a worker with the queue actor.east.",
      "Waiting for 1 more learner (0 of 1 there): a worker is to take them.",
      "Waiting for 1 more optimiser (0 of 1 there): starting on the run's host.",
    ]);
  });

  it("tells of a queued job, of those told to stop, and of restarts to come", () => {
    expect(waitingOf(topology({ state: "queued", queues: [queue("learner", 1, 0)] }))).toEqual([
      "The job waits for a worker; its processes start with it.",
    ]);
    const roles = [
      role("actor", "east", 0, { stopping: true }),
      role("actor", "east", 1, { restarting: true }),
      role("cache", "east", 0, { restarting: true }),
      role("cache", "east", 0, { restarting: true, alive: false }),
    ];
    expect(waitingOf(topology({ roles }))).toEqual([
      "1 process told to stop, to end at the next heartbeat.",
      "Rolling restart: 2 processes still to come, one at a time, each when the one before is at work again.",
    ]);
  });
});

describe("actorsOf", () => {
  it("takes what the service takes", () => {
    expect([actorsOf("0"), actorsOf("1024")]).toEqual([{ actors: 0 }, { actors: 1024 }]);
    for (const text of ["", " ", "-1", "1.5", "1025", "x"])
      expect(actorsOf(text)).toEqual({ error: "Enter 0 to 1024 actors." });
  });
});
