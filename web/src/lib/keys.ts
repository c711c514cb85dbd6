/** Keys of the page. Off while typing, except with Ctrl or Cmd; can be switched off. */
import { useEffect, useRef } from "react";
import { makeSetting } from "./store";

export const keysSetting = makeSetting<"on" | "off">("keys", "on", ["on", "off"]);

/** From a key such as `y`, `shift+y`, `mod+k` or the sequence `g h` to what it does. */
export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const SEQUENCE_MS = 900;
const layers: { keys: KeyMap; modal: boolean }[] = [];
let prefix = "";
let prefixAt = 0;

export function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key.toLowerCase();
  const mod = event.ctrlKey || event.metaKey ? "mod+" : "";
  // A shifted sign such as `?` is its own key; letters are named with shift.
  const shift = event.shiftKey && /^[a-z]$|^.{2,}$/.test(key) ? "shift+" : "";
  return `${mod}${shift}${key}`;
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Handle one event; the layer that came last goes first, and a modal one hides those below. */
export function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const name = nameOf(event);
  const withMod = name.startsWith("mod+");
  if (!withMod && (isTyping(event.target) || keysSetting.get() === "off")) return;
  const sequence = prefix && event.timeStamp - prefixAt < SEQUENCE_MS ? `${prefix} ${name}` : "";
  prefix = "";
  for (const { keys, modal } of layers.toReversed()) {
    const action = (sequence && keys[sequence]) || keys[name];
    if (action) {
      event.preventDefault();
      action(event);
      return;
    }
    if (!withMod && Object.keys(keys).some((key) => key.startsWith(`${name} `))) {
      prefix = name;
      prefixAt = event.timeStamp;
      return;
    }
    if (modal) return;
  }
}

addEventListener("keydown", handle);

export function useKeys(keys: KeyMap, { modal = false, on = true }: { modal?: boolean; on?: boolean } = {}): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  const names = Object.keys(keys).join();
  useEffect(() => {
    if (!on) return;
    const bound: KeyMap = {};
    for (const name of names ? names.split(",") : []) bound[name] = (event) => latest.current[name]?.(event);
    const layer = { keys: bound, modal };
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, [names, modal, on]);
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

/** How a key is written on this machine: `mod+k` is `Ctrl K` or `⌘ K`. */
export function label(name: string): string {
  return name
    .replaceAll("mod+", isMac ? "⌘ " : "Ctrl ")
    .replaceAll("shift+", isMac ? "⇧ " : "Shift ")
    .replace("enter", "⏎")
    .replace("escape", "Esc")
    .replace(/\b[a-z]$|\b[a-z]\b/g, (letter) => letter.toUpperCase());
}
