/** One memory: what it says, why it was given, what it replaced, and where it comes from. */
import { useQuery } from "@tanstack/react-query";
import { Check, FlaskConical, GitCommitHorizontal, FileText, Flag, Layers, Link2, MessageSquareQuote, Pencil, Trash2, X, History as HistoryIcon, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { get, type Schema } from "@/lib/api";
import { ago, day, exact, number, percent, score } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { shortPath, shortSession, type Memory } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { useHistory, useMemory, useProject } from "@/lib/queries";
import { change, href, useRoute } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Badge, Button, Confidence, cx, Failure, Section, Skeleton, Statement, useNow, useWide } from "./basics";
import { Boundary } from "./boundary";
import { Provenance, SourceIcon } from "./memory-line";
import { ScoreParts } from "./score-parts";

type DetailRecord = NonNullable<ReturnType<typeof useMemory>["data"]>;

export function Detail({ name, onClose }: { name: string; onClose: () => void }) {
  const found = useMemory(name);
  if (found.isPending) return <div className="mx-auto max-w-[760px] px-7"><Skeleton /></div>;
  if (!found.data) return <div className="p-7"><Failure error={found.error} onRetry={() => void found.refetch()} /></div>;
  return <Opened memory={found.data} onClose={onClose} />;
}

/** The person who last vouched for it, when the record says so. */
function confirmedBy(memory: DetailRecord): string | null {
  return memory.evidence.findLast((one) => one.kind === "person" && isNamed(one.ref))?.ref ?? memory.author ?? null;
}

function Opened({ memory, onClose }: { memory: DetailRecord; onClose: () => void }) {
  const { t } = useTranslation();
  const actions = useActions();
  const wide = useWide(1100);
  const gone = actions.goneOf(memory.id);
  const correct = () => overlay.set({ kind: "correct", memory });
  useKeys({
    y: () => actions.confirm([memory]),
    e: correct,
    f: () => actions.flag(memory),
    escape: onClose,
  }, { on: !wide });
  const copy = () => {
    void navigator.clipboard.writeText(location.href).then(() => toast(t("detail.copied")));
  };
  const from = memory.came_from?.[0];
  const isRetired = memory.valid_to !== null;
  // Where it covers the list, the list's heading is away.
  const Title = wide ? "h2" : "h1";
  return (
    <article className="mx-auto max-w-[776px] px-7 pt-4 pb-12 max-tabs:px-4" aria-label={t("detail.label")}>
      <div className="flex min-h-8 items-center gap-3">
        <Provenance of={{ type: memory.type, source: memory.source, session_id: memory.session_id, phase: from?.phase ?? null, at: memory.created_at, corrected: isCorrected(memory), work_unit: memory.work_unit?.label ?? null }} />
        <span className="ml-auto flex shrink-0 items-center gap-1">
          <span className="font-mono text-small text-ink2 max-tabs:hidden">{memory.short}</span>
          <IconButton label={t("detail.copy")} onClick={copy} icon={Link2} />
          <IconButton label={t("action.close")} onClick={onClose} icon={X} />
        </span>
      </div>
      <Title className={cx("mt-3 font-serif text-card leading-[1.3] whitespace-pre-wrap", isRetired && "line-through decoration-red decoration-1")}><Statement text={memory.content} /></Title>
      {isRetired && <p className="mt-2 text-red">{t("detail.closed", { date: day(memory.valid_to ?? "") })}{memory.superseded_by && <> <a className="link" href={href("memories", memory.superseded_by)}>{t("detail.successor")}</a></>}</p>}
      {memory.silent && <p className="mt-2 text-warn">{t("detail.silent", { reason: memory.silent.reason })}</p>}
      <dl className="mt-4 flex flex-wrap gap-x-9 gap-y-3">
        <Fact name={t("detail.confidence")}><Confidence value={memory.confidence} withNumber /></Fact>
        <Fact name={t("detail.importance")}><Importance memory={memory} /></Fact>
        <Fact name={t("detail.given")}>{memory.use ? <span className="given">{t("detail.times", { count: memory.use.given })}</span> : t("memories.notGiven")}</Fact>
        <Fact name={t("detail.used")}>{memory.use ? t("detail.usedOf", { used: memory.use.used, given: memory.use.given }) : "–"}</Fact>
        {memory.user_verified && <Fact name={t("detail.confirmed")}>{confirmedBy(memory) ?? t("detail.byPerson")}</Fact>}
        {memory.files.length > 0 && <Fact name={t("detail.files")}><Files files={memory.files} /></Fact>}
      </dl>
      {gone
        ? <div className="mt-5 flex items-center gap-3 rounded-large border border-dashed border-edge px-3.5 py-2.5"><span className="flex-1">{gone.text}</span><Button keyName="z" onClick={gone.undo}>{t("action.undo")}</Button></div>
        : (
          <div className="mt-5 flex flex-wrap items-center gap-2 max-tabs:[&>button]:flex-1">
            <Button kind="main" keyName="y" icon={<Check size={15} aria-hidden />} onClick={() => actions.confirm([memory])}>{memory.user_verified ? t("detail.confirmed") : t("action.confirm")}</Button>
            <Button keyName="e" icon={<Pencil size={15} aria-hidden />} onClick={correct}>{t("action.correct")}</Button>
            <Button keyName="f" icon={<Flag size={15} aria-hidden />} onClick={() => actions.flag(memory)}>{t("action.flag")}</Button>
            <span className="ml-auto"><IconButton label={t("action.delete")} onClick={() => actions.remove([memory])} icon={Trash2} /></span>
          </div>
        )}
      <div className="mt-6">
        <Boundary><WhyGiven memory={memory} /></Boundary>
        <Boundary><HistoryOf memory={memory} /></Boundary>
        <Boundary><EvidenceOf memory={memory} /></Boundary>
        <Boundary><NearIt memory={memory} /></Boundary>
      </div>
    </article>
  );
}

export function isCorrected(memory: Pick<Memory, "source" | "relations">): boolean {
  return memory.source === "user_taught" && memory.relations.some((one) => one.type === "supersedes");
}

function IconButton({ label, onClick, icon: Icon }: { label: string; onClick: () => void; icon: LucideIcon }) {
  return <button type="button" aria-label={label} title={label} onClick={onClick} className="grid size-7 place-items-center rounded-control text-ink2 hover:bg-selected hover:text-ink max-tabs:size-11"><Icon size={15} /></button>;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <div><dt className="text-small text-ink2">{name}</dt><dd className="mt-0.5 flex min-h-6 items-center font-medium">{children}</dd></div>;
}

function Files({ files }: { files: readonly string[] }) {
  const { t } = useTranslation();
  return (
    <span className="flex flex-wrap gap-x-3">
      {files.slice(0, 3).map((file) => <a key={file} href={href("map", file)} className="max-w-[260px] truncate font-mono text-small hover:underline">{file}</a>)}
      {files.length > 3 && <span className="text-ink3">{t("detail.moreFiles", { count: files.length - 3 })}</span>}
    </span>
  );
}

/** Importance is a person's word: a slider that saves when let go. */
function Importance({ memory }: { memory: Memory }) {
  const { t } = useTranslation();
  const actions = useActions();
  const [value, setValue] = useState<number | null>(null);
  const shown = value ?? memory.importance;
  const save = () => {
    if (value !== null && value !== memory.importance) actions.edit(memory, { importance: value }, t("detail.importanceSet", { value: score(value) }));
    setValue(null);
  };
  return (
    <span className="flex items-center gap-2">
      <input type="range" min={0} max={1} step={0.05} value={shown} aria-label={t("detail.importance")} onChange={(event) => setValue(Number(event.target.value))} onPointerUp={save} onKeyUp={save} onBlur={save} className="h-6 w-24 accent-ink" />
      {score(shown)}
    </span>
  );
}

function WhyGiven({ memory }: { memory: DetailRecord }) {
  const { t } = useTranslation();
  const last = memory.given?.[0];
  const line = last?.lines.find((one) => one.memory_id === memory.id);
  if (!last || !line) {
    return <Section title={t("why.never")}><p className="text-ink2">{memory.needs_review ? t("why.neverReview") : t("why.neverYet")}</p></Section>;
  }
  const position = last.lines.indexOf(line) + 1;
  return (
    <Section title={t("why.title")} note={<>{t("why.when", { ago: ago(last.at), session: shortSession(last.session_id) })} <TriggerWords moment={last.moment} trigger={last.trigger} /></>} aside={<a className="link" href={href("sessions", last.session_id)}>{t("why.session")}</a>}>
      <div className="border-l-[3px] border-given-edge pl-3.5">
        <p className="text-small text-ink2">{t("why.saw", { line: position, lines: last.lines.length, tokens: line.tokens })}</p>
        <p className="mt-0.5 font-mono text-ui leading-[1.6]"><span className="given"><Statement text={line.text} /></span></p>
      </div>
      <ScoreParts line={line} />
    </Section>
  );
}

export function TriggerWords({ moment, trigger }: { moment: string; trigger: string }) {
  const { t } = useTranslation();
  const word = t(`moment.${moment}` as "moment.session", { defaultValue: moment });
  return <>{word} {moment === "file" && trigger && <code className="code" title={trigger}>{shortPath(trigger)}</code>}</>;
}

function HistoryOf({ memory }: { memory: DetailRecord }) {
  const { t } = useTranslation();
  const { params } = useRoute();
  const versions = useHistory(memory);
  const asOf = params.get("as_of") ?? "";
  const shown = asOf ? versions.filter((one) => one.created_at.slice(0, 10) <= asOf) : versions;
  const first = versions[0];
  const start = first ? new Date(first.valid_from).getTime() : 0;
  const now = useNow();
  const span = Math.max(1, now - start);
  return (
    <Section
      title={t("history.title")}
      note={t("history.note")}
      aside={
        <label className="flex items-center gap-1.5 text-ink2">{t("history.asOf")}
          <input type="date" value={asOf} max={new Date(now).toISOString().slice(0, 10)} onChange={(event) => change({ as_of: event.target.value })} className="rounded-control border border-transparent bg-transparent font-medium text-ink hover:border-edge" />
        </label>
      }
    >
      <div className="mt-1 mb-3 flex h-2 overflow-hidden rounded-[3px] bg-sunken" aria-hidden>
        {versions.map((one, index) => {
          const begin = new Date(one.valid_from).getTime();
          const end = one.valid_to ? new Date(one.valid_to).getTime() : now;
          return <span key={one.id} className={cx("h-full border-r-2 border-surface last:border-0", index === versions.length - 1 && !one.valid_to ? "bg-ink" : "bg-quiet")} style={{ width: `${Math.max(1.5, (100 * (end - begin)) / span)}%` }} />;
        })}
      </div>
      {shown.length === 0 && <p className="text-ink2">{t("history.notYet")}</p>}
      <ol className="space-y-2">
        {shown.map((one) => (
          <li key={one.id} className="flex gap-4">
            <time className="w-14 shrink-0 pt-px font-mono text-small text-ink2" dateTime={one.valid_from} title={exact(one.valid_from)}>{day(one.valid_from)}</time>
            <div className="min-w-0">
              <p className={cx(one.valid_to && "text-ink2 line-through decoration-red decoration-1")}><a href={href("memories", one.id)} className="hover:underline"><Statement text={one.content} /></a></p>
              <p className="flex items-center gap-1.5 text-small text-ink2"><SourceIcon source={one.source} corrected={isCorrected(one)} />{isCorrected(one) ? t("source.corrected") : t(`source.${one.source}`)}{one.session_id && <> · <span className="font-mono">{shortSession(one.session_id)}</span></>} · {one.valid_to ? t("history.until", { date: day(one.valid_to) }) : t("history.inForce")}</p>
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}

const EVIDENCE_ICON: Record<Schema["EvidenceKind"], LucideIcon> = {
  observation: FlaskConical,
  session: HistoryIcon,
  commit: GitCommitHorizontal,
  person: MessageSquareQuote,
  document: FileText,
  merged: Layers,
};

/** Whether evidence of a person says who: in a team it does, alone it is only "user". */
function isNamed(ref: string): boolean {
  return Boolean(ref) && !["user", "rejected"].includes(ref);
}

export function EvidenceOf({ memory }: { memory: Pick<DetailRecord, "evidence" | "came_from"> }) {
  const { t } = useTranslation();
  return (
    <Section title={t("evidence.title")} note={t("evidence.count", { count: memory.evidence.length })}>
      {memory.evidence.length === 0 && <p className="text-ink2">{t("evidence.none")}</p>}
      <ul className="space-y-2">
        {memory.evidence.map((one, index) => {
          const Icon = EVIDENCE_ICON[one.kind];
          return (
            <li key={index} className="flex gap-3">
              <Icon size={15} className="mt-0.5 shrink-0 text-ink2" aria-hidden />
              <span className="min-w-0 flex-1"><b className="font-semibold">{one.kind === "person" && isNamed(one.ref) ? t("evidence.personNamed", { name: one.ref }) : t(`evidence.${one.kind}`)}</b> {one.note && <Statement text={one.note} />}</span>
              <span className="max-w-[220px] shrink-0 truncate font-mono text-small text-ink2" title={one.ref}>
                {one.kind === "session" ? <a className="hover:underline" href={href("sessions", one.ref)}>{shortSession(one.ref)}</a> : one.kind === "observation" ? <a className="hover:underline" href={href("memories", one.ref)}>{one.ref.slice(0, 8)}</a> : one.kind === "commit" ? one.ref.slice(0, 8) : one.ref}
                {one.at && ` · ${day(one.at)}`}
              </span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** Memories that say nearly the same, so that a duplicate is seen. */
export function useNear(memory: Pick<Memory, "id" | "content">, limit = 3) {
  const project = useProject();
  return useQuery({
    queryKey: ["memories", "near", project, memory.id, memory.content, limit],
    queryFn: ({ signal }) => get("/api/recall", { query: { query: memory.content.slice(0, 1000), limit: limit + 1, count_access: false }, signal }),
    select: (found) => found.hits.map((hit) => ({ ...hit.memory, score: hit.score })).filter((one) => one.id !== memory.id && one.content !== memory.content).slice(0, limit),
    staleTime: 60_000,
  });
}

function NearIt({ memory }: { memory: DetailRecord }) {
  const { t } = useTranslation();
  const near = useNear(memory);
  return (
    <Section title={t("near.title")} note={t("near.note")}>
      {near.error && <Failure error={near.error} />}
      {near.data?.length === 0 && <p className="text-ink2">{t("near.none")}</p>}
      <ul className="space-y-2">
        {near.data?.map((one) => (
          <li key={one.id}>
            <a href={href("memories", one.id)} className="group flex items-baseline gap-3">
              <Badge type={one.type} />
              <span className="line-clamp-2 min-w-0 flex-1 group-hover:underline"><Statement text={one.content} /></span>
              <span className="shrink-0 text-small text-ink2" title={number(one.score)}>{t("near.alike", { share: percent(Math.min(1, one.score)) })}</span>
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}
