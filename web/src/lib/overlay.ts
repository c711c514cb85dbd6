/** What floats above the view: the palette, keys, dialogs. One at a time, loaded when first opened. */
import type { Schema } from "./api";
import { makeStore } from "./store";

type Memory = Schema["Memory"];

export type Overlay =
  | { kind: "palette" }
  | { kind: "keys" }
  | { kind: "more" }
  | { kind: "teach"; file?: string; text?: string }
  | { kind: "correct"; memory: Memory; reason?: string }
  | { kind: "recipe"; memory?: Memory };

export const overlay = makeStore<Overlay | null>(null);

export function closeOverlay(): void {
  overlay.set(null);
}
