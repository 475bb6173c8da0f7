import { describe, expect, it } from "vitest";
import type { EventRead, JobRead, MetricPoint } from "../api/types";
import { checkForm, DEFAULTS, toJob } from "./job-spec";
import { columns, EMPTY, latest, mergePoints, withEvent } from "./job-state";
import { describe as say, stagesOf } from "./provenance";
import { say as sayEvent } from "./timeline";

const point = (time_s: number, values: Record<string, number>): MetricPoint => ({ time_s, values });
const event = (id: number, kind: EventRead["kind"], data: EventRead["data"]): EventRead => ({
  id,
  kind,
  at: "2026-01-01T00:00:00Z",
  data,
});
const job = { id: "j", progress: 0.1, eta_s: 50, stage: "placing", state: "running" } as JobRead;

describe("withEvent", () => {
  it("takes progress as it comes and keeps what it does not mention", () => {
    const view = withEvent({ ...EMPTY, job }, event(0, "progress", { progress: 0.4, eta_s: 20 }));
    expect(view.job).toMatchObject({ progress: 0.4, eta_s: 20, stage: "placing", state: "running" });
    expect(view.events).toEqual([]);
    expect(view.overtaken).toBe(0);
  });

  it("never takes an old state from the replayed stream, but asks again", () => {
    const view = withEvent({ ...EMPTY, job }, event(1, "state", { state: "queued" }));
    expect(view.job?.state).toBe("running");
    expect(view.overtaken).toBe(1);
    expect(view.events).toHaveLength(1);
  });

  it("survives progress before the job is known", () => {
    expect(withEvent(EMPTY, event(0, "progress", { progress: 0.4 })).job).toBeNull();
  });
});

describe("metrics", () => {
  it("merges points in order of time, each moment once", () => {
    const known = [point(1, { a: 1 }), point(3, { a: 3 })];
    expect(mergePoints(known, [point(4, { a: 4 })]).map((p) => p.time_s)).toEqual([1, 3, 4]);
    const merged = mergePoints(known, [point(2, { a: 2 }), point(3, { b: 9 })]);
    expect(merged.map((p) => p.time_s)).toEqual([1, 2, 3]);
    expect(merged[2]!.values).toEqual({ a: 3, b: 9 });
  });

  it("makes chart columns with holes, leaving out points that have none of the names", () => {
    const points = [point(1, { a: 1 }), point(2, { c: 7 }), point(3, { a: 2, b: 5 })];
    expect(columns(points, ["a", "b"])).toEqual([
      [1, 3],
      [1, 2],
      [null, 5],
    ]);
    expect(latest(points, "c")).toBe(7);
    expect(latest(points, "x")).toBeNull();
  });
});

describe("job form", () => {
  const form = { ...DEFAULTS };
  it("accepts its defaults", () => {
    expect(checkForm(form)).toEqual({});
    expect(toJob("d", form)).toEqual({
      design_id: "d",
      method: "auto",
      seconds: 60,
      seed: 0,
      workers: 2,
      from_scratch: false,
      place_cells: false,
      name: null,
      constraints: null,
    });
  });

  it.each([
    ["seconds", ""],
    ["seconds", "abc"],
    ["seconds", "0"],
    ["seconds", "604801"],
    ["seed", "-1"],
    ["seed", "1.5"],
    ["seed", "2147483648"],
    ["workers", "0"],
    ["workers", "65"],
    ["workers", "Infinity"],
  ] as const)("refuses %s = %s and says so at that field only", (field, value) => {
    expect(Object.keys(checkForm({ ...form, [field]: value }))).toEqual([field]);
  });

  it("takes constraints as a JSON object, and says what is wrong with others", () => {
    const constraints = '{"version": 1, "macro_spacing_um": 2}';
    expect(checkForm({ ...form, constraints })).toEqual({});
    expect(toJob("d", { ...form, constraints }).constraints).toEqual({ version: 1, macro_spacing_um: 2 });
    for (const text of ["[1]", "7", "null", "{", "{'version': 1}"])
      expect(Object.keys(checkForm({ ...form, constraints: text }))).toEqual(["constraints"]);
  });

  it("takes the limits themselves", () => {
    expect(checkForm({ ...form, seconds: "604800", seed: "2147483647", workers: "64" })).toEqual({});
  });
});

describe("words", () => {
  it("tells where a placement comes from", () => {
    const stages = [
      { name: "legalise", seconds: 0.1, trials: 0, gain: -0.02 },
      { name: "global from start", seconds: 9, trials: 0, gain: 0.1, round: 0 },
      { name: "global from scratch", seconds: 9, trials: 0, gain: 0.02, round: 0 },
      { name: "exchange", seconds: 0, trials: 0, gain: 0.00001, round: 1, taken_from: 1 },
      { name: "annealing", seconds: 20, trials: 2e6, gain: 0.05, round: 1 },
      { name: "flips", seconds: 0.1, trials: 60, gain: 0.0001, round: 1 },
      "unknown",
    ];
    expect(say({ start: "legalised upload", stages, seconds: 65 })).toBe(
      "legalised upload → global −0.1200 → search −0.0501 · 1 min 05 s",
    );
    expect(stagesOf({ stages })).toHaveLength(6);
    expect(stagesOf({ stages })[3]).toEqual({
      round: 1,
      name: "exchange with member 1",
      seconds: 0,
      trials: 0,
      gain: 0.00001,
    });
    expect(say({ policy_version: 12, seconds: 65 })).toBe("policy v12 · 1 min 05 s");
    expect(say({ start: "legalised upload" })).toBe("legalised upload");
    expect(say({})).toBe("start");
  });

  it("tells events, failures with their cause", () => {
    expect(sayEvent(event(1, "state", { state: "failed", cause: "killed (memory?)" }))).toEqual({
      text: "failed – killed (memory?)",
      tone: "tone-bad",
    });
    expect(sayEvent(event(2, "log", { level: "warning", message: "queue empty", role: "replay" }))).toEqual({
      text: "replay: queue empty",
      tone: "tone-warn",
    });
  });
});
