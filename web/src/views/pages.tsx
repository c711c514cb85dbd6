/** Project pages: what a newcomer reads first, each line a record with its source. */
import { FileDown, FolderTree, Gavel, Pencil, Scale, SquareTerminal, TriangleAlert, Users, type LucideIcon } from "lucide-react";
import { useState } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { ApiError, get, post, type Schema } from "@/lib/api";
import { clock, day, number } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { useProject } from "@/lib/queries";
import { change, href, useRoute } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Button, cx, Empty, Failure, Skeleton, Statement } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Difference } from "@/parts/correct";
import { SourceChip } from "./next";

type Page = Schema["ProjectPage"];
type Line = Page["lines"][number];
const ICON: Record<string, LucideIcon> = { layout: FolderTree, commands: SquareTerminal, rules: Scale, decisions: Gavel, traps: TriangleAlert, people: Users };

export default function Pages() {
  const { t } = useTranslation();
  const project = useProject();
  const { id, params } = useRoute();
  const actions = useActions();
  const asOf = params.get("as_of") ?? "";
  const found = useQuery({
    queryKey: ["pages", project, asOf],
    queryFn: ({ signal }) => get("/api/pages", { query: asOf ? { as_of: asOf } : {}, signal }),
    placeholderData: keepPreviousData,
  });
  const write = () => void post("/api/page/write", { body: {} }).then((done) => {
    toast(t("pages.written", { folder: done.folder, taken: number(done.taken) }) + (done.conflicts.length ? ` ${t("pages.conflicts", { count: done.conflicts.length })}` : "") + (done.ignored ? "" : ` ${t("pages.notIgnored")}`));
    void found.refetch();
  }, actions.failed);
  useKeys({ o: write });
  const pages = found.data?.pages ?? [];
  const page = pages.find((one) => one.name === id) ?? pages[0];
  return (
    <div className="grid min-h-full grid-cols-[212px_minmax(0,1fr)] max-tabs:grid-cols-1">
      <nav aria-label={t("nav.pages")} className="border-r border-line px-2.5 py-5 max-tabs:flex max-tabs:gap-1 max-tabs:overflow-x-auto max-tabs:border-r-0 max-tabs:border-b max-tabs:px-4 max-tabs:py-2">
        <p className="px-2.5 pb-2 text-small text-ink3 max-tabs:hidden">{t("pages.first")}</p>
        {pages.map((one) => {
          const Icon = ICON[one.name] ?? FolderTree;
          const here = one === page;
          return (
            <a key={one.name} href={href("pages", one.name, { as_of: asOf })} aria-current={here ? "page" : undefined}
              className={cx("flex min-h-[31px] items-center gap-2.5 rounded-control px-2.5 whitespace-nowrap max-tabs:min-h-11", here ? "bg-selected font-semibold" : "text-ink2 hover:bg-selected")}>
              <Icon size={15} aria-hidden /><span className="flex-1">{t(`pages.name.${one.name}`)}</span><span className="text-ink3">{number(one.lines.length)}</span>
            </a>
          );
        })}
        <p className="px-2.5 pt-3 text-small text-ink3 max-tabs:hidden">{t("pages.same")}</p>
      </nav>
      <div className="mx-auto w-full max-w-[860px] px-8 py-6 max-tabs:px-4">
        {found.isPending && <Skeleton />}
        {found.error && <Failure error={found.error} onRetry={() => void found.refetch()} />}
        {page && (
          <>
            <div className="flex flex-wrap items-center gap-2">
              <h1 className="flex-1 font-serif text-verdict font-semibold">{t(`pages.name.${page.name}`)}</h1>
              <label className="flex items-center gap-2 text-ink2">{t("pages.asOf")}<input type="date" value={asOf} onChange={(event) => change({ as_of: event.target.value })} className="min-h-[30px] rounded-control border border-field bg-surface px-2 max-tabs:min-h-11" /></label>
              <Button icon={<FileDown size={15} aria-hidden />} keyName="o" onClick={write}>{t("pages.write")}</Button>
            </div>
            <p className="mt-1 text-ink2">{t(`pages.about.${page.name}`)}</p>
            {page.lines.length === 0 && <Empty title={t("pages.none")}><p>{t(`pages.filled.${page.name}`)}</p></Empty>}
            <ul className="mt-4">{page.lines.map((one) => <li key={one.id || one.text}><Boundary of={one.id || one.text}><PageLine line={one} page={page.name} isPast={Boolean(asOf)} onSaved={() => void found.refetch()} /></Boundary></li>)}</ul>
          </>
        )}
      </div>
    </div>
  );
}

function PageLine({ line, page, isPast, onSaved }: { line: Line; page: string; isPast: boolean; onSaved: () => void }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  const [whole, setWhole] = useState(false);
  const isRow = page === "layout" || page === "commands";
  const isLong = line.text.length > 420;
  const text = isLong && !whole ? `${line.text.slice(0, 400)}…` : line.text;
  if (editing) return <EditLine line={line} onDone={(saved) => { setEditing(false); if (saved) onSaved(); }} />;
  return (
    <article className={cx("group border-t border-line px-2 py-3", isRow && line.label && "grid grid-cols-[minmax(120px,220px)_minmax(0,1fr)] gap-x-4 max-tabs:grid-cols-1")}>
      {line.label && <h2 className={cx("break-words", page === "layout" ? "font-mono text-small font-semibold" : "font-semibold")}>{page === "commands" ? t(`pages.purpose.${line.label.replace(" ", "_") as "test"}`) : line.label}</h2>}
      <div className="min-w-0">
        {line.text
          ? <p className={cx("break-words whitespace-pre-line", page === "commands" ? "font-mono text-list" : isRow && line.label ? "text-list" : "font-serif text-prompt leading-snug")}>{line.quoted && page !== "commands" ? <>“<Statement text={text} />”</> : <Statement text={text} />}</p>
          : <p className="text-ink3">{t("pages.saysNothing")} <button type="button" onClick={() => setEditing(true)} className="font-semibold text-ink underline max-tabs:min-h-11">{t("pages.writeLine")}</button></p>}
        {isLong && <button type="button" className="text-small text-ink2 underline max-tabs:min-h-11" onClick={() => setWhole(!whole)}>{whole ? t("next.few") : t("next.all")}</button>}
        <p className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-small text-ink2">
          <SourceChip source={line.source} />
          {page === "commands" && <span className={cx(line.seen === "passed" && "text-patn", line.seen === "failed" && "text-red")}>{!line.seen ? t("pages.notRun") : line.seen_at ? t(line.seen === "passed" ? "pages.passed" : "pages.failed", { at: `${day(line.seen_at)}, ${clock(line.seen_at)}` }) : line.seen}</span>}
          {!isRow && line.files.slice(0, 2).filter((one) => !line.source.where.startsWith(one)).map((one) => <a key={one} href={href("map", one)} className="font-mono hover:underline">{one}</a>)}
          {!isPast && line.id && line.text && <span className="ml-auto flex gap-1 panes:opacity-0 panes:group-focus-within:opacity-100 panes:group-hover:opacity-100">
            <Button kind="quiet" icon={<Pencil size={13} aria-hidden />} onClick={() => setEditing(true)}>{t("action.edit")}</Button>
            <a href={href("memories", line.id)} className="inline-flex min-h-[30px] items-center rounded-control px-3 hover:bg-selected max-tabs:min-h-11">{t("action.open")}</a>
          </span>}
        </p>
        {line.older.map((one) => (
          <details key={one.id} className="mt-1 text-ink2">
            <summary className="cursor-pointer">{t("pages.amends", { day: day(one.since) })}</summary>
            <p className="mt-1 border-l border-edge pl-3 font-serif text-list"><Statement text={one.text} /></p>
            <p className="mt-1 pl-3 text-small"><SourceChip source={one.source} /> {one.until && t("pages.inForce", { from: day(one.since), to: day(one.until) })}</p>
          </details>
        ))}
      </div>
    </article>
  );
}

/** The line as it should read; what is typed is never lost. */
function EditLine({ line, onDone }: { line: Line; onDone: (saved: boolean) => void }) {
  const { t } = useTranslation();
  const actions = useActions();
  const [text, setText] = useState(line.text);
  const [error, setError] = useState<unknown>(null);
  const [now, setNow] = useState("");
  const save = async () => {
    try {
      const done = await post("/api/page/edit", { body: { id: line.id, text: text.trim(), if_updated_at: line.updated_at } });
      toast(t("done.corrected"), { action: { label: t("action.undo"), isUndo: true, run: () => { actions.undo([line.id], done.undo_id ?? ""); } } });
      onDone(true);
    } catch (failed) {
      setError(failed);
      if (failed instanceof ApiError && failed.status === 409) setNow(await actions.contentOf(line.id));
    }
  };
  return (
    <form className="border-t border-line py-3" onSubmit={(event) => { event.preventDefault(); void save(); }}>
      <textarea autoFocus rows={3} value={text} aria-label={t("correct.text")} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => { if (event.key === "Escape") onDone(false); if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save(); }}
        className="w-full rounded-large border-2 border-ink bg-surface px-3.5 py-2.5 font-serif text-prompt" />
      {text !== line.text && <p className="mt-1 rounded-control bg-sunken px-3 py-2 font-serif text-list"><Difference before={line.text} after={text} /></p>}
      {now && <div className="mt-2"><p className="font-medium">{t("correct.conflict")}</p><p className="mt-1 rounded-control bg-sunken px-3 py-2 font-serif text-list"><Statement text={now} /></p></div>}
      {error !== null && !now && <div className="mt-2"><Failure error={error} /></div>}
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <span className="flex-1 text-small text-ink2">{t("pages.becomes", { day: day(line.since) })}</span>
        <Button onClick={() => onDone(false)}>{t("action.cancel")}</Button>
        <Button kind="main" type="submit" disabled={!text.trim() || text.trim() === line.text}>{t("action.save")}</Button>
      </div>
    </form>
  );
}
