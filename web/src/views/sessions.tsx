/** Sessions: what happened, what the agent was given (yellow) and what came of it; live. */
import { CheckCheck, ChevronLeft, CircleCheck, CircleX, FilePen, FileSearch, Highlighter, MessageSquare, NotebookText, Sparkle, type LucideIcon } from "lucide-react";
import { Fragment, useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Schema } from "@/lib/api";
import { ago, clock, duration, isSameDay, longDay, number, percent } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { shortSession } from "@/lib/memory";
import { useSessions, useTimeline } from "@/lib/queries";
import { change, go, href, useRoute } from "@/lib/router";
import { Badge, Button, cx, Empty, Failure, Section, Skeleton, Statement, useNow, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { TriggerWords } from "@/parts/detail";
import { Outcome } from "@/parts/score-parts";

type Session = Schema["SessionRecord"];
type Timeline = Schema["SessionTimeline"];
type Entry = Timeline["entries"][number];

export default function Sessions() {
  const { id } = useRoute();
  const sessions = useSessions();
  const wide = useWide(1100);
  const items = sessions.data?.items;
  const open = id || (wide ? (items?.[0]?.id ?? "") : "");
  const at = items?.findIndex((one) => one.id === open) ?? -1;
  const move = (step: number) => {
    const next = items?.[Math.max(0, Math.min(items.length - 1, at + step))];
    if (next) change({}, { id: next.id });
  };
  useKeys({ j: () => move(1), k: () => move(-1), escape: () => change({}, { id: "" }) });
  if (sessions.isPending) return <div className="px-7"><Skeleton rows={6} /></div>;
  if (!items) return <div className="p-7"><Failure error={sessions.error} onRetry={() => void sessions.refetch()} /></div>;
  if (!items.length) return <NoSessions />;
  return (
    <div className="flex h-full">
      {(wide || !id) && <SessionList items={items} open={open} />}
      {open && <div className="min-w-0 flex-1 overflow-auto bg-surface"><Boundary of={open}><Opened name={open} /></Boundary></div>}
    </div>
  );
}

function NoSessions() {
  const { t } = useTranslation();
  return <div className="px-7 pt-8"><h1 className="sr-only">{t("nav.sessions")}</h1><Empty title={t("sessions.none")} actions={<Button onClick={() => go(href("settings", "", { part: "clients" }))}>{t("sessions.install")}</Button>}><p>{t("sessions.noneWhy")}</p></Empty></div>;
}

function SessionList({ items, open }: { items: readonly Session[]; open: string }) {
  const { t } = useTranslation();
  const now = useNow();
  return (
    <nav aria-label={t("nav.sessions")} className="w-[272px] shrink-0 overflow-auto border-r border-line pb-6 wide:w-[340px] max-panes:w-full">
      {!open && <h1 className="sr-only">{t("nav.sessions")}</h1>}
      <ol>
        {items.map((one, index) => {
          const before = items[index - 1];
          const isNewDay = !before || !isSameDay(before.started_at, one.started_at);
          return (
            <Fragment key={one.id}>
              {isNewDay && <li className="px-4 pt-4 pb-1 text-small text-ink2" aria-hidden>{isSameDay(one.started_at, now) ? t("time.today") : longDay(one.started_at)}</li>}
              <li>
                <a href={href("sessions", one.id)} aria-current={one.id === open ? "true" : undefined} className={cx("block px-4 py-2 hover:bg-selected", one.id === open && "bg-surface shadow-[inset_3px_0_0_var(--color-ink)]")}>
                  <span className="line-clamp-2 font-medium"><Statement text={one.title || t("sessions.untitled")} /></span>
                  <span className="mt-0.5 flex items-center gap-2 text-small text-ink2">
                    {!one.ended_at && <span className="size-2 rounded-full bg-patn" aria-hidden />}
                    <span className="font-mono">{shortSession(one.id)}</span>
                    <span className="truncate">{clock(one.started_at)}, {one.ended_at ? duration(one.started_at, one.last_event_at) : t("sessions.working")}</span>
                    <span className="ml-auto text-ink3">{one.observation_count > 0 && number(one.observation_count)}</span>
                  </span>
                </a>
              </li>
            </Fragment>
          );
        })}
      </ol>
    </nav>
  );
}

function Opened({ name }: { name: string }) {
  const timeline = useTimeline(name);
  if (timeline.isPending) return <div className="px-7"><Skeleton rows={6} /></div>;
  if (!timeline.data) return <div className="p-7"><Failure error={timeline.error} onRetry={() => void timeline.refetch()} /></div>;
  return (
    <div className="flex min-h-full max-panes:flex-col">
      <div className="min-w-0 flex-1"><Head view={timeline.data} /><Entries view={timeline.data} /></div>
      <Aside view={timeline.data} />
    </div>
  );
}

function Head({ view }: { view: Timeline }) {
  const { t } = useTranslation();
  const { session } = view;
  const left = view.entries.filter((one) => one.kind === "learned" && one.memory?.needs_review).length;
  return (
    <header className="sticky top-0 z-10 border-b border-line bg-surface px-7 pt-4 pb-3 max-tabs:static max-tabs:px-4">
      <div className="flex items-center gap-3 text-ink2">
        <a href={href("sessions")} className="panes:hidden" aria-label={t("nav.sessions")}><ChevronLeft size={18} /></a>
        <span className="font-mono text-small">{shortSession(session.id)}</span>
        <span className="truncate">{session.client} · {t(`phase.${view.phase}`)} · {clock(session.started_at)}{session.ended_at ? ` ${t("sessions.to")} ${clock(session.last_event_at)}` : ""}{session.branch ? ` · ${session.branch}` : ""}</span>
        <span className="flex-1" />
        {left > 0 && <Button icon={<CheckCheck size={15} aria-hidden />} onClick={() => go(href("review", session.id))}>{t("sessions.review", { count: left })}</Button>}
      </div>
      <h1 className="mt-1 font-serif text-card leading-tight font-medium"><Statement text={session.title || t("sessions.untitled")} /></h1>
      <Strip view={view} />
    </header>
  );
}

/** The whole session on one line: it fits any length. */
function Strip({ view }: { view: Timeline }) {
  const { t } = useTranslation();
  const start = new Date(view.session.started_at).getTime();
  const end = Math.max(new Date(view.session.last_event_at).getTime(), ...view.entries.map((one) => new Date(one.at).getTime()), start + 60_000);
  const place = (at: string | number) => `${Math.max(0, Math.min(99.4, (100 * (new Date(at).getTime() - start)) / (end - start)))}%`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => start + share * (end - start));
  return (
    <div className="mt-3">
      <div className="relative h-11" aria-hidden>
        <span className="absolute inset-x-0 top-[22px] h-px bg-edge" />
        {view.entries.map((one, index) => {
          const left = place(one.at);
          if (one.kind === "given") return <span key={index} className="absolute top-0.5 w-[6px] rounded-[2px] border border-given-edge bg-given-bar" style={{ left, height: 14 + Math.min(16, 4 * (one.given?.lines.length ?? 1)) }} />;
          if (one.kind === "prompt") return <span key={index} className="absolute top-[34px] size-2 rounded-full bg-ink" style={{ left }} />;
          const mark = toneOf(one);
          if (mark === "failed") return <span key={index} className="absolute top-[34px] size-2 rotate-45 bg-red" style={{ left }} />;
          if (mark === "passed") return <span key={index} className="absolute top-[34px] size-2 rounded-full border-2 border-patn" style={{ left }} />;
          return <span key={index} className="absolute top-[16px] h-3 w-[10px] rounded-[2px] bg-quiet" style={{ left }} />;
        })}
      </div>
      <div className="flex justify-between font-mono text-meta text-ink3" aria-hidden>{ticks.map((tick, index) => <span key={index}>{clock(tick)}</span>)}</div>
      <p className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-meta text-ink2">
        <Legend mark={<span className="h-3 w-[6px] rounded-[2px] border border-given-edge bg-given-bar" />} text={t("sessions.legend.given")} />
        <Legend mark={<span className="size-2 rounded-full bg-ink" />} text={t("sessions.legend.prompt")} />
        <Legend mark={<span className="size-2 rotate-45 bg-red" />} text={t("sessions.legend.failed")} />
        <Legend mark={<span className="size-2 rounded-full border-2 border-patn" />} text={t("sessions.legend.passed")} />
        <Legend mark={<span className="h-2 w-3 rounded-[2px] bg-quiet" />} text={t("sessions.legend.work")} />
      </p>
    </div>
  );
}

function Legend({ mark, text }: { mark: ReactNode; text: string }) {
  return <span className="inline-flex items-center gap-1.5"><span aria-hidden className="inline-flex [&>span]:inline-block">{mark}</span>{text}</span>;
}

/** Whether an observation tells of something that failed or passed; by its words, so only a hint. */
export function toneOf(entry: Pick<Entry, "kind" | "memory">): "failed" | "passed" | "plain" {
  if (entry.kind !== "observation" || !entry.memory) return "plain";
  const title = titleOf(entry.memory).toLowerCase();
  if (/\b(fail(ed|s|ure)?|error|broke|crash)/.test(title)) return "failed";
  if (/\b(pass(ed|es)?|green|succeed)/.test(title)) return "passed";
  return "plain";
}

function payloadText(memory: Schema["Memory"], name: string): string {
  const value = (memory.payload as Record<string, unknown> | null)?.[name];
  return typeof value === "string" ? value : "";
}

function payloadList(memory: Schema["Memory"], name: string): string[] {
  const value = (memory.payload as Record<string, unknown> | null)?.[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function titleOf(memory: Schema["Memory"]): string {
  return payloadText(memory, "title") || (memory.content.split("\n", 1)[0] ?? "");
}

function Entries({ view }: { view: Timeline }) {
  const { t } = useTranslation();
  const entries = view.entries.filter((one) => one.kind !== "summary");
  return (
    <ol className="px-7 py-5 max-tabs:px-4" aria-label={t("sessions.timeline")}>
      {entries.map((one, index) => <Boundary key={index}><EntryRow entry={one} before={entries[index - 1]} /></Boundary>)}
      {view.truncated && <li className="py-3 text-ink2">{t("sessions.truncated")}</li>}
      {!view.session.ended_at && <li className="flex items-center gap-3 py-2 pl-[52px] text-patn"><span className="size-2 rounded-full bg-patn" aria-hidden />{t("sessions.working")}</li>}
    </ol>
  );
}

const ENTRY_ICON: Record<Entry["kind"], LucideIcon> = { prompt: MessageSquare, given: Highlighter, observation: FileSearch, learned: Sparkle, summary: NotebookText };

function EntryRow({ entry, before }: { entry: Entry; before: Entry | undefined }) {
  const tone = toneOf(entry);
  const changed = entry.memory ? payloadList(entry.memory, "files_modified").length > 0 : false;
  const Icon = tone === "failed" ? CircleX : tone === "passed" ? CircleCheck : entry.kind === "observation" && changed ? FilePen : ENTRY_ICON[entry.kind];
  const sameMinute = before && clock(before.at) === clock(entry.at);
  return (
    <li className="relative flex gap-3 pb-3.5">
      <time dateTime={entry.at} className={cx("w-10 shrink-0 pt-0.5 font-mono text-small text-ink2", sameMinute && "text-ink3")}>{clock(entry.at)}</time>
      <span className="absolute top-6 bottom-0 left-[61px] w-px bg-line" aria-hidden />
      <span className={cx("z-[1] grid size-[22px] shrink-0 place-items-center rounded-control", entry.kind === "given" ? "bg-given text-given-ink" : "bg-surface text-ink2", tone === "failed" && "text-red", tone === "passed" && "text-patn")}><Icon size={14} aria-hidden /></span>
      <div className="min-w-0 flex-1 pt-px"><EntryBody entry={entry} /></div>
    </li>
  );
}

function EntryBody({ entry }: { entry: Entry }) {
  const { t } = useTranslation();
  const memory = entry.memory;
  if (entry.kind === "given" && entry.given) return <Given given={entry.given} />;
  if (!memory) return null;
  if (entry.kind === "prompt") {
    return <><p className="font-medium">{t("sessions.prompt")}</p><p className="mt-0.5 line-clamp-6 font-serif text-prompt leading-snug whitespace-pre-wrap"><Statement text={memory.content} /></p></>;
  }
  if (entry.kind === "learned") {
    return <p><b className="font-semibold">{t("sessions.learned")}</b> <Badge type={memory.type} /> <a href={href("memories", memory.id)} className={cx("hover:underline", memory.valid_to && "text-ink2 line-through")}><Statement text={memory.content} /></a></p>;
  }
  const files = [...new Set([...payloadList(memory, "files_modified"), ...payloadList(memory, "files_read")])];
  const narrative = payloadText(memory, "narrative") || payloadText(memory, "subtitle");
  return (
    <>
      <p className={cx("font-medium", toneOf(entry) === "failed" && "text-red", toneOf(entry) === "passed" && "text-patn")}><a href={href("memories", memory.id)} className="hover:underline"><Statement text={titleOf(memory)} /></a></p>
      {narrative && <p className="line-clamp-3 text-ink2"><Statement text={narrative} /></p>}
      {files.length > 0 && <p className="mt-0.5 truncate font-mono text-small text-ink2">{files.slice(0, 3).join(", ")}{files.length > 3 && ` ${t("sessions.moreFiles", { count: files.length - 3 })}`}</p>}
    </>
  );
}

function Given({ given }: { given: Schema["Injection"] }) {
  const { t } = useTranslation();
  return (
    <>
      <p><b className="font-semibold">{t("sessions.given")}</b> <TriggerWords moment={given.moment} trigger={given.trigger} /> <span className="text-ink2">{t("sessions.lines", { count: given.lines.length })}, {t("sessions.tokens", { count: given.tokens })}</span></p>
      <ul className="mt-1.5 space-y-1 border-l-[3px] border-given-edge pl-3">
        {given.lines.map((line, index) => (
          <li key={index} className="flex items-baseline gap-3">
            <Badge type={line.kind} />
            <span className="min-w-0 flex-1">
              <a href={line.memory_id ? href("memories", line.memory_id) : undefined} className={cx("given", line.outcome === "harm" && "line-through decoration-red")}><Statement text={plainLine(line.text)} /></a>
            </span>
            <span className="shrink-0 text-small"><Outcome line={line} /></span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A line without its frame: the badge stands beside it already. */
export function plainLine(text: string): string {
  return text.replace(/^[-*]\s*\[[A-Z]{4}\]\s*/, "").trim();
}

function Aside({ view }: { view: Timeline }) {
  const { t } = useTranslation();
  const { given } = view;
  const learned = useMemo(() => view.entries.filter((one) => one.kind === "learned"), [view.entries]);
  const rest = given.lines - given.used - given.harm;
  const numbers = [
    { value: number(given.lines), name: t("sessions.linesGiven"), note: t("sessions.tokens", { count: given.tokens }) },
    { value: number(given.used), name: t("sessions.used"), note: given.lines ? percent(given.used / given.lines) : "–" },
    { value: number(view.learned), name: t("sessions.learnedCount"), note: "" },
  ];
  const changed = view.files.filter((one) => one.changed > 0).length;
  return (
    <aside className="w-[292px] shrink-0 border-l border-line bg-bg px-5 pt-4 pb-8 wide:w-[365px] max-panes:w-full max-panes:border-l-0 max-panes:border-t">
      <h2 className="font-semibold">{t("sessions.did")}</h2>
      <dl className="mt-2 mb-3 grid grid-cols-3 gap-3">
        {numbers.map((one) => <div key={one.name} className="flex flex-col"><dt className="order-1 text-small text-ink2">{one.name}<br />{one.note}</dt><dd className="font-serif text-[1.75rem] leading-tight font-medium">{one.value}</dd></div>)}
      </dl>
      {given.lines > 0 && (
        <>
          <div className="flex h-1.5 gap-0.5" aria-hidden>
            <span className="rounded-[2px] bg-ink" style={{ flexGrow: given.used }} />
            <span className="rounded-[2px] bg-quiet" style={{ flexGrow: rest }} />
            <span className="rounded-[2px] bg-red" style={{ flexGrow: given.harm }} />
          </div>
          <p className="mt-1.5 mb-4 text-small text-ink2">{t("sessions.balance", { used: given.used, rest })}{given.harm > 0 && <b className="font-semibold text-red"> {t("sessions.harm", { count: given.harm })}</b>}</p>
        </>
      )}
      {view.summary && <Section title={t("sessions.summary")}><p className="line-clamp-[12] whitespace-pre-wrap text-ink2"><Statement text={view.summary.content} /></p></Section>}
      {learned.length > 0 && (
        <Section title={t("sessions.learned")} note={number(view.learned)}>
          <ul className="space-y-1.5">
            {learned.slice(0, 8).map((one) => one.memory && (
              <li key={one.memory.id} className="flex items-center gap-2">
                <Badge type={one.memory.type} />
                <a href={href("memories", one.memory.id)} className="min-w-0 flex-1 truncate hover:underline"><Statement text={one.memory.content} /></a>
                {one.memory.needs_review && <a href={href("review", view.session.id)} className="rounded-full border border-ink px-2 text-meta leading-[17px] font-medium">{t("sessions.toReview")}</a>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {view.files.length > 0 && (
        <Section title={t("sessions.files")} note={t("sessions.filesNote", { changed, read: view.files.length - changed })}>
          <ul className="space-y-1 font-mono text-small">
            {view.files.slice(0, 14).map((one) => <li key={one.path} className="flex gap-2"><a href={href("map", one.path)} className="min-w-0 flex-1 truncate hover:underline" title={one.path}>{one.path}</a><span className="text-ink3">{one.changed ? t("sessions.changed", { count: one.changed }) : t("sessions.read", { count: one.read })}</span></li>)}
          </ul>
        </Section>
      )}
      <p className="text-small text-ink3">{ago(view.session.last_event_at)}</p>
    </aside>
  );
}
