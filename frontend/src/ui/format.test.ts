import { describe, expect, it } from "vitest";
import { addFiles, proposedName, selectionProblem } from "../designs/files";
import { macrosAbove, nearest, thresholds } from "../designs/macro-rule";
import { groupMessages } from "../designs/warnings";
import { shortName } from "../layout/draw";
import { parseRoute } from "../router";
import { tokenOf } from "../session";
import { bytes, change, duration, measure, microns, signed } from "./format";

describe("numbers in words", () => {
  it.each([
    [0, "0 s"],
    [59.4, "59 s"],
    [60, "1 min"],
    [65, "1 min 05 s"],
    [3600, "1 h"],
    [7845, "2 h 10 min"],
    [273_600, "3 d 04 h"],
  ])("duration %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  it("signs differences, and calls what rounds to nothing nothing", () => {
    expect(signed(-0.0213)).toBe("−0.0213");
    expect(signed(0.00001)).toBe("±0.0000");
    expect(change(1, 0.9)).toEqual({ difference: "−0.1000", percent: "−10.0 %", better: true });
    expect(change(1, 1.1).better).toBe(false);
    expect(change(1, 1).better).toBeNull();
    expect(change(0, 1).percent).toBe("±0.0 %");
  });

  it("keeps digits that matter", () => {
    expect(bytes(0)).toBe("0 B");
    expect(bytes(311_907)).toBe("312 kB");
    expect(bytes(2_500_000)).toBe("2.5 MB");
    expect(microns(22.95)).toBe("22.95 µm");
    expect(microns(1599.99)).toBe("1,600 µm");
    expect(measure(0.012345)).toBe("0.0123");
    expect(measure(Number.NaN)).toBe("–");
  });
});

describe("addresses", () => {
  it("knows its pages", () => {
    expect(parseRoute("/")).toEqual({ page: "home" });
    expect(parseRoute("/designs/a%2Fb")).toEqual({ page: "design", id: "a/b" });
    expect(parseRoute("/jobs/x/")).toEqual({ page: "job", id: "x" });
    expect(parseRoute("/jobs/%")).toEqual({ page: "job", id: "%" });
    expect(parseRoute("/jobs")).toEqual({ page: "unknown", path: "/jobs" });
  });

  it("finds the token after the #", () => {
    expect(tokenOf("#token=abc-_1")).toBe("abc-_1");
    expect(tokenOf("#main")).toBeNull();
    expect(tokenOf("")).toBeNull();
  });
});

describe("files", () => {
  const file = (name: string, size = 1) => ({ name, size });
  it("says what is missing before anything is sent", () => {
    expect(selectionProblem([file("a.pb.txt"), file("a.plc.gz")])).toBeNull();
    expect(selectionProblem([file("a.pb.txt.gz")])).toBeNull();
    expect(selectionProblem([file("a.plc")])).toContain("netlist");
    expect(selectionProblem([file("a.pb.txt"), file("b.plc"), file("c.plc")])).toContain("More than one .plc");
    expect(selectionProblem([file("part1.pb.txt"), file("part2.pb.txt")])).toBeNull();
    expect(selectionProblem([file("a.pb.txt", 0)])).toContain("empty");
  });

  it("proposes the netlist's name", () => {
    expect(proposedName([file("x.plc"), file("ariane.pb.txt.gz")])).toBe("ariane");
    expect(proposedName([file("x.plc")])).toBe("");
  });

  it("replaces a file of the same name", () => {
    const [first, second] = [new File(["1"], "a.plc"), new File(["22"], "a.plc")];
    expect(addFiles([first], [second, new File(["3"], "b.plc")]).map((item) => item.size)).toEqual([2, 1]);
  });
});

describe("macro rule", () => {
  const heights = [
    { height: 108, nodes: 2 },
    { height: 24, nodes: 3 },
    { height: 12, nodes: 500 },
  ];
  it("counts what is higher than a threshold", () => {
    expect(thresholds(heights)).toEqual([0, 12, 24, 108]);
    expect(thresholds(heights).map((height) => macrosAbove(heights, height))).toEqual([505, 5, 2, 0]);
  });

  it("finds the threshold that does the same as a height between them", () => {
    const choices = thresholds(heights);
    for (const height of [0, 11.9, 12, 13, 24, 107, 108, 1000])
      expect(macrosAbove(heights, choices[nearest(choices, height)]!)).toBe(macrosAbove(heights, height));
  });
});

describe("messages", () => {
  it("groups those that differ in names and numbers only, in order", () => {
    const groups = groupMessages([
      "macro 'a' lies 1.5 µm outside",
      "net 'n' has 5 pins",
      "macro 'b' lies -2e3 µm outside",
    ]);
    expect(groups.map(({ text, times }) => [text, times])).toEqual([
      ["macro 'a' lies 1.5 µm outside", 2],
      ["net 'n' has 5 pins", 1],
    ]);
    expect(groups[0]!.others).toEqual(["macro 'b' lies -2e3 µm outside"]);
  });

  it("takes over what a reader has counted", () => {
    const groups = groupMessages([
      "rule 'ABC' is not defined (first: a.def:12; x 1,234)",
      "row of site 'unit' is not used (x 12)",
      "old statement is skipped (first: a.lef:3)",
      "macro beyond the canvas (by 3 µm)",
    ]);
    expect(groups.map(({ text, times, others }) => [text, times, others])).toEqual([
      ["rule 'ABC' is not defined", 1234, ["first: a.def:12"]],
      ["row of site 'unit' is not used", 12, []],
      ["old statement is skipped", 1, ["first: a.lef:3"]],
      ["macro beyond the canvas (by 3 µm)", 1, []],
    ]);
  });

  it("shortens names from the front", () => {
    expect(shortName("a/b/ram[12]", 6)).toBe("…m[12]");
    expect(shortName("ram", 6)).toBe("ram");
    expect(shortName("ram", 1)).toBe("…");
  });
});
