import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import openapiTS, { astToString } from "openapi-typescript";
import { describe, expect, it } from "vitest";

const PAGE = resolve("../packages/wellkept/src/wellkept/api/page");
const LIMIT_KB = 300;

describe("types of the API", () => {
  it("are those of the server's document", async () => {
    const document = JSON.parse(readFileSync("../docs/openapi.json", "utf8")) as Record<string, unknown>;
    const fresh = astToString(await openapiTS(document as never, { defaultNonNullable: false }));
    const kept = readFileSync("src/lib/schema.d.ts", "utf8");
    // The command writes a note above.
    expect(kept.slice(kept.indexOf("export interface paths"))).toBe(fresh.slice(fresh.indexOf("export interface paths")));
  }, 60_000);
});

interface Chunk {
  file: string;
  imports?: string[];
  css?: string[];
  assets?: string[];
}

describe.runIf(existsSync(join(PAGE, ".vite/manifest.json")))("the built page", () => {
  const manifest = JSON.parse(readFileSync(join(PAGE, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>;

  function filesOf(name: string, found = new Set<string>()): Set<string> {
    const chunk = manifest[name];
    if (!chunk || found.has(chunk.file)) return found;
    for (const file of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) found.add(file);
    for (const next of chunk.imports ?? []) filesOf(next, found);
    return found;
  }

  it(`shows its first view with less than ${LIMIT_KB} KB`, () => {
    // Everything that Health needs: the page itself, its charts and the fonts.
    const fonts = readdirSync(join(PAGE, "assets")).filter((one) => one.endsWith(".woff2")).map((one) => `assets/${one}`);
    const files = new Set([...filesOf("index.html"), ...filesOf("src/parts/chart.tsx"), ...fonts]);
    const sizes = [...files].map((file) => {
      const data = readFileSync(join(PAGE, file));
      return file.endsWith(".woff2") ? data.length : gzipSync(data).length;
    });
    const total = sizes.reduce((sum, size) => sum + size, 0) / 1024;
    expect(total).toBeGreaterThan(100);
    expect(total).toBeLessThan(LIMIT_KB);
  });

  it("names no other host", () => {
    const walk = (folder: string): string[] =>
      readdirSync(folder).flatMap((one) => {
        const path = join(folder, one);
        return statSync(path).isDirectory() ? walk(path) : [path];
      });
    for (const file of walk(PAGE).filter((one) => /\.(html|css)$/.test(one))) {
      expect(readFileSync(file, "utf8"), file).not.toMatch(/(src|href|url\()=?["'(]?https?:\/\//);
    }
  });

  it("has no inline script or style, so that a strict policy fits", () => {
    const html = readFileSync(join(PAGE, "index.html"), "utf8");
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  it("brings the licences of what is in it", () => {
    const text = readFileSync(join(PAGE, "licences.txt"), "utf8");
    for (const name of ["react", "uplot", "@fontsource-variable/geist", "sigma"]) expect(text).toContain(`${name}\n\n`);
    expect(text).toContain("SIL OPEN FONT LICENSE");
  });
});
