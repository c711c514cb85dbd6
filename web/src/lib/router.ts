/** Where the page is: a view, an open record and filters, all in the URL fragment.

The fragment never reaches the server, so no log holds what was searched.
*/
import { useSyncExternalStore } from "react";

export const VIEWS = [
  "next", "pages", "health", "memories", "review", "sessions", "map", "recipes", "skills", "chat", "settings",
] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  /** The open record; empty when none is. */
  id: string;
  params: URLSearchParams;
}

export type Params = Record<string, string | null | undefined>;

export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/");
  const view = VIEWS.find((one) => one === first) ?? "next";
  return { view, id: decode(rest.join("/")), params: new URLSearchParams(search) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address; the project stays the one that is shown. */
export function href(view: View, id = "", params: Params = {}): string {
  const search = new URLSearchParams();
  const project = current.params.get("project");
  if (project) search.set("project", project);
  assign(search, params);
  const text = search.toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${text ? `?${text}` : ""}`;
}

export function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  refresh();
}

/** Change filters or the open record of the view that is shown. */
export function change(params: Params, { id, replace = true }: { id?: string; replace?: boolean } = {}): void {
  const search = new URLSearchParams(current.params);
  assign(search, params);
  const text = search.toString();
  const open = id ?? current.id;
  go(`#/${current.view}${open ? `/${encodeURIComponent(open)}` : ""}${text ? `?${text}` : ""}`, { replace });
}

function assign(search: URLSearchParams, params: Params): void {
  for (const [name, value] of Object.entries(params)) {
    if (value) search.set(name, value);
    else search.delete(name);
  }
}

let current = parseHash(location.hash);
const listeners = new Set<() => void>();

function refresh(): void {
  current = parseHash(location.hash);
  for (const listener of listeners) listener();
}

addEventListener("popstate", refresh);
addEventListener("hashchange", refresh);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function route(): Route {
  return current;
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, route);
}
