import { describe, expect, it } from "vitest";
import { hasHidden, markOf, piecesOf, termsOf, wordChanges } from "@/lib/text";

describe("hidden characters", () => {
  it.each([
    ["zero width", "a\u200bb", "U+200B"],
    ["right to left", "a\u202eb", "U+202E"],
    ["tag letters", "a\u{e0041}b", "U+E0041"],
    ["bell", "a\u0007b", "U+0007"],
    ["soft hyphen", "a\u00adb", "U+00AD"],
    ["hangul filler", "a\u3164b", "U+3164"],
  ])("%s is drawn as a mark", (_, text, mark) => {
    expect(piecesOf(text)).toEqual([{ kind: "text", text: "a" }, { kind: "mark", text: mark }, { kind: "text", text: "b" }]);
    expect(hasHidden(text)).toBe(true);
  });

  it("leaves line breaks, tabs and accents alone", () => {
    expect(hasHidden("é\n\t日本 🙂\u{fe0f}")).toBe(false);
  });

  it("is also found inside code", () => {
    expect(piecesOf("`a\u200bb`").map((one) => one.kind)).toEqual(["code", "mark", "code"]);
  });

  it("loses nothing of the text", () => {
    const text = "<img src=x onerror=alert(1)> `a` and \u200b** \\u202e";
    const back = piecesOf(text, ["img", "a"]).map((one) => (one.kind === "mark" ? "\u200b" : one.text)).join("");
    expect(back).toBe(text.replaceAll("`", ""));
  });

  it("names code points", () => expect(markOf("\u{1f600}")).toBe("U+1F600"));
});

describe("hits", () => {
  it("marks words of the query from their beginning, in any case", () => {
    expect(piecesOf("Stripe webhooks and unwebhook", termsOf("WEBHOOK"))).toEqual([
      { kind: "text", text: "Stripe " },
      { kind: "text", text: "webhook", hit: true },
      { kind: "text", text: "s and unwebhook" },
    ]);
  });

  it("takes a query with signs of patterns as text", () => {
    expect(() => piecesOf("a(b", ["a(", "[", "*."])).not.toThrow();
  });

  it("ignores single letters", () => expect(piecesOf("a b", termsOf("a"))).toEqual([{ kind: "text", text: "a b" }]));
});

describe("word changes", () => {
  it("shows what goes and what comes", () => {
    expect(wordChanges("keyed by seat", "keyed by seat and sailing")).toEqual([
      { kind: "same", text: "keyed by seat" },
      { kind: "in", text: " and sailing" },
    ]);
    expect(wordChanges("a b c", "a c").map((one) => one.kind)).toEqual(["same", "out", "same"]);
  });

  it("puts both texts back together", () => {
    const before = "Held seats expire after 15 minutes.";
    const after = "Seats that are held expire after 20 minutes";
    const changes = wordChanges(before, after);
    expect(changes.filter((one) => one.kind !== "in").map((one) => one.text).join("")).toBe(before);
    expect(changes.filter((one) => one.kind !== "out").map((one) => one.text).join("")).toBe(after);
  });

  it("does not compare huge texts word by word", () => {
    expect(wordChanges("a ".repeat(2000), "b ".repeat(2000))).toHaveLength(2);
  });
});
