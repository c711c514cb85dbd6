/** What the views read, one hook a question. The first word of a key is what live events name. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { get, type Schema } from "./api";
import { queryOf } from "./filters";
import { bytes } from "./format";
import { badgeOf, DIARY, type Badge, type Memory } from "./memory";
import { useRoute, type View } from "./router";

const PAGE = 60;
const SIX_WEEKS = 42;

/** The project that is shown; empty is the one that the server was started in. */
export function useProject(): string {
  return useRoute().params.get("project") ?? "";
}

export function useProjects() {
  return useQuery({ queryKey: ["projects"], queryFn: ({ signal }) => get("/api/projects", { signal }), staleTime: 60_000 });
}

export function useHealth() {
  const project = useProject();
  return useQuery({
    queryKey: ["health", project],
    queryFn: ({ signal }) => get("/api/memory_health", { query: { days: SIX_WEEKS, offset_minutes: -new Date().getTimezoneOffset() }, signal }),
    placeholderData: keepPreviousData,
  });
}

interface RailFact {
  name: string;
  value: string;
  bad?: boolean;
}

/** What the rail says: counts of the places, and spool, index and clients. */
export function useRail() {
  const { t } = useTranslation();
  const health = useHealth().data;
  const skills = useSkills().data;
  const counts: Partial<Record<View, number>> = {};
  if (health) {
    counts.memories = health.totals.total;
    counts.review = health.totals.needs_review;
  }
  if (skills) counts.skills = skills.all.filter((one) => one.enabled).length;
  const { spool, index, clients } = health ?? {};
  const lacking = Math.max(0, (index?.wanted ?? 0) - (index?.vectors ?? 0));
  const connected = new Set(clients?.filter((one) => one.state === "installed").map((one) => one.client)).size;
  const facts: RailFact[] = [
    { name: t("shell.spool"), value: !spool ? t("shell.unknown") : spool.waiting_bytes ? t("shell.waiting", { size: bytes(spool.waiting_bytes) }) : t("shell.empty"), bad: Boolean(spool?.problems.length) },
    { name: t("shell.index"), value: !index ? t("shell.unknown") : !index.model_id ? t("shell.noModel") : lacking ? t("shell.lacking", { count: lacking }) : t("shell.fresh") },
    { name: t("shell.clients"), value: clients ? t("shell.connected", { count: connected }) : t("shell.unknown") },
  ];
  return { counts, facts, name: health?.name ?? "", note: health ? t("shell.methodology", { name: health.methodology.title.split(" (", 1)[0] ?? "" }) : "" };
}

export function useSkills() {
  const project = useProject();
  return useQuery({
    queryKey: ["skills", project],
    queryFn: async ({ signal }) => {
      const [list, found, stats] = await Promise.all([
        get("/api/skill/list", { signal }),
        get("/api/skill/search", { query: { limit: 50 }, signal }),
        get("/api/stats", { signal }),
      ]);
      return {
        all: list.items,
        detected: new Map(found.items.map((one) => [one.name, one.why])),
        memories: stats.total,
      };
    },
    placeholderData: keepPreviousData,
  });
}

export function useSessions(limit = 100) {
  const project = useProject();
  return useQuery({
    queryKey: ["sessions", project, limit],
    queryFn: ({ signal }) => get("/api/session/list", { query: { limit }, signal }),
    placeholderData: keepPreviousData,
  });
}

/** The session that a client works in now, if one does. */
export function useOpenSession() {
  const project = useProject();
  return useQuery({
    queryKey: ["sessions", "open", project],
    queryFn: ({ signal }) => get("/api/session/list", { query: { open_only: true, limit: 1 }, signal }),
    select: (page) => page.items[0] ?? null,
  });
}

export function useTimeline(name: string) {
  const project = useProject();
  return useQuery({
    queryKey: ["session", project, name],
    queryFn: ({ signal }) => get("/api/session/show", { query: { name }, signal }),
    enabled: Boolean(name),
  });
}

export function useMemory(name: string) {
  const project = useProject();
  return useQuery({
    queryKey: ["memory", project, name],
    queryFn: async ({ signal }) => {
      const found = (await get("/api/show", { query: { ids: [name] }, signal })).items[0];
      return found ? { ...found.memory, came_from: found.use.sessions, use: found.use.use, given: found.use.latest, silent: found.use.silent } : undefined;
    },
    enabled: Boolean(name),
  });
}

/** A memory and what it replaced, oldest first. */
export function useHistory(memory: Memory): readonly Memory[] {
  const project = useProject();
  const found = useQuery({
    queryKey: ["memory", "history", project, memory.id],
    queryFn: ({ signal }) => get("/api/show", { query: { ids: [memory.id], history: true }, signal }),
  });
  return found.data?.items[0]?.history?.versions ?? [memory];
}

/** A row of the list: a memory, and what a search says of it. */
export interface Row extends Memory {
  score?: number;
  parts?: readonly Schema["ScorePart"][];
  retrievers?: readonly string[];
}

interface RowPage {
  rows: Row[];
  total: number;
  next: string | number | null;
  tookMs: number | null;
}

async function readPage(params: URLSearchParams, q: string, at: string | number, signal: AbortSignal): Promise<RowPage> {
  const { order, ...filters } = queryOf(params);
  if (!q) {
    const page = await get("/api/list", { query: { ...filters, ...(order ? { order } : {}), limit: PAGE, cursor: String(at) }, signal });
    return { rows: page.items, total: page.total, next: page.next_cursor ?? null, tookMs: null };
  }
  const started = performance.now();
  const found = await get("/api/recall", { query: { ...filters, query: q, count_access: false, limit: PAGE, offset: Number(at) || 0 }, signal });
  const rows = found.hits.map(({ memory, score, parts, retrievers }) => ({ ...memory, score, parts, retrievers }));
  return { rows, total: found.considered, next: found.next_offset, tookMs: Math.round(performance.now() - started) };
}

/** The memories that the URL asks for. New ones wait until they are asked for. */
export function useMemoryRows() {
  const project = useProject();
  const { params } = useRoute();
  const q = useDeferredValue((params.get("q") ?? "").trim());
  const filters = JSON.stringify(queryOf(params));
  const found = useInfiniteQuery({
    queryKey: ["memories", project, q, filters],
    queryFn: ({ pageParam, signal }) => readPage(params, q, pageParam, signal),
    initialPageParam: "" as string | number,
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = useMemo(() => unique(found.data?.pages.flatMap((page) => page.rows) ?? []), [found.data]);
  const first = found.data?.pages[0];
  return { rows, total: q ? rows.length : (first?.total ?? 0), tookMs: first?.tookMs ?? null, isSearch: Boolean(q), isPending: found.isPending, error: found.error, retry: () => void found.refetch(), more };
}

function unique(rows: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter((one) => !seen.has(one.id) && seen.add(one.id));
}

export type Facets = Schema["Facets"];

/** How many memories each further filter would leave. */
export function useFacets() {
  const project = useProject();
  const { params } = useRoute();
  const filters = JSON.stringify({ ...queryOf(params), order: undefined });
  const found = useQuery({
    queryKey: ["facets", project, filters],
    queryFn: ({ signal }) => get("/api/list", { query: { ...(JSON.parse(filters) as object), count: true, labels: 60 }, signal }),
    placeholderData: keepPreviousData,
  });
  return found.data?.counts ?? undefined;
}

/** Counts of the five badges, without the diary. */
export function badgeCounts(facets: Pick<Facets, "types"> | undefined): Partial<Record<Badge, number>> {
  const counts: Partial<Record<Badge, number>> = {};
  for (const { value, count } of facets?.types ?? []) {
    if (!DIARY.has(value)) counts[badgeOf(value)] = (counts[badgeOf(value)] ?? 0) + count;
  }
  return counts;
}
