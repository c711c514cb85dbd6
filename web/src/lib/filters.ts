/** Filters of the memory list: in the URL, and as the server takes them. */
import type { paths } from "./schema";
import { BADGES, DIARY, typesOf, type Badge } from "./memory";
import type { Params } from "./router";

export type MemoryQuery = NonNullable<paths["/api/list"]["get"]["parameters"]["query"]>;

export const FILTERS = ["badge", "module", "source", "since", "band", "methodology", "tag", "file", "session", "state"] as const;
export type FilterName = (typeof FILTERS)[number];

export const ORDERS = ["newest", "updated", "importance", "accessed", "oldest"] as const;
export const STATES = ["review", "verified", "stale", "archived", "closed", "any", "diary"] as const;
export const PERIODS = ["1d", "7d", "30d", "90d"] as const;

function badgeTypes(params: URLSearchParams): string[] {
  const badge = BADGES.find((one) => one === params.get("badge"));
  const isDiary = params.get("state") === "diary";
  const from: readonly Badge[] = badge ? [badge] : BADGES;
  return from.flatMap((one) => typesOf(one).filter((type) => DIARY.has(type) === isDiary));
}

/** What the URL asks of the server. "Valid now" is the usual filter. */
export function queryOf(params: URLSearchParams): MemoryQuery {
  const one = (name: FilterName) => (params.get(name) ? [params.get(name) ?? ""] : undefined);
  const state = params.get("state") ?? "";
  const bands = params.get("band");
  const query: Record<string, unknown> = {
    types: badgeTypes(params),
    modules: one("module"),
    sources: one("source"),
    tags: one("tag"),
    files: one("file"),
    sessions: one("session"),
    methodologies: one("methodology"),
    bands: bands ? [Number(bands)] : undefined,
    since: params.get("since") ?? undefined,
    as_of: params.get("as_of") ?? undefined,
    validity: state === "closed" ? "closed" : state === "any" ? "any" : "open",
    archived: state === "archived" ? true : undefined,
    needs_review: state === "review" ? true : undefined,
    user_verified: state === "verified" ? true : undefined,
    only_stale: state === "stale" ? true : undefined,
    order: ORDERS.find((name) => name === params.get("order")) ?? "newest",
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as MemoryQuery;
}

export function activeFilters(params: URLSearchParams): FilterName[] {
  return FILTERS.filter((name) => params.get(name));
}

/** Everything off: what "clear" sets. */
export function noFilters(): Params {
  return Object.fromEntries([...FILTERS, "as_of", "order"].map((name) => [name, null]));
}
