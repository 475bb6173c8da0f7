import { describe, expect, it } from "vitest";
import { readEvent, retryDelayMs } from "./live";
import { type SseEvent, SseParser } from "./sse";

const STREAM =
  'retry: 2000\n\n: hello\n\nid: 1\nevent: state\ndata: {"id":1,"kind":"state","at":"2026-01-01T00:00:00Z","data":{"state":"queued"}}\n\n' +
  'event: progress\ndata: {"progress":0.5}\n\nid:7\ndata: one\ndata:  two\nunknown: x\n\nevent: empty\n\ndata\n\n';

const read = (pieces: readonly string[]): { events: SseEvent[]; parser: SseParser } => {
  const parser = new SseParser();
  return { events: pieces.flatMap((piece) => parser.push(piece)), parser };
};

describe("SseParser", () => {
  it("reads fields, comments, several data lines and retry", () => {
    const { events, parser } = read([STREAM]);
    expect(parser.retryMs).toBe(2000);
    expect(events.map(({ id, event }) => [id, event])).toEqual([
      ["1", "state"],
      [null, "progress"],
      ["7", "message"],
      [null, "message"],
    ]);
    expect(events[2]!.data).toBe("one\n two");
    expect(events[3]!.data).toBe("");
  });

  it("gives the same events wherever the text is cut, with any line ending", () => {
    for (const ending of ["\n", "\r\n", "\r"]) {
      const text = STREAM.replaceAll("\n", ending);
      // The last CR alone may still become a CRLF, so one more character is needed to settle it.
      const whole = read([text, ":"]).events;
      expect(whole).toEqual(read([STREAM]).events);
      for (let cut = 1; cut < text.length; cut++)
        expect(read([text.slice(0, cut), text.slice(cut), ":"]).events).toEqual(whole);
    }
  });

  it("keeps an unfinished event to itself", () => {
    expect(read(["data: half\n"]).events).toEqual([]);
  });
});

describe("readEvent", () => {
  it("takes stored events whole and gives the others id 0", () => {
    const [state, progress] = read([STREAM]).events;
    expect(readEvent(state!)).toMatchObject({ id: 1, kind: "state", data: { state: "queued" } });
    expect(readEvent(progress!)).toMatchObject({ id: 0, kind: "progress", data: { progress: 0.5 } });
  });
});

describe("retryDelayMs", () => {
  it("grows to a bound and is spread by chance", () => {
    expect([1, 2, 3, 4, 5, 50].map((n) => retryDelayMs(n, () => 0))).toEqual([1000, 2000, 4000, 8000, 15000, 15000]);
    expect(retryDelayMs(1, () => 1)).toBe(750);
  });
});
