import { describe, expect, it } from "vitest";
import { recipeOf } from "@/lib/recipes";
import { eventsOf } from "@/lib/stream";
import { linesOf, stepsOf as recipeSteps } from "@/parts/teach";
import { growthByBadge, runningTotal } from "@/views/health";
import { moduleOf, reachedFiles, stepsOf } from "@/views/map";
import { plainLine, toneOf } from "@/views/sessions";
import { groupsOf } from "@/views/skills";

describe("map", () => {
  const modules = [
    { folder: "src", paths: ["src/main.ts"] },
    { folder: "src/pay", paths: ["src/pay/webhook.ts"] },
    { folder: "web", paths: [] },
  ];

  it("finds the nearest module of a file", () => {
    expect(moduleOf(modules, "src/pay/webhook.ts")).toBe("src/pay");
    expect(moduleOf(modules, "src/pay/new.ts")).toBe("src/pay");
    expect(moduleOf(modules, "docs/a.md")).toBeNull();
  });

  it("counts steps to modules, the shortest way", () => {
    const touched = [{ id: "web/a.ts::f", depth: 3 }, { id: "web/b.ts", depth: 2 }, { id: "src/main.ts", depth: 1 }];
    expect([...stepsOf(modules, "src/pay/webhook.ts", touched)]).toEqual([["src/pay", 0], ["web", 2], ["src", 1]]);
  });

  it("names each reached file once, at its nearest", () => {
    const touched = [
      { id: "b.ts::g", depth: 2, score: 0, how: "calls" },
      { id: "b.ts", depth: 1, score: 0, how: "imports" },
      { id: "a.ts::self", depth: 1, score: 0, how: "calls" },
    ];
    expect(reachedFiles("a.ts", touched)).toEqual([{ path: "b.ts", depth: 1, how: "imports" }]);
  });
});

describe("streams", () => {
  it("reads whole events and leaves the rest", () => {
    const { events, rest } = eventsOf('event: progress\ndata: {"done":1}\n\n: alive\n\nevent: do');
    expect(events).toEqual([{ kind: "progress", data: { done: 1 } }]);
    expect(rest).toBe("event: do");
  });
});

describe("recipes", () => {
  it("turns steps into lines and back", () => {
    const steps = [{ description: "add the rate", file: "src/rates.ts" }, { description: "mail a@b.c about it", file: "" }];
    expect(recipeSteps(linesOf(steps))).toEqual(steps);
    expect(recipeSteps("\n  \n")).toEqual([]);
  });

  it("reads a broken payload without failing", () => {
    expect(recipeOf({ content: "x", payload: { steps: [{}, { description: 3 }] } }).steps).toHaveLength(2);
    expect(recipeOf({ content: "x", payload: null })).toEqual({ task: "x", steps: [], succeeded: 0, failed: 0 });
  });
});

describe("sessions", () => {
  it("takes the frame off a given line", () => {
    expect(plainLine("- [WARN] never push [m:ab12]")).toBe("never push [m:ab12]");
  });

  it("guesses what failed and passed from the title only", () => {
    const entry = (title: string) => ({ kind: "observation" as const, memory: { content: title, payload: { title } } as never });
    expect(toneOf(entry("Tests failed: holds"))).toBe("failed");
    expect(toneOf(entry("41 passed"))).toBe("passed");
    expect(toneOf(entry("Compass added"))).toBe("plain");
  });
});

it("growth is stacked by type, the most frequent on top", () => {
  const days = [{ by_badge: { FACT: 2 } }, { by_badge: { FACT: 1, WARN: 1 } }];
  const bands = growthByBadge(days, { FACT: 5, WARN: 1 });
  expect(bands.map((one) => one.badge)).toEqual(["FACT", "WARN"]);
  expect(bands[0]).toMatchObject({ own: [4, 5], stacked: [4, 6] });
  expect(bands[1]).toMatchObject({ own: [0, 1], stacked: [0, 1] });
});

it("growth adds up", () => expect(runningTotal(10, [1, 0, 4])).toEqual([11, 11, 15]));

it("skills fall into three groups", () => {
  const row = (name: string, source: string) => ({ name, source });
  const all = [row("a", "builtin:x"), row("b", "project:y"), row("c", "generated:z"), row("d", "external:v")];
  const groups = groupsOf(all, new Map([["d", "package.json"], ["b", "x"]]));
  expect(groups.detected.map((one) => one.name)).toEqual(["d"]);
  expect(groups.project.map((one) => one.name)).toEqual(["b", "c"]);
  expect(groups.available.map((one) => one.name)).toEqual(["a"]);
});
