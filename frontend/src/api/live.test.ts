import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApiError } from "./client";
import { type Connection, openLive } from "./live";
import type { EventRead } from "./types";

type Answer = Response | Error;

const event = (id: number, kind: EventRead["kind"], data: EventRead["data"]) =>
  `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify({ id, kind, at: "2026-01-01T00:00:00Z", data })}\n\n`;
const stream = (text: string) => new Response(text, { headers: { "Content-Type": "text/event-stream" } });

/** Runs a live connection against prepared answers, one a connection, until it is over. */
async function play(answers: Answer[]) {
  const asked: string[] = [];
  const events: EventRead[] = [];
  const states: Connection[] = [];
  const refusals: ApiError[] = [];
  let polls = 0;
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    asked.push(new Headers(init.headers).get("Last-Event-ID") ?? "");
    const answer = answers.shift();
    if (!answer) throw new TypeError("network");
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const over = new Promise<void>((resolve) => {
    const live = openLive("j", {
      onEvent: (item) => events.push(item),
      onConnection: (state) => {
        states.push(state);
        if (state === "lost" && answers.length === 0) live.stop();
        if (state === "closed" || (state === "lost" && answers.length === 0)) resolve();
      },
      poll: async () => {
        polls += 1;
      },
      onRefused: (error) => {
        refusals.push(error);
        resolve();
      },
    });
  });
  await vi.runAllTimersAsync();
  await over;
  return { asked, events, states, refusals, polls };
}

describe("openLive", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("window", new EventTarget());
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("comes back with the last id after a cut, polls meanwhile, and repeats nothing", async () => {
    const first = event(1, "state", { state: "running" }) + event(2, "log", { message: "a" });
    const second = event(2, "log", { message: "a" }) + event(3, "state", { state: "done" });
    const { asked, events, states, polls } = await play([stream(first), new TypeError("network"), stream(second)]);
    expect(asked).toEqual(["0", "2", "2"]);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(states).toEqual(["connecting", "open", "lost", "lost", "open", "closed"]);
    expect(polls).toBe(2);
  });

  it("stops when the job is over, without calling that a loss", async () => {
    const { asked, states } = await play([stream(event(1, "state", { state: "cancelled" }))]);
    expect(asked).toEqual(["0"]);
    expect(states).toEqual(["connecting", "open", "closed"]);
  });

  it("takes 204 as the end: nothing was missed", async () => {
    const { states } = await play([stream(event(4, "log", { message: "a" })), new Response(null, { status: 204 })]);
    expect(states.at(-1)).toBe("closed");
  });

  it("does not try again where the job does not exist", async () => {
    const body = JSON.stringify({ title: "Not found", status: 404, detail: "no job j" });
    const { asked, refusals } = await play([new Response(body, { status: 404 })]);
    expect(asked).toHaveLength(1);
    expect(refusals[0]!.message).toBe("no job j");
  });

  it("tries again after a server error", async () => {
    const { states } = await play([new Response("", { status: 503 }), stream(event(1, "state", { state: "done" }))]);
    expect(states).toEqual(["connecting", "lost", "open", "closed"]);
  });
});
