/** The filters of the memory list: badges with counts, and a chip for each filter. */
import { ListFilter, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { activeFilters, FILTERS, ORDERS, PERIODS, STATES, type FilterName } from "@/lib/filters";
import { number } from "@/lib/format";
import { BADGES } from "@/lib/memory";
import { badgeCounts, useFacets, type Facets, type Row } from "@/lib/queries";
import { change, useRoute } from "@/lib/router";
import { Badge, cx } from "./basics";

export function Filters({ total, tookMs, found }: { total: number; tookMs: number | null; found: readonly Row[] | null }) {
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
        {(more || params.get("as_of")) && <AsOf value={params.get("as_of") ?? ""} />}
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

/** What was held true on a day. */
function AsOf({ value }: { value: string }) {
  const { t } = useTranslation();
  return (
    <label className={cx("inline-flex h-6 items-center gap-1.5 rounded-control border px-2 text-small max-tabs:h-9", value ? "border-ink bg-ink text-bg" : "border-field text-ink2")}>
      {t("history.asOf")}
      <input type="date" value={value} max={new Date().toISOString().slice(0, 10)} onChange={(event) => change({ as_of: event.target.value })} className="bg-transparent" />
    </label>
  );
}
