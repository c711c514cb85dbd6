/** Next session: the exact pack before it is given, by the operation that hooks ask. */
import { BotMessageSquare, Check, EyeOff, FileText, GitBranch, GitCommitVertical, Pencil, Pin, PinOff, Quote, SquareTerminal, User } from "lucide-react";
import { useDeferredValue, useState, type ReactNode } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { get, post, type Schema } from "@/lib/api";
import { day, number, percent } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { shortSession, type Memory } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { useHealth, useProject } from "@/lib/queries";
import { change, href, useRoute } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Button, cx, Empty, Failure, Key, Skeleton, Statement, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";

const MOMENTS = ["session", "prompt", "file", "failure", "plan"] as const;
type Moment = (typeof MOMENTS)[number];
type Preview = Schema["ContextPreview"];
type Line = Preview["sections"][number]["lines"][number];
type Source = Line["source"];
const STEP = 10;
const MOST = 400;

export default function Next() {
  const wide = useWide(1100);
  const { params } = useRoute();
  const moment = MOMENTS.find((one) => one === params.get("at")) ?? "session";
  useKeys(Object.fromEntries(MOMENTS.map((one, index) => [String(index + 1), () => change({ at: one })])));
  if (!wide) {
    return (
      <div className="px-4 py-4">
        <MomentTabs moments={MOMENTS} chosen={moment} />
        {moment === "session" ? <Start /> : <Later moment={moment} />}
      </div>
    );
  }
  return (
    <div className="grid min-h-full grid-cols-[minmax(0,1fr)_minmax(400px,480px)]">
      <div className="mx-auto w-full max-w-[860px] px-8 py-6"><Start /></div>
      <aside className="border-l border-line px-7 py-6">
        <LaterTitle />
        <MomentTabs moments={MOMENTS.slice(1)} chosen={moment === "session" ? "prompt" : moment} />
        <Later moment={moment === "session" ? "prompt" : moment} />
      </aside>
    </div>
  );
}

function LaterTitle() {
  const { t } = useTranslation();
  return <h2 className="mb-3 font-serif text-prompt font-medium">{t("next.later")}</h2>;
}

function MomentTabs({ moments, chosen }: { moments: readonly Moment[]; chosen: Moment }) {
  const { t } = useTranslation();
  return (
    <div role="group" aria-label={t("next.moment")} className="mb-4 flex overflow-hidden rounded-control border border-edge">
      {moments.map((one) => (
        <button key={one} type="button" aria-pressed={one === chosen} onClick={() => change({ at: one })}
          className={cx("min-h-[30px] flex-1 border-r border-edge px-1 last:border-0 max-tabs:min-h-11", one === chosen ? "bg-ink font-semibold text-bg" : "bg-surface hover:bg-selected")}>
          {t(`next.at.${one}`)}
        </button>
      ))}
    </div>
  );
}

function usePreview(query: { moment: Moment; text?: string; files?: string[]; budget_tokens?: number; client?: string }, enabled = true) {
  const project = useProject();
  return useQuery({
    queryKey: ["next", project, JSON.stringify(query)],
    queryFn: ({ signal }) => get("/api/next_session", { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
    enabled,
  });
}

// -- The start ------------------------------------------------------------------------------------

function Start() {
  const { t } = useTranslation();
  const { params } = useRoute();
  const clients = [...new Set(useHealth().data?.clients?.filter((one) => one.state === "installed").map((one) => one.client))];
  const client = params.get("client") ?? clients[0] ?? "";
  const budget = Number(params.get("budget")) || undefined;
  const [exact, setExact] = useState(false);
  const found = usePreview({ moment: "session", client, ...(budget ? { budget_tokens: budget } : {}) });
  const pack = found.data;
  const shown = budget ?? pack?.budget_tokens ?? 250;
  const move = (by: number) => change({ budget: String(Math.max(STEP, Math.min(MOST, shown + by))) });
  useKeys({ a: () => setExact((one) => !one), "[": () => move(-STEP), "]": () => move(STEP) });
  if (found.isPending) return <Skeleton />;
  if (found.error && !pack) return <Failure error={found.error} onRetry={() => void found.refetch()} />;
  if (!pack) return null;
  return (
    <>
      <h1 className="font-serif text-card font-semibold">{pack.lines ? t("next.title", { count: pack.lines }) : t("next.nothing")}</h1>
      <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-ink2">
        {clients.length > 0 && (
          <label className="flex items-center gap-2">{t("next.client")}
            <select value={client} onChange={(event) => change({ client: event.target.value })} className="min-h-[28px] rounded-control border border-field bg-surface px-2 max-tabs:min-h-11">
              {clients.map((one) => <option key={one}>{one}</option>)}
            </select>
          </label>
        )}
        <span className="flex items-center gap-2"><span aria-hidden className="size-2 rounded-full bg-patn" />{t("next.live")}</span>
        <Button kind="quiet" className="ml-auto" aria-pressed={exact} keyName="a" onClick={() => setExact(!exact)}>{t("next.exact")}</Button>
      </div>
      <Budget pack={pack} shown={shown} isTried={budget !== undefined} onMove={move} />
      {exact
        ? <Exact text={pack.exact} />
        : pack.lines === 0
          ? <Empty title={t("next.nothing")} actions={<><Button onClick={() => overlay.set({ kind: "teach" })}>{t("action.teach")}</Button></>}><p>{t("next.nothingWhy")}</p></Empty>
          : pack.sections.map((one) => <Boundary key={one.name} of={one.name}><PackSection section={one} /></Boundary>)}
      <LeftOut pack={pack} />
    </>
  );
}

function Exact({ text }: { text: string }) {
  const { t } = useTranslation();
  return (
    <div className="mt-4">
      <pre className="overflow-x-auto rounded-control bg-given px-4 py-3 font-mono text-small whitespace-pre-wrap text-given-ink">{text || t("next.nothing")}</pre>
      <Button className="mt-2" onClick={() => void navigator.clipboard.writeText(text).then(() => toast(t("next.copied")))}>{t("next.copy")}</Button>
    </div>
  );
}

/** The budget on one true scale, a segment for each section. */
function Budget({ pack, shown, isTried, onMove }: { pack: Preview; shown: number; isTried: boolean; onMove: (by: number) => void }) {
  const { t } = useTranslation();
  const actions = useActions();
  const scale = Math.max(MOST, shown);
  const told = pack.sections.reduce((sum, one) => sum + one.tokens, 0);
  const spot = (tokens: number) => `${(100 * tokens) / scale}%`;
  return (
    <div className="mt-5">
      <div className="flex flex-wrap items-center gap-2">
        <p><b className="font-semibold">{t("next.tokens", { used: number(pack.used_tokens), budget: number(shown) })}</b></p>
        <span className="ml-auto text-ink2 max-tabs:hidden">{t("next.tryBudget")}</span>
        <Button aria-label={t("next.less")} onClick={() => onMove(-STEP)}>–<span className="max-tabs:hidden"><Key name="[" /></span></Button>
        <Button aria-label={t("next.more")} onClick={() => onMove(STEP)}>+<span className="max-tabs:hidden"><Key name="]" /></span></Button>
        {isTried && <Button onClick={() => void actions.keepSetting("context.budget_tokens", String(shown)).then(() => change({ budget: null }))}>{t("next.keepBudget", { budget: number(shown) })}</Button>}
        {isTried && <Button onClick={() => change({ budget: null })}>{t("action.cancel")}</Button>}
      </div>
      <div role="img" aria-label={t("next.tokens", { used: pack.used_tokens, budget: shown })} className="relative mt-3 flex h-3.5 gap-0.5">
        {pack.sections.map((one) => <span key={one.name} title={`${one.title}: ${one.tokens}`} className="h-full rounded-badge border border-given-edge bg-given-bar" style={{ width: spot(one.tokens) }} />)}
        {pack.used_tokens > told && <span title={t("next.frame")} className="h-full rounded-badge border border-dashed border-edge" style={{ width: spot(pack.used_tokens - told) }} />}
        <span aria-hidden className="absolute -top-1 h-5.5 w-[7px] rounded-badge bg-ink" style={{ left: `calc(${spot(shown)} - 4px)` }} />
        {pack.left_out.map((one) => one.fits_at && one.fits_at <= scale && <span key={one.id} aria-hidden className="absolute top-1 size-1.5 rounded-full border border-ink3 bg-bg" style={{ left: spot(one.fits_at) }} />)}
      </div>
      <div aria-hidden className="mt-1 flex justify-between text-meta text-ink3"><span>0</span><span>{number(scale)}</span></div>
    </div>
  );
}

function PackSection({ section }: { section: Preview["sections"][number] }) {
  return (
    <section className="mt-5">
      <div className="flex items-baseline gap-2"><h2 className="font-semibold">{section.title}</h2><span className="ml-auto text-ink3">{number(section.tokens)}</span></div>
      <ul className="mt-1.5 border-l-[3px] border-given-edge">{section.lines.map((one) => <PackLine key={one.id} line={one} />)}</ul>
    </section>
  );
}

const KIND: Record<string, ReactNode> = {
  quote: <Quote size={14} aria-hidden />,
  record: <SquareTerminal size={14} aria-hidden />,
  git: <GitBranch size={14} aria-hidden />,
  skill: <FileText size={14} aria-hidden />,
};

function PackLine({ line }: { line: Line }) {
  const { t } = useTranslation();
  const actions = useActions();
  const memory = line.memory_id ? { id: line.memory_id, updated_at: line.updated_at ?? "" } : null;
  const withMemory = (work: (memory: Memory) => void) => void get("/api/show", { query: { ids: [line.id] } }).then(({ items }) => items[0] && work(items[0].memory), actions.failed);
  const pin = () => withMemory((one) => actions.edit(one, { pinned: !one.pinned }, one.pinned ? t("next.unpinned") : t("next.pinned")));
  return (
    <li className="group flex flex-wrap items-start gap-x-3 gap-y-1 px-3 py-2 focus-within:bg-selected hover:bg-selected">
      <span className="mt-1 text-ink3">{KIND[line.kind]}</span>
      <div className="min-w-[220px] flex-1">
        {line.kind === "quote"
          ? <p className="font-serif text-prompt leading-snug break-words">“<Statement text={line.text} />”</p>
          : <p className={cx("break-words", line.kind === "record" && "font-mono text-small")}><Statement text={line.text} /></p>}
        <p className="mt-1 flex flex-wrap items-center gap-2"><SourceChip source={line.source} />{line.pinned && <span className="flex items-center gap-1 text-small"><Pin size={12} aria-hidden />{t("next.pinned")}</span>}</p>
      </div>
      <span className="text-small text-ink3 panes:order-last">{number(line.tokens)}</span>
      {memory && (
        <div className="flex w-full gap-2 pl-7 max-tabs:pl-0 panes:w-auto panes:opacity-0 panes:group-focus-within:opacity-100 panes:group-hover:opacity-100">
          <Button className="max-tabs:flex-1" icon={line.pinned ? <PinOff size={14} aria-hidden /> : <Pin size={14} aria-hidden />} onClick={pin}>{line.pinned ? t("next.unpin") : t("next.pin")}</Button>
          <Button className="max-tabs:flex-1" icon={<Pencil size={14} aria-hidden />} onClick={() => withMemory((one) => overlay.set({ kind: "correct", memory: one }))}>{t("action.correct")}</Button>
          <Button className="max-tabs:flex-1" icon={<EyeOff size={14} aria-hidden />} onClick={() => actions.mute(line.id)}>{t("next.mute")}</Button>
        </div>
      )}
    </li>
  );
}

const WHO: Record<string, ReactNode> = {
  person: <User size={12} aria-hidden />,
  agent: <BotMessageSquare size={12} aria-hidden />,
  commit: <GitCommitVertical size={12} aria-hidden />,
  git: <GitBranch size={12} aria-hidden />,
};

export function SourceChip({ source }: { source: Source }) {
  const { t } = useTranslation();
  const isSession = source.kind === "person" || source.kind === "agent";
  const who = source.name || (source.kind === "document" ? "" : t(`next.by.${source.kind as "person"}`));
  const said = [who, source.at && day(source.at), isSession ? shortSession(source.where) : source.where].filter(Boolean).join(", ");
  const chip = <span className="inline-flex max-w-full items-center gap-1.5 rounded-badge border border-edge bg-surface px-1.5 text-small leading-[20px] text-ink2">{WHO[source.kind] ?? <FileText size={12} aria-hidden />}<span className="truncate">{said || t("source.unknown")}</span></span>;
  return isSession && source.where ? <a href={href("sessions", source.where)}>{chip}</a> : chip;
}

function LeftOut({ pack }: { pack: Preview }) {
  const { t } = useTranslation();
  const actions = useActions();
  const [all, setAll] = useState(false);
  if (!pack.left_out.length) return null;
  return (
    <section className="mt-6 border-t border-line pt-3">
      <div className="flex items-baseline gap-2">
        <h2 className="font-semibold">{t("next.leftOut")}</h2><span className="text-ink3">{t("next.lookedAt", { count: pack.left_out.length })}</span>
        {pack.left_out.length > 3 && <Button kind="quiet" className="ml-auto" aria-expanded={all} onClick={() => setAll(!all)}>{all ? t("next.few") : t("next.all")}</Button>}
      </div>
      <ul className="mt-1">
        {pack.left_out.slice(0, all ? undefined : 3).map((one) => (
          <li key={one.id} className="flex flex-wrap items-baseline gap-x-3 py-1 text-ink2">
            <a href={href("memories", one.id)} className="line-clamp-2 min-w-[200px] flex-1 hover:underline">“<Statement text={one.text} />”</a>
            <span>{one.fits_at ? t("next.fitsAt", { tokens: number(one.fits_at) }) : t(`next.why.${one.why as "loaded"}`)}</span>
            {one.why === "silent" && <Button kind="quiet" onClick={() => actions.mute(one.id, false)}>{t("next.unmute")}</Button>}
          </li>
        ))}
      </ul>
    </section>
  );
}

// -- Later in the session -------------------------------------------------------------------------

function Later({ moment }: { moment: Moment }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const query = moment === "file" ? { moment, files: [asked] } : { moment, text: asked };
  const found = usePreview(query, Boolean(asked));
  const pack = asked ? found.data : undefined;
  return (
    <div>
      <textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} aria-label={t(`next.box.${moment as "prompt"}`)} placeholder={t(`next.box.${moment as "prompt"}`)}
        className="w-full rounded-large border border-field bg-surface px-3.5 py-2.5 font-serif text-prompt max-tabs:text-[1rem]" />
      <p className="mt-1 text-small text-ink3">{found.isFetching && asked ? t("next.checking") : t("next.notSent")}</p>
      {found.error && asked && <div className="mt-3"><Failure error={found.error} /></div>}
      {pack && (pack.lines > 0
        ? <><p className="mt-4 font-serif text-card font-medium">{t("next.given", { count: pack.lines })}</p>{pack.sections.map((one) => <PackSection key={one.name} section={one} />)}</>
        : <Silence pack={pack} prompt={asked} moment={moment} />)}
      {moment === "prompt" && <Replay onTry={setText} />}
    </div>
  );
}

function Silence({ pack, prompt, moment }: { pack: Preview; prompt: string; moment: Moment }) {
  const { t } = useTranslation();
  const actions = useActions();
  const first = pack.nearest[0];
  const judge = (should: string) => void post("/api/judge_silence", { body: { prompt, should_give: should, ...(first ? { probability: first.probability } : {}) } })
    .then(() => toast(t("next.judged")), actions.failed);
  return (
    <section className="mt-4" aria-live="polite">
      <h3 className="font-serif text-card font-semibold">{t("next.silence")}</h3>
      <p className="mt-1 text-ink2">{first ? t("next.nearest", { percent: percent(first.probability), from: percent(pack.threshold) }) : t("next.noneNear")}</p>
      {first && (
        <div role="img" aria-label={t("next.nearest", { percent: percent(first.probability), from: percent(pack.threshold) })} className="relative mt-4 mb-2 h-4">
          <span className="absolute top-2 h-px w-full bg-edge" />
          <span className="absolute top-1 h-2 rounded-badge border border-given-edge bg-given-bar" style={{ left: percentSpot(pack.threshold), right: 0 }} />
          {pack.nearest.map((one, index) => <span key={one.id} className={cx("absolute top-[3px] size-2.5 -translate-x-1/2 rounded-full border-2", index ? "border-ink3 bg-bg" : "border-ink bg-ink")} style={{ left: percentSpot(one.probability) }} />)}
        </div>
      )}
      <ul>
        {pack.nearest.map((one, index) => (
          <li key={one.id} className="flex gap-3 border-t border-line py-2">
            <span className={cx("w-10 shrink-0", index ? "text-ink2" : "font-semibold")}>{percent(one.probability)}</span>
            <div className="min-w-0 flex-1">
              <p className="font-serif text-list break-words">“<Statement text={one.text} />”</p>
              {index === 0 && (
                <>
                  <p className="mt-1"><SourceChip source={one.source} /></p>
                  <p className="mt-1 text-small text-ink2">{one.shared.length ? t("next.shares", { words: one.shared.join(", ") }) : t("next.sharesNone")}{" "}{one.missing.length > 0 && t("next.missing", { words: one.missing.join(", ") })}</p>
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
      {moment === "prompt" && (
        <div className="mt-2 flex flex-wrap gap-2">
          <Button icon={<Check size={14} aria-hidden />} onClick={() => judge("")}>{t("next.right")}</Button>
          {first && <Button onClick={() => judge(first.id)}>{t("next.shouldGive")}</Button>}
        </div>
      )}
    </section>
  );
}

const percentSpot = (value: number) => `${Math.round(100 * value)}%`;

/** Earlier prompts, and what each would get now. */
function Replay({ onTry }: { onTry: (text: string) => void }) {
  const { t } = useTranslation();
  const project = useProject();
  const found = useQuery({ queryKey: ["replay", project], queryFn: ({ signal }) => get("/api/replay_prompts", { query: { limit: 12 }, signal }), staleTime: 60_000 });
  const items = found.data?.items ?? [];
  if (!items.length) return null;
  const given = items.filter((one) => one.lines > 0).length;
  return (
    <section className="mt-8 border-t border-line pt-3">
      <div className="flex items-baseline gap-2"><h3 className="font-semibold">{t("next.replay", { count: items.length })}</h3><span className="text-ink3">{t("next.replayCounts", { silent: items.length - given, given })}</span></div>
      <ul className="mt-1">
        {items.map((one) => (
          <li key={one.at}><button type="button" onClick={() => onTry(one.prompt)} className="flex w-full items-baseline gap-3 py-1 text-left hover:bg-selected max-tabs:min-h-11">
            <span className="line-clamp-1 min-w-0 flex-1">“<Statement text={one.prompt} />”</span>
            <span className={one.lines ? "font-medium text-given-text" : "text-ink3"}>{one.lines ? t("next.given", { count: one.lines }) : t("next.silent")}</span>
          </button></li>
        ))}
      </ul>
    </section>
  );
}
