/** One toast at a time: what was done, and the way back. */
import { makeStore } from "./store";

export interface Toast {
  id: number;
  text: string;
  tone: "done" | "failed";
  action?: { label: string; run: () => void; isUndo?: boolean };
}

export const TOAST_MS = 8_000;
export const toasts = makeStore<readonly Toast[]>([]);
let last = 0;

export function toast(text: string, options: Partial<Pick<Toast, "tone" | "action">> = {}): number {
  last += 1;
  const made: Toast = { id: last, text, tone: options.tone ?? "done", ...(options.action ? { action: options.action } : {}) };
  // The newest replaces what is shown, but news never push an undo away.
  const kept = made.action?.isUndo ? [] : toasts.get().filter((one) => one.action?.isUndo);
  toasts.set([...kept, made]);
  return made.id;
}

export function dismiss(id: number): void {
  toasts.set((shown) => shown.filter((one) => one.id !== id));
}

export function runUndo(): boolean {
  const shown = toasts.get().find((one) => one.action?.isUndo);
  if (!shown?.action) return false;
  dismiss(shown.id);
  shown.action.run();
  return true;
}
