/** The rows of the memory list: only those on the screen are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { Check, Flag, Pencil } from "lucide-react";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { ago, day } from "@/lib/format";
import { isTyping, useKeys } from "@/lib/keys";
import { overlay } from "@/lib/overlay";
import type { Row } from "@/lib/queries";
import { change, useRoute } from "@/lib/router";
import { termsOf } from "@/lib/text";
import { Button, cx, GivenBar, Statement, useNow } from "./basics";
import { Boundary } from "./boundary";
import { isCorrected } from "./detail";
import { MemoryHead } from "./memory-line";

export function Rows({ rows, total, open, picked, onPick, more }: { rows: readonly Row[]; total: number; open: string; picked: ReadonlySet<string>; onPick: (id: string) => void; more: () => void }) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const { params } = useRoute();
  const terms = useMemo(() => termsOf(params.get("q") ?? ""), [params]);
  const asked = params.toString();
  // Other questions, other rows: they are read from the first one on.
  useEffect(() => void scroller.current?.scrollTo({ top: 0 }), [asked]);
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
              <Boundary of={row.id}><Card row={row} index={item.index} open={row.id === open} picked={picked.has(row.id)} onPick={onPick} terms={terms} /></Boundary>
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

interface CardOf {
  row: Row;
  index: number;
  open: boolean;
  picked: boolean;
  onPick: (id: string) => void;
  terms: readonly string[];
}

/** Drawn again only when it changed: a scroll draws the list many times a second. */
const Card = memo(function Card({ row, index, open, picked, onPick, terms }: CardOf) {
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
        <input type="checkbox" checked={picked} onChange={() => onPick(row.id)} onClick={(event) => event.stopPropagation()} aria-label={t("memories.pickOne")} tabIndex={-1} className={cx("mt-0.5 size-4 shrink-0 accent-ink", !picked && "hidden group-hover:block group-focus-within:block")} />
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
});
