/** Memory content is hostile text: this turns it into pieces that are drawn as text. */

export interface Piece {
  kind: "text" | "code" | "mark";
  text: string;
  hit?: boolean;
}

// Control, format and default-ignorable characters hide text or change its order.
const HIDDEN = /[\p{Cc}\p{Cf}\p{DI}]/u;
const HIDDEN_ALL = /([\p{Cc}\p{Cf}\p{DI}])/gu;
const PLAIN = new Set(["\n", "\t", "\r", "\u{fe0f}"]);

/** How a hidden character is drawn: its code point. */
export function markOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

export function hasHidden(text: string): boolean {
  return [...text].some((one) => HIDDEN.test(one) && !PLAIN.has(one));
}

/** Text as pieces: `code` between backticks, hidden characters as marks, words of a query as hits. */
export function piecesOf(text: string, terms: readonly string[] = []): Piece[] {
  const hits = hitPattern(terms);
  const pieces: Piece[] = [];
  text.split(/`([^`\n]+)`/).forEach((part, index) => {
    const kind = index % 2 ? "code" : "text";
    for (const one of part.split(HIDDEN_ALL)) {
      if (!one) continue;
      if (HIDDEN.test(one) && one.length <= 2 && !PLAIN.has(one)) pieces.push({ kind: "mark", text: markOf(one) });
      else if (kind === "code") pieces.push(hits?.test(one) ? { kind, text: one, hit: true } : { kind, text: one });
      else pieces.push(...withHits(one, hits));
    }
  });
  return pieces;
}

function withHits(text: string, hits: RegExp | null): Piece[] {
  if (!hits) return [{ kind: "text", text }];
  return text
    .split(hits)
    .map((part, index): Piece => (index % 2 ? { kind: "text", text: part, hit: true } : { kind: "text", text: part }))
    .filter((piece) => piece.text);
}

function hitPattern(terms: readonly string[]): RegExp | null {
  const wanted = terms.filter((one) => one.length > 1).map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return null;
  wanted.sort((a, b) => b.length - a.length);
  return new RegExp(`((?<![\\p{L}\\p{N}])(?:${wanted.join("|")}))`, "iu");
}

/** The words of a query that are worth showing in what was found. */
export function termsOf(query: string): string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [])];
}

/** The words that a correction takes out and puts in, for showing both texts as one. */
export interface Change {
  kind: "same" | "out" | "in";
  text: string;
}

export function wordChanges(before: string, after: string): Change[] {
  const a = words(before);
  const b = words(after);
  if (a.length * b.length > 250_000) return [{ kind: "out", text: before }, { kind: "in", text: after }];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: Change[] = [];
  const add = (kind: Change["kind"], text = "") => {
    const last = found.at(-1);
    if (last?.kind === kind) last.text += text;
    else found.push({ kind, text });
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", a[i]);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) add("out", a[i++]);
    else add("in", b[j++]);
  }
  return found;
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}
