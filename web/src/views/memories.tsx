/** Memories: search as you type, filters with counts, a virtual list, and the open one beside it. */
import { ArrowUp } from "lucide-react";
import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { activeFilters, noFilters } from "@/lib/filters";
import { number } from "@/lib/format";
import { latest } from "@/lib/live";
import { overlay } from "@/lib/overlay";
import { useHealth, useMemoryRows, type Row } from "@/lib/queries";
import { change, useRoute } from "@/lib/router";
import { useStore } from "@/lib/store";
import { Button, cx, Empty, Failure, Skeleton, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Detail } from "@/parts/detail";
import { Filters } from "@/parts/memory-filters";
import { Rows } from "@/parts/memory-rows";
import { FirstDay } from "./health";

export default function Memories() {
  const { id: named, params } = useRoute();
  const wide = useWide(1100);
  const first = useMemoryRows().rows[0]?.id ?? "";
  // Beside the list something is open; while one searches it stays as it is, so that typing is quick.
  const id = named || (wide && !params.get("q") ? first : "");
  return (
    <div className="flex h-full">
      {(wide || !id) && <List open={id} />}
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

function List({ open }: { open: string }) {
  const { t } = useTranslation();
  const { params } = useRoute();
  const rows = useMemoryRows();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const filterKey = params.toString();
  const [pickedIn, setPickedIn] = useState(filterKey);
  if (pickedIn !== filterKey) {
    setPickedIn(filterKey);
    setPicked(new Set());
  }
  const toggle = useCallback((one: string) => setPicked((before) => {
    const after = new Set(before);
    if (!after.delete(one)) after.add(one);
    return after;
  }), []);
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
            : <Rows rows={rows.rows} total={rows.total} open={open} picked={picked} onPick={toggle} more={rows.more} />}
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
