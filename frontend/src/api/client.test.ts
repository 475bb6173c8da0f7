import { describe, expect, it } from "vitest";
import { makeLayout } from "../../dev/mock-design";
import { errorFrom, listed } from "./client";
import { coalesce } from "./coalesce";
import { placed } from "./placement-file";

describe("errorFrom", () => {
  it("shows the detail of problem details", () => {
    const error = errorFrom(
      413,
      JSON.stringify({ title: "Too large", status: 413, detail: "3 GB is over the limit of 2 GB" }),
    );
    expect(error.message).toBe("3 GB is over the limit of 2 GB");
    expect(error.problem?.title).toBe("Too large");
  });

  it("has words for answers that are no problem details", () => {
    expect(errorFrom(502, "<html>Bad gateway</html>").message).toContain("proxy");
    expect(errorFrom(418, "null").message).toBe("The service answered with status 418.");
  });
});

describe("listed", () => {
  const numbers = Array.from({ length: 450 }, (_, number) => number);
  const list = (limit: number, cursor: string | null) => {
    const from = Number(cursor ?? 0);
    const upTo = from + Math.min(limit, 200);
    return Promise.resolve({ items: numbers.slice(from, upTo), next_cursor: upTo < 450 ? String(upTo) : null });
  };

  it("goes from page to page, and says whether there is more", async () => {
    expect(await listed(list, 50)).toEqual({ items: numbers.slice(0, 50), more: true });
    expect(await listed(list, 300)).toEqual({ items: numbers.slice(0, 300), more: true });
    expect(await listed(list, 500)).toEqual({ items: numbers, more: false });
  });
});

describe("coalesce", () => {
  it("runs once more after a call that came in between, not once a call", async () => {
    let started = 0;
    const waiting: (() => void)[] = [];
    const ask = coalesce(() => {
      started += 1;
      return new Promise((resolve) => waiting.push(resolve));
    });
    ask();
    ask();
    ask();
    expect(started).toBe(1);
    waiting.shift()!();
    await new Promise((resolve) => setTimeout(resolve));
    expect(started).toBe(2);
    waiting.shift()!();
    await new Promise((resolve) => setTimeout(resolve));
    expect(started).toBe(2);
    ask();
    expect(started).toBe(3);
  });

  it("goes on after a failure", async () => {
    let started = 0;
    const ask = coalesce(async () => {
      started += 1;
      throw new Error("no");
    });
    ask();
    await new Promise((resolve) => setTimeout(resolve));
    ask();
    expect(started).toBe(2);
  });
});

describe("placed", () => {
  const layout = makeLayout(4, 2, 1);
  const nodes = layout.name.map((name, i) => ({ name, x_um: i, y_um: -i, orientation: "S", fixed: true }));
  const file = { format: "placewright-placement", version: 1, nodes };

  it("puts the file's positions into the design's layout", () => {
    const result = placed(layout, file);
    expect(result.x_um).toEqual(nodes.map((node) => node.x_um));
    expect(result.width_um).toBe(layout.width_um);
    expect(result.orientation.every((name) => name === "S")).toBe(true);
  });

  it("refuses a file of another design, naming the node", () => {
    const other = nodes.map((node, i) => (i === 3 ? { ...node, name: "stranger" } : node));
    expect(() => placed(layout, { ...file, nodes: other })).toThrow(/Node 3 is stranger/);
    expect(() => placed(layout, { ...file, nodes: nodes.slice(1) })).toThrow(/nodes/);
    expect(() => placed(layout, { ...file, version: 2 })).toThrow(/version 2/);
  });
});
