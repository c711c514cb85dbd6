/** Memories: search as you type, filters with counts, a virtual list, and the open one beside it. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp, Check, Flag, ListFilter, Pencil, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { ago, day, number } from "@/lib/format";
import { activeFilters, FILTERS, noFilters, ORDERS, PERIODS, STATES, type FilterName } from "@/lib/filters";
import { isTyping, useKeys } from "@/lib/keys";
import { latest } from "@/lib/live";
import { BADGES } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { badgeCounts, useFacets, useHealth, useMemoryRows, type Facets, type Row } from "@/lib/queries";
import { change, useRoute } from "@/lib/router";
import { useStore } from "@/lib/store";
import { termsOf } from "@/lib/text";
import { Badge, Button, cx, Empty, Failure, GivenBar, Skeleton, Statement, useNow, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Detail, isCorrected } from "@/parts/detail";
import { MemoryHead } from "@/parts/memory-line";
import { FirstDay } from "./health";

export default function Memories() {
  const { id } = useRoute();
  const wide = useWide(1100);
  return (
    <div className="flex h-full">
      {(wide || !id) && <List />}
      {(wide || id) && (
        <section className={cx("min-w-0 flex-1 overflow-auto bg-surface", wide && "border-l border-line")} aria-label={id}>
          {id ? <Boundary of={id}><Detail key={id} name={id} onClose={() => change({}, { id: "", replace: false })} /></Boundary> : <NothingOpen />}
        </section>
      )}
    </div>
  );
}

function NothingOpen() {
  const { t } = useTranslation();
  return <div className="mx-auto max-w-[720px] px-7 pt-16 text-ink3"><p>{t("memories.pick")}</p></div>;
}

function List() {
  const { t } = useTranslation();
  const { id, params } = useRoute();
  const rows = useMemoryRows();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const filterKey = params.toString();
  const [pickedIn, setPickedIn] = useState(filterKey);
  if (pickedIn !== filterKey) {
    setPickedIn(filterKey);
    setPicked(new Set());
  }
  const toggle = (one: string) => setPicked((before) => {
    const after = new Set(before);
    if (!after.delete(one)) after.add(one);
    return after;
  });
  return (
    <section aria-label={t("nav.memories")} className="flex h-full w-[560px] shrink-0 flex-col wide:w-[700px] max-panes:w-full">
      <h1 className="sr-only">{t("nav.memories")}</h1>
      <Filters total={rows.total} tookMs={rows.tookMs} found={rows.isSearch ? rows.rows : null} />
      {picked.size > 0 && <BulkBar picked={picked} rows={rows.rows} onDone={() => setPicked(new Set())} />}
      <NewRows onShow={rows.retry} />
      {rows.isPending
        ? <div className="px-3.5"><Skeleton rows={6} /></div>
        : rows.error && !rows.rows.length
          ? <div className="p-3.5"><Failure error={rows.error} onRetry={rows.retry} /></div>
          : rows.rows.length === 0
            ? <NoRows />
            : <Rows rows={rows.rows} total={rows.total} open={id} picked={picked} onPick={toggle} more={rows.more} />}
    </section>
  );
}

/** New memories wait here: nothing moves under the pointer. */
function NewRows({ onShow }: { onShow: () => void }) {
  const { t } = useTranslation();
  const news = useStore(latest);
  const [seen, setSeen] = useState(() => news[0]?.number ?? 0);
  const count = news.filter((one) => one.kind === "memory_stored" && one.number > seen).length;
  if (!count) return null;
  return (
    <div className="flex justify-center border-b border-line py-2">
      <button
        type="button"
        onClick={() => {
          setSeen(news[0]?.number ?? 0);
          onShow();
        }}
        className="flex items-center gap-2 rounded-full bg-ink px-3.5 py-1 font-medium text-bg"
      >
        <ArrowUp size={14} aria-hidden />{t("memories.new", { count })}
      </button>
    </div>
  );
}

function NoRows() {
  const { t } = useTranslation();
  const { params } = useRoute();
  const total = useHealth().data?.totals.total ?? 0;
  const q = params.get("q") ?? "";
  if (total === 0 && !q && activeFilters(params).length === 0) return <div className="px-5"><FirstDay /></div>;
  return (
    <div className="px-5">
      <Empty
        title={q ? t("empty.search", { query: q }) : t("empty.filter")}
        actions={
          <>
            {params.get("state") !== "any" && <Button onClick={() => change({ state: "any" })}>{t("empty.retired")}</Button>}
            {activeFilters(params).length > 0 && <Button onClick={() => change(noFilters())}>{t("empty.clear")}</Button>}
            {q && <Button onClick={() => overlay.set({ kind: "teach", text: q })}>{t("empty.teach")}</Button>}
          </>
        }
      >
        <p>{t("empty.searched", { total: number(total), filters: activeFilters(params).length })}</p>
      </Empty>
    </div>
  );
}

function Filters({ total, tookMs, found }: { total: number; tookMs: number | null; found: readonly Row[] | null }) {
  const { t } = useTranslation();
  const { params } = useRoute();
  const facets = useFacets();
  const [more, setMore] = useState(false);
  const active = activeFilters(params);
  const first: FilterName[] = ["state", "module", "source", "since"];
  const rest = FILTERS.filter((name) => name !== "badge" && !first.includes(name));
  const shown = more ? [...first, ...rest] : [...first, ...rest.filter((name) => active.includes(name))];
  const badge = params.get("badge");
  const searched = found !== null;
  const types = found ? badgeCounts({ types: found.map((one) => ({ value: one.type, count: 1 })) }) : badgeCounts(facets);
  const counts = BADGES.map((one) => ({ badge: one, count: types[one] ?? 0 })).filter((one) => one.count > 0 || one.badge === badge);
  const every = counts.reduce((sum, one) => sum + one.count, 0);
  return (
    <div className="border-b border-line px-3.5 pt-2.5 pb-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1" role="group" aria-label={t("filter.badge")}>
        <button type="button" aria-pressed={!badge} onClick={() => change({ badge: null })} className={cx("min-h-6", !badge ? "font-semibold" : "text-ink2")}>{t("memories.all", { count: params.get("state") === "diary" ? total : every })}</button>
        {counts.map((one) => (
          <button key={one.badge} type="button" aria-pressed={badge === one.badge} onClick={() => change({ badge: badge === one.badge ? null : one.badge })} className={cx("flex min-h-6 items-center gap-1.5 rounded-control", badge === one.badge && "bg-selected pr-2 font-semibold")}>
            <Badge type={one.badge} /><span className="text-ink2">{number(one.count)}</span>
          </button>
        ))}
      </div>
      <div className="mt-2 flex flex-wrap items-center gap-1.5">
        {shown.map((name) => <FilterChip key={name} name={name} options={optionsOf(name, facets)} value={params.get(name) ?? ""} />)}
        {!more && <button type="button" onClick={() => setMore(true)} className="flex h-6 items-center gap-1.5 rounded-control border border-field px-2 text-small text-ink2 hover:bg-selected max-tabs:h-9"><ListFilter size={13} aria-hidden />{t("filter.more", { count: rest.length })}</button>}
        <span className="ml-auto flex items-center gap-2 text-small text-ink3">
          {searched ? <>{t("memories.best")}{tookMs !== null && <>, {number(tookMs)} ms</>}</> : <FilterChip name="order" options={ORDERS.map((value) => ({ value, count: null }))} value={params.get("order") ?? "newest"} />}
        </span>
      </div>
    </div>
  );
}

interface Option {
  value: string;
  count: number | null;
}

const FACET = { module: "modules", source: "sources", band: "confidence", methodology: "methodologies", tag: "tags", file: "files" } as const;

function optionsOf(name: FilterName, facets: Facets | undefined): readonly Option[] {
  if (name === "state") return STATES.map((value) => ({ value, count: stateCount(value, facets) }));
  if (name === "since") return PERIODS.map((value) => ({ value, count: null }));
  const facet = name in FACET ? FACET[name as keyof typeof FACET] : null;
  return (facet ? (facets?.[facet] ?? []) : []).filter((one) => one.value && one.count > 0);
}

function stateCount(state: string, facets: Facets | undefined): number | null {
  const of = (values: Facets["review"] | undefined, value: string) => values?.find((one) => one.value === value)?.count ?? 0;
  switch (state) {
    case "review": return of(facets?.review, "waiting");
    case "verified": return of(facets?.review, "confirmed");
    case "stale": return of(facets?.state, "stale");
    case "archived": return of(facets?.state, "archived");
    case "closed": return of(facets?.validity, "closed");
    default: return null;
  }
}

/** A filter as a chip around a native select: works with every keyboard, reader and phone. */
function FilterChip({ name, options, value }: { name: FilterName | "order"; options: readonly Option[]; value: string }) {
  const { t } = useTranslation();
  const word = (one: string): string => {
    if (name === "state") return t(`state_.${one || "open"}` as "state_.open");
    if (name === "since") return one ? t(`period.${one}` as "period.7d") : t("filter.any.since");
    if (name === "order") return t(`order.${one}` as "order.newest");
    if (name === "source") return one ? t(`source.${one}` as "source.imported") : t("filter.any.source");
    if (name === "band") return one ? t("filter.band", { dots: one }) : t("filter.any.band");
    return one || t(`filter.any.${name}`);
  };
  const known = options.some((one) => one.value === value) ? options : value ? [{ value, count: null }, ...options] : options;
  const on = name === "order" ? false : Boolean(value) || name === "state";
  return (
    <span className={cx("relative inline-flex h-6 max-w-[190px] items-center gap-1 rounded-control border px-2 text-small max-tabs:h-9", on ? "border-ink bg-ink text-bg" : name === "order" ? "border-transparent text-ink2" : "border-field text-ink2 hover:bg-selected", "has-focus-visible:outline-2 has-focus-visible:outline-offset-2")}>
      <span className="truncate">{word(value)}</span>
      {Boolean(value) && name !== "order" && <X size={12} aria-hidden />}
      <select
        aria-label={t(`filter.name.${name}`)}
        value={value}
        onChange={(event) => change({ [name]: event.target.value === "newest" ? null : event.target.value })}
        className="absolute inset-0 cursor-pointer opacity-0"
      >
        {name !== "order" && <option value="">{word("")}</option>}
        {known.map((one) => <option key={one.value} value={one.value}>{word(one.value)}{one.count === null ? "" : ` (${number(one.count)})`}</option>)}
      </select>
    </span>
  );
}

function BulkBar({ picked, rows, onDone }: { picked: ReadonlySet<string>; rows: readonly Row[]; onDone: () => void }) {
  const { t } = useTranslation();
  const actions = useActions();
  const chosen = rows.filter((one) => picked.has(one.id));
  const run = (action: () => void) => () => {
    action();
    onDone();
  };
  return (
    <div role="toolbar" aria-label={t("memories.picked", { count: picked.size })} className="flex flex-wrap items-center gap-2 border-b border-line bg-selected px-3.5 py-2">
      <b className="font-semibold">{t("memories.picked", { count: picked.size })}</b>
      <span className="flex-1" />
      <Button onClick={run(() => actions.confirm(chosen))}>{t("action.confirm")}</Button>
      <Button onClick={run(() => actions.archive(chosen))}>{t("action.archive")}</Button>
      <Button kind="danger" onClick={run(() => actions.remove(chosen))}>{t("action.delete")}</Button>
      <Button kind="quiet" onClick={onDone}>{t("action.cancel")}</Button>
    </div>
  );
}

function Rows({ rows, total, open, picked, onPick, more }: { rows: readonly Row[]; total: number; open: string; picked: ReadonlySet<string>; onPick: (id: string) => void; more: () => void }) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const { params } = useRoute();
  const terms = useMemo(() => termsOf(params.get("q") ?? ""), [params]);
  const asked = params.toString();
  // Other questions, other rows: they are read from the first one on.
  useEffect(() => scroller.current?.scrollTo({ top: 0 }), [asked]);
  // eslint-disable-next-line react-hooks/incompatible-library -- the list is not memoised
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 106,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 8,
    initialRect: { width: 560, height: 900 },
  });
  const items = list.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 12) more();
  }, [last, rows.length, more]);

  const at = rows.findIndex((one) => one.id === open);
  const actions = useActions();
  const [focused, setFocused] = useState(-1);
  const current = focused >= 0 ? focused : at;
  const move = (step: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, current + step));
    list.scrollToIndex(next, { align: "auto" });
    setFocused(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus({ preventScroll: true }));
    const row = rows[next];
    if (open && row) change({}, { id: row.id });
  };
  const on = (run: (row: Row) => void) => () => {
    const row = rows[current];
    if (row) run(row);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    arrowdown: (event) => { if (!isTyping(event.target)) move(1); },
    arrowup: (event) => { if (!isTyping(event.target)) move(-1); },
    x: on((row) => onPick(row.id)),
    y: on((row) => actions.confirm([row])),
    e: on((row) => overlay.set({ kind: "correct", memory: row })),
    f: on((row) => actions.flag(row)),
    escape: () => change({}, { id: "" }),
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto" onFocus={(event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
      if (row) setFocused(Number(row.dataset["row"]));
    }}>
      <ul aria-label={t("nav.memories")} className="relative" style={{ height: list.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          return row && (
            <li key={item.key} ref={list.measureElement} data-index={item.index} aria-setsize={total} aria-posinset={item.index + 1} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
              <Boundary of={row.id}><Card row={row} index={item.index} open={row.id === open} picked={picked.has(row.id)} onPick={() => onPick(row.id)} terms={terms} /></Boundary>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** The parts of a score in words, strongest first. */
function partsText(row: Row): string {
  return (row.parts ?? []).toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).map((one) => `${one.name} ${one.effect > 0 ? "+" : ""}${one.effect.toFixed(2)}`).join(", ");
}

function Card({ row, index, open, picked, onPick, terms }: { row: Row; index: number; open: boolean; picked: boolean; onPick: () => void; terms: readonly string[] }) {
  const { t } = useTranslation();
  const now = useNow();
  const actions = useActions();
  const gone = actions.goneOf(row.id);
  if (gone) {
    return (
      <div className="flex min-h-[92px] items-center gap-3 border-b border-dashed border-edge px-3.5 text-ink2">
        <Flag size={15} aria-hidden /><span className="flex-1">{gone.text}</span>
        <Button keyName="z" onClick={gone.undo}>{t("action.undo")}</Button>
      </div>
    );
  }
  const [file, ...files] = row.files;
  const used = row.access_count;
  const show = () => change({}, { id: row.id, replace: false });
  const act = (run: () => void) => (event: React.MouseEvent) => {
    event.stopPropagation();
    run();
  };
  return (
    <article
      data-row={index}
      tabIndex={open || index === 0 ? 0 : -1}
      aria-label={row.content.slice(0, 120)}
      aria-current={open ? "true" : undefined}
      onClick={show}
      onKeyDown={(event) => { if (event.key === "Enter" && event.target === event.currentTarget) show(); }}
      className={cx("group relative cursor-pointer border-b border-line px-3.5 pt-2.5 pb-2.5 -outline-offset-2 hover:bg-selected", open && "bg-surface shadow-[inset_3px_0_0_var(--color-ink)] hover:bg-surface", picked && "bg-selected")}
    >
      <div className="flex items-start gap-2">
        <input type="checkbox" checked={picked} onChange={onPick} onClick={(event) => event.stopPropagation()} aria-label={t("memories.pickOne")} tabIndex={-1} className={cx("mt-0.5 size-4 shrink-0 accent-ink", !picked && "hidden group-hover:block group-focus-within:block")} />
        <div className="min-w-0 flex-1">
          <MemoryHead of={{ type: row.type, source: row.source, session_id: row.session_id, corrected: isCorrected(row), work_unit: row.work_unit?.label ?? null }} confidence={row.confidence}>
            {actions.isSaving(row.id) && <span className="text-small text-ink3">{t("state.saving")}</span>}
            {row.needs_review && <span className="rounded-full border border-ink px-2 text-meta leading-[17px] font-medium">{t("memories.review")}</span>}
            {row.valid_to && <span className="text-small text-red">{t("memories.retired")}</span>}
            {row.stale_at && <span className="text-small text-warn">{t("memories.stale")}</span>}
          </MemoryHead>
          <p className={cx("mt-1.5 line-clamp-3 text-list max-tabs:text-[0.9375rem]", row.valid_to && "line-through decoration-red")}><Statement text={row.content} terms={terms} /></p>
          <div className="mt-1.5 flex items-center gap-3 text-small text-ink2">
            {file ? <span className="truncate font-mono text-meta text-ink3">{file}{files.length > 0 && ` +${files.length}`}</span> : <span className="truncate text-ink3">{row.modules[0] ?? row.tags[0] ?? ""}</span>}
            <span className="flex-1" />
            {row.score !== undefined && <span className="text-ink3" title={partsText(row)}>{row.score.toFixed(2)}</span>}
            <span className="flex shrink-0 items-center gap-2"><GivenBar count={used} />{used > 0 ? t("memories.used", { count: used }) : t("memories.notUsed")}</span>
            <time className="w-12 shrink-0 text-right" dateTime={row.created_at} title={day(row.created_at)}>{ago(row.created_at, now)}</time>
          </div>
        </div>
      </div>
      <div className="absolute right-3 bottom-1.5 hidden gap-1.5 group-hover:flex max-tabs:group-hover:hidden">
        <Button tabIndex={-1} onClick={act(() => actions.confirm([row]))} title={t("action.confirm")} aria-label={t("action.confirm")} icon={<Check size={14} />}>Y</Button>
        <Button tabIndex={-1} onClick={act(() => overlay.set({ kind: "correct", memory: row }))} title={t("action.correct")} aria-label={t("action.correct")} icon={<Pencil size={14} />}>E</Button>
        <Button tabIndex={-1} onClick={act(() => actions.flag(row))} title={t("action.flag")} aria-label={t("action.flag")} icon={<Flag size={14} />}>F</Button>
      </div>
    </article>
  );
}

