import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addressOf, ApiError, get, UnreachableError } from "@/lib/api";
import { activeFilters, noFilters, queryOf } from "@/lib/filters";
import { handle, keysSetting, label, nameOf } from "@/lib/keys";
import { touchedBy } from "@/lib/live";
import { badgeOf, DIARY, dotsOf, shortPath, shortSession, typesOf } from "@/lib/memory";
import { change, go, href, parseHash, route } from "@/lib/router";
import { dismiss, runUndo, toast, toasts } from "@/lib/toasts";
import { blocksOf } from "@/parts/markdown";

beforeEach(() => go("#/health", { replace: true }));

describe("router", () => {
  it("reads a view, an open record and filters", () => {
    const found = parseHash("#/memories/a%2Fb?q=x&badge=WARN");
    expect([found.view, found.id, found.params.get("q")]).toEqual(["memories", "a/b", "x"]);
  });

  it("shows the first view for what it does not know", () => {
    expect(parseHash("#/nowhere").view).toBe("next");
    expect(parseHash("#/memories/%E0%A4%A").id).toBe("%E0%A4%A");
  });

  it("keeps the project on the way", () => {
    go("#/memories?project=other");
    expect(href("review")).toBe("#/review?project=other");
    change({ q: "hold" }, { id: "abc" });
    expect(location.hash).toBe("#/memories/abc?project=other&q=hold");
    expect(route().id).toBe("abc");
  });
});

describe("filters", () => {
  it("asks for what is valid now and no diary", () => {
    const query = queryOf(new URLSearchParams());
    expect(query.validity).toBe("open");
    expect(query.types).not.toContain("observation");
    expect(query.types).toContain("gotcha");
  });

  it("turns the URL into the server's words", () => {
    const query = queryOf(new URLSearchParams("badge=WARN&module=pay&state=review&band=4&since=7d"));
    expect(query).toMatchObject({ modules: ["pay"], needs_review: true, bands: [4], since: "7d" });
    expect(query.types?.every((type) => badgeOf(type) === "WARN")).toBe(true);
  });

  it("can be cleared", () => {
    const params = new URLSearchParams("badge=WARN&tag=x&q=keep");
    expect(activeFilters(params)).toEqual(["badge", "tag"]);
    for (const [name, value] of Object.entries(noFilters())) if (!value) params.delete(name);
    expect(params.toString()).toBe("q=keep");
  });
});

describe("api", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("fills paths and leaves out what is empty", () => {
    expect(addressOf("/api/memories/{name}", { name: "a/b" }, { tags: ["x", "y"], q: "", n: 0 })).toBe("/api/memories/a%2Fb?tags=x&tags=y&n=0");
  });

  it("sends a request id and the project, percent-encoded", async () => {
    go("#/memories?project=caf%C3%A9");
    const seen = vi.fn(async () => Response.json({ items: [], here: "" }));
    vi.stubGlobal("fetch", seen);
    await get("/api/projects");
    const headers = (seen.mock.calls[0] as unknown as [string, { headers: Record<string, string> }])[1].headers;
    expect(headers["X-Request-ID"]).toMatch(/^[0-9a-f]{8}$/);
    expect(headers["Wellkept-Project"]).toBe("caf%C3%A9");
  });

  it("tells what the server said, or that it said nothing", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ title: "Gone", status: 404, detail: "No memory 'x'.", hint: "h", request_id: "7f3a" }, { status: 404 }));
    await expect(get("/api/projects")).rejects.toMatchObject({ status: 404, detail: "No memory 'x'.", requestId: "7f3a" });
    vi.stubGlobal("fetch", async () => new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
    await expect(get("/api/projects")).rejects.toBeInstanceOf(ApiError);
    vi.stubGlobal("fetch", async () => Promise.reject(new TypeError("refused")));
    await expect(get("/api/projects")).rejects.toBeInstanceOf(UnreachableError);
  });
});

describe("keys", () => {
  const press = (key: string, more: KeyboardEventInit = {}) => new KeyboardEvent("keydown", { key, cancelable: true, ...more });

  it("names keys", () => {
    expect(nameOf(press("Y", { shiftKey: true }))).toBe("shift+y");
    expect(nameOf(press("?", { shiftKey: true }))).toBe("?");
    expect(nameOf(press("k", { ctrlKey: true }))).toBe("mod+k");
    expect(nameOf(press("k", { metaKey: true }))).toBe("mod+k");
    expect(label("mod+k")).toBe("Ctrl K");
    expect(label("g h")).toBe("G H");
  });

  it("does nothing while typing or when switched off", () => {
    const field = document.createElement("input");
    document.body.append(field);
    const typed = press("z");
    Object.defineProperty(typed, "target", { value: field });
    const undone = vi.fn();
    toast("Kept", { action: { label: "Undo", isUndo: true, run: undone } });
    handle(typed);
    keysSetting.set("off");
    handle(press("z"));
    keysSetting.set("on");
    expect(undone).not.toHaveBeenCalled();
  });
});

describe("toasts", () => {
  it("shows one at a time and undoes it once", () => {
    const undone = vi.fn();
    toast("first");
    const id = toast("second", { action: { label: "Undo", isUndo: true, run: undone } });
    expect(toasts.get().map((one) => one.text)).toEqual(["second"]);
    expect(runUndo()).toBe(true);
    expect(runUndo()).toBe(false);
    expect(undone).toHaveBeenCalledOnce();
    dismiss(id);
    expect(toasts.get()).toEqual([]);
  });

  it("keeps an undo within reach when news come", () => {
    const undone = vi.fn();
    toast("Kept", { action: { label: "Undo", isUndo: true, run: undone } });
    toast("Learned 3 things");
    expect(toasts.get()).toHaveLength(2);
    expect(runUndo()).toBe(true);
    expect(undone).toHaveBeenCalledOnce();
  });
});

describe("vocabulary", () => {
  it("has a badge for each type, and types for each badge", () => {
    expect(badgeOf("dead_end")).toBe("WARN");
    expect(badgeOf("something_new")).toBe("FACT");
    expect(typesOf("PREF")).toEqual(["preference"]);
    expect(DIARY.has("prompt")).toBe(true);
  });

  it("draws one to five dots", () => {
    expect([0, 0.19, 0.2, 0.5, 0.6, 0.8, 1].map(dotsOf)).toEqual([1, 1, 2, 3, 4, 5, 5]);
  });

  it("shortens sessions", () => {
    expect(shortSession("claude-code:0199ab12-3456-7890-abcdef012345")).toBe("ef012345");
    expect(shortSession("s-131")).toBe("s-131");
  });

  it("shortens files that lie outside", () => {
    expect(shortPath("/home/dev/ferry/booking/holds.ts")).toBe("…/ferry/booking/holds.ts");
    expect(shortPath("C:\\Users\\dev\\ferry\\booking\\holds.ts")).toBe("…/ferry/booking/holds.ts");
    expect(shortPath("packages/web/src/booking/holds.ts")).toBe("packages/web/src/booking/holds.ts");
  });

  it("knows which questions an event makes old", () => {
    expect(touchedBy("memory_changed")).toContain("memories");
    expect(touchedBy("memory_stored")).not.toContain("memories");
    expect(touchedBy("lines_given")).toContain("session");
    expect(touchedBy("session_started")).toContain("sessions");
    expect(touchedBy("skill_generated")).toContain("skills");
  });
});

describe("markdown", () => {
  it("knows headings, lists, code and text, and no HTML", () => {
    const found = blocksOf("# A\n\ntext\nmore\n\n1. one\n2. two\n   still two\n- x\n\n```js\n<b>\n```\n<script>");
    expect(found.map((one) => one.kind)).toEqual(["heading", "text", "list", "list", "code", "text"]);
    expect(found[2]).toMatchObject({ ordered: true, items: ["one", "two still two"] });
    expect(found.at(-1)).toEqual({ kind: "text", text: "<script>" });
  });
});
