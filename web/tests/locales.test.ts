import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import en from "@/locales/en.json";
import fr from "@/locales/fr.json";
import ja from "@/locales/ja.json";
import zh from "@/locales/zh.json";

type Texts = Record<string, unknown>;

function flat(texts: Texts, before = ""): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(texts)) {
    if (typeof value === "string") found.set(`${before}${name}`, value);
    else for (const [inner, text] of flat(value as Texts, `${before}${name}.`)) found.set(inner, text);
  }
  return found;
}

const wordsOf = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((one) => one[1]).sort();
const english = flat(en);
/** Words that say the same in both languages, or that stand in another part of the sentence. */
const MAY_BE_EMPTY = new Set(["health.recallUsed"]);

describe.each([["fr", fr], ["ja", ja], ["zh", zh]] as const)("%s", (code, texts) => {
  const own = flat(texts);

  it("has every text, and no other", () => {
    expect([...own.keys()].sort()).toEqual([...english.keys()].sort());
  });

  it("has the same numbers and names in each text", () => {
    for (const [name, text] of english) {
      const said = own.get(name) ?? "";
      // "One memory" needs no number.
      const wanted = name.endsWith("_one") ? wordsOf(said).filter((one) => one === "count").length ? wordsOf(text).concat(wordsOf(text).includes("count") ? [] : ["count"]).sort() : wordsOf(text).filter((one) => one !== "count") : wordsOf(text);
      expect(wordsOf(said), name).toEqual(wanted);
      if (!MAY_BE_EMPTY.has(name)) expect(said.trim(), name).not.toBe("");
    }
  });

  it("is really translated", () => {
    const same = [...english].filter(([name, text]) => own.get(name) === text && /[a-z]{4}/.test(text) && !/^\[?\w+_auto/.test(text));
    expect(same.length, same.map(([name]) => name).join()).toBeLessThan(code === "fr" ? 40 : 8);
  });
});

describe("keys", () => {
  const walk = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? walk(join(folder, one.name)) : [join(folder, one.name)]));
  const source = walk("src").filter((one) => /\.tsx?$/.test(one) && !one.endsWith("schema.d.ts")).map((one) => readFileSync(one, "utf8")).join("\n");

  it("that are named in the source exist", () => {
    const plural = (name: string) => english.has(name) || english.has(`${name}_other`);
    const used = [...source.matchAll(/\bt\(\s*"([\w.]+)"/g)].map((one) => one[1] ?? "");
    expect(used.length).toBeGreaterThan(100);
    expect(used.filter((one) => !plural(one))).toEqual([]);
  });

  it("that exist are used", () => {
    const unused = [...english.keys()].filter((name) => {
      const plain = name.replace(/_(one|other)$/, "");
      const group = plain.slice(0, plain.lastIndexOf("."));
      return !source.includes(plain) && !source.includes(`${group}.\${`);
    });
    expect(unused).toEqual([]);
  });
});
