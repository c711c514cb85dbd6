/** Review, keyboard first: keep, edit, reject with a reason, later. Three groups of a session. */
import { Check, ChevronDown, ChevronLeft, ChevronRight, Clock, Pencil, X, type LucideIcon } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { percent } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { shortSession, type Memory } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { useMemory } from "@/lib/queries";
import { useReview, type ReviewItem } from "@/lib/review";
import { change, href, useRoute } from "@/lib/router";
import { Badge, Button, Confidence, cx, Empty, Failure, Key, Section, Skeleton, Statement, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { REASONS } from "@/parts/correct";
import { EvidenceOf, useNear } from "@/parts/detail";
import { Dialog } from "@/parts/dialog";
import { Provenance } from "@/parts/memory-line";

export default function Review() {
  const { t } = useTranslation();
  const review = useReview();
  if (review.isPending) return <div className="px-7"><Skeleton rows={6} /></div>;
  if (!review.groups) return <div className="p-7"><Failure error={review.error} onRetry={review.retry} /></div>;
  if (!review.groups.new.length && !review.groups.applied.length && !review.groups.auto_confirmed.length) {
    return <div className="px-7 pt-8"><h1 className="sr-only">{t("nav.review")}</h1><Empty title={t("review.none")} actions={<Button onClick={() => { location.hash = href("memories"); }}>{t("review.browse")}</Button>}><p>{t("review.noneWhy")}</p></Empty></div>;
  }
  return <Desk review={review} />;
}

function Desk({ review }: { review: ReturnType<typeof useReview> }) {
  const { t } = useTranslation();
  const actions = useActions();
  const wide = useWide(1100);
  const { params } = useRoute();
  // What was decided here stays in its place with a tick, until the session is left.
  const [done, setDone] = useState<ReadonlyMap<string, ReviewItem>>(new Map());
  const fresh = review.groups?.new ?? [];
  const [order, setOrder] = useState<readonly string[]>([]);
  const known = fresh.map((one) => one.memory.id).filter((one) => !order.includes(one));
  if (known.length) setOrder([...order, ...known]);
  const byId = new Map([...[...done.values()], ...fresh].map((one) => [one.memory.id, one]));
  const queue = order.map((one) => byId.get(one)).filter((one) => one !== undefined);
  const [rejecting, setRejecting] = useState(false);
  const [askRest, setAskRest] = useState(false);
  const item = queue.find((one) => one.memory.id === params.get("open")) ?? queue.find((one) => !done.has(one.memory.id)) ?? queue[0];
  const open = item?.memory;
  const at = item ? queue.indexOf(item) : -1;
  const left = queue.filter((one) => !done.has(one.memory.id)).map((one) => one.memory);

  const show = (item: ReviewItem | undefined) => {
    setRejecting(false);
    if (item) change({ open: item.memory.id });
  };
  const move = (step: number) => show(queue[Math.max(0, Math.min(queue.length - 1, at + step))]);
  const finish = (ids: readonly string[]) => {
    const after = new Map([...done, ...queue.filter((one) => ids.includes(one.memory.id)).map((one) => [one.memory.id, one] as const)]);
    setDone(after);
    show(queue.slice(at + 1).find((one) => !after.has(one.memory.id)) ?? queue.find((one) => !after.has(one.memory.id)) ?? item);
  };
  const reopen = (ids: readonly string[]) => () => setDone((before) => new Map([...before].filter(([one]) => !ids.includes(one))));
  const short = (item: Memory) => (item.content.length > 60 ? `${item.content.slice(0, 58)}…` : item.content);
  const keep = () => {
    if (!open) return;
    actions.confirm([open], t("done.kept", { text: short(open) }), reopen([open.id]));
    finish([open.id]);
  };
  const keepRest = () => {
    setAskRest(false);
    const ids = left.map((one) => one.id);
    actions.confirm(left, undefined, reopen(ids));
    finish(ids);
  };
  const retire = (reason: "outdated" | "duplicate", original = "") => {
    if (!open) return;
    actions.correct(open, reason, { original, text: t("done.rejected", { text: short(open) }) }, reopen([open.id])).catch(actions.failed);
    finish([open.id]);
  };
  const reject = (index: number) => {
    const reason = REASONS[index];
    if (!open || !reason) return;
    setRejecting(false);
    if (reason === "outdated") retire(reason);
    else overlay.set({ kind: "correct", memory: open, reason });
  };
  const near = useNear(open ?? { id: "", content: "" }, 1).data?.[0];
  const later = () => {
    if (!open) return;
    const next = queue[at + 1] ?? queue[0];
    show(next);
  };
  useKeys({
    y: keep,
    e: () => open && overlay.set({ kind: "correct", memory: open }),
    n: () => setRejecting(true),
    d: () => near && retire("duplicate", near.id),
    l: later,
    j: () => move(1),
    k: () => move(-1),
    "shift+y": () => left.length > 0 && setAskRest(true),
    ...(rejecting ? { 1: () => reject(0), 2: () => reject(1), 3: () => reject(2), 4: () => reject(3), escape: () => setRejecting(false) } : {}),
  });
  return (
    <div className="flex h-full flex-col">
      <div className="flex min-h-0 flex-1">
        {wide && <Queue review={review} queue={queue} open={open} done={done} onOpen={show} />}
        <div className="min-w-0 flex-1 overflow-auto bg-surface">
          {!wide && <PhoneHead review={review} queue={queue} at={at} />}
          {open
            ? <Boundary of={open.id}><Item key={open.id} item={open} line={item?.line ?? ""} at={at} of={queue.length} isDone={done.has(open.id)} rejecting={rejecting} onKeep={keep} onEdit={() => overlay.set({ kind: "correct", memory: open })} onReject={() => setRejecting(true)} onReason={reject} onLater={later} onDuplicate={() => near && retire("duplicate", near.id)} /></Boundary>
            : <div className="px-7"><Empty title={t("review.done")}><p>{t("review.noneWhy")}</p></Empty></div>}
        </div>
      </div>
      {wide
        ? (
          <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line bg-bg px-5 py-2.5 pr-[340px] text-ink2">
            {([["y", "keep"], ["e", "edit"], ["n", "reject"], ["d", "duplicate"], ["l", "later"], ["j", "next"], ["shift+y", "rest"], ["?", "all"]] as const).map(([key, what]) => <span key={key} className="flex items-center gap-1.5"><Key name={key} />{t(`review.key.${what}`)}</span>)}
          </p>
        )
        : open && <PhoneActions onKeep={keep} onEdit={() => overlay.set({ kind: "correct", memory: open })} onReject={() => setRejecting(true)} onLater={later} />}
      {askRest && (
        <Dialog title={t("review.restTitle", { count: left.length })} onClose={() => setAskRest(false)} keys={{ y: keepRest, enter: keepRest }}>
          <p className="px-5 pt-2 text-ink2">{t("review.restWhy")}</p>
          <div className="flex justify-end gap-2 p-5"><Button onClick={() => setAskRest(false)}>{t("action.cancel")}</Button><Button kind="main" keyName="y" autoFocus onClick={keepRest}>{t("review.keepRest", { count: left.length })}</Button></div>
        </Dialog>
      )}
    </div>
  );
}

/** The session under review; "all sessions" shows everything that waits. */
function SessionPicker({ review }: { review: ReturnType<typeof useReview> }) {
  const { t } = useTranslation();
  const { session, sessions } = review;
  return (
    <div className="relative min-w-0 flex-1">
      <p className="font-semibold">{session ? t("review.session", { id: shortSession(session.id) }) : t("review.all")}</p>
      <p className="truncate text-ink2">{session ? <Statement text={session.title || t("sessions.untitled")} /> : t("review.allNote")}</p>
      <ChevronDown size={15} className="absolute top-3 right-0 text-ink3" aria-hidden />
      <select aria-label={t("review.pick")} value={session?.id ?? ""} onChange={(event) => change({ open: null }, { id: event.target.value })} className="absolute inset-0 cursor-pointer opacity-0">
        <option value="">{t("review.all")}</option>
        {sessions.map((one) => <option key={one.id} value={one.id}>{shortSession(one.id)} {one.title}</option>)}
      </select>
    </div>
  );
}

function Queue({ review, queue, open, done, onOpen }: { review: ReturnType<typeof useReview>; queue: readonly ReviewItem[]; open: Memory | undefined; done: ReadonlyMap<string, ReviewItem>; onOpen: (item: ReviewItem) => void }) {
  const { t } = useTranslation();
  const { groups } = review;
  const finished = queue.filter((one) => done.has(one.memory.id)).length;
  const [showRules, setShowRules] = useState(false);
  return (
    <section aria-label={t("nav.review")} className="flex w-[352px] shrink-0 flex-col overflow-auto border-r border-line wide:w-[440px]">
      <h1 className="sr-only">{t("nav.review")}</h1>
      <div className="flex px-4 py-2.5"><SessionPicker review={review} /></div>
      <div className="h-[3px] bg-sunken" role="progressbar" aria-label={t("review.progress", { done: finished, total: queue.length })} aria-valuenow={finished} aria-valuemin={0} aria-valuemax={queue.length}><span className="block h-full bg-ink" style={{ width: `${queue.length ? (100 * finished) / queue.length : 0}%` }} /></div>
      <Heading title={t("review.new")} note={t("review.progress", { done: finished, total: queue.length })} />
      <ul>
        {queue.map((one) => {
          const { id, type, content } = one.memory;
          const isOpen = id === open?.id;
          return (
            <li key={id}>
              <button type="button" onClick={() => onOpen(one)} aria-current={isOpen ? "true" : undefined} className={cx("flex w-full items-baseline gap-3.5 px-4 py-1.5 text-left hover:bg-selected", isOpen && "bg-surface py-2.5 font-semibold shadow-[inset_3px_0_0_var(--color-ink)]", done.has(id) && "text-ink3")}>
                <span className="w-9 shrink-0">{done.has(id) ? <Check size={15} className="mx-auto text-patn" aria-label={t("review.isDone")} /> : <Badge type={type} />}</span>
                <span className="line-clamp-2 min-w-0"><Statement text={content} /></span>
              </button>
            </li>
          );
        })}
      </ul>
      {groups && groups.applied.length > 0 && (
        <>
          <Heading title={review.session ? t("review.applied") : t("review.appliedAll")} note={t("review.appliedNote", { count: groups.applied.length })} />
          <ul>{groups.applied.slice(0, 12).map((one) => <SmallRow key={one.memory.id} memory={one.memory} note={t("outcome.used")} />)}</ul>
        </>
      )}
      {groups && groups.auto_confirmed.length > 0 && (
        <div className="mt-3 border-t border-line">
          <button type="button" aria-expanded={showRules} onClick={() => setShowRules(!showRules)} className="flex w-full items-center gap-2 px-4 py-2.5 font-semibold">
            <ChevronRight size={14} className={cx(showRules && "rotate-90")} aria-hidden />{t("review.byRule")}<span className="ml-auto font-normal text-ink2">{t("review.skipped", { count: groups.auto_confirmed.length })}</span>
          </button>
          {showRules && <ul className="pb-3">{groups.auto_confirmed.map((one) => <SmallRow key={one.memory.id} memory={one.memory} note={t(`review.rule.${one.why}` as "review.rule.commit", { defaultValue: one.why })} />)}</ul>}
        </div>
      )}
    </section>
  );
}

function Heading({ title, note }: { title: string; note: string }) {
  return <div className="flex items-baseline justify-between gap-3 px-4 pt-3.5 pb-1"><h2 className="font-semibold">{title}</h2><span className="text-small text-ink2">{note}</span></div>;
}

function SmallRow({ memory, note }: { memory: Memory; note: string }) {
  return (
    <li><a href={href("memories", memory.id)} className="flex items-baseline gap-3.5 px-4 py-1 text-ink2 hover:bg-selected"><span className="w-9 shrink-0"><Badge type={memory.type} /></span><span className="min-w-0 flex-1 truncate"><Statement text={memory.content} /></span><span className="shrink-0 text-small">{note}</span></a></li>
  );
}

interface ItemProps {
  item: Memory;
  line: string;
  at: number;
  of: number;
  isDone: boolean;
  rejecting: boolean;
  onKeep: () => void;
  onEdit: () => void;
  onReject: () => void;
  onReason: (index: number) => void;
  onLater: () => void;
  onDuplicate: () => void;
}

function Item({ item, line, at, of, isDone, rejecting, onKeep, onEdit, onReject, onReason, onLater, onDuplicate }: ItemProps) {
  const { t } = useTranslation();
  const wide = useWide(720);
  const detail = useMemory(item.id).data;
  const from = detail?.came_from?.[0];
  return (
    <article className="mx-auto max-w-[816px] px-7 pt-11 pb-10 max-panes:pt-5 max-tabs:px-4">
      <div className="flex items-center gap-3">
        <Provenance of={{ type: item.type, source: item.source, session_id: item.session_id, phase: from?.phase ?? null, at: item.created_at, work_unit: item.work_unit?.label ?? null }} />
        <span className="ml-auto shrink-0 text-ink2 max-panes:hidden">{t("review.position", { at: at + 1, of })}</span>
        <span className="ml-auto panes:hidden"><Confidence value={item.confidence} /></span>
      </div>
      <h2 className="mt-4 font-serif text-review leading-[1.27] whitespace-pre-wrap max-tabs:text-[1.5rem]"><Statement text={item.content} /></h2>
      <p className="mt-3 flex flex-wrap items-center gap-x-5 gap-y-1 text-ink2">
        <span className="flex items-center gap-2 max-tabs:hidden"><Confidence value={item.confidence} withNumber /> {t("review.from", { count: Math.max(1, item.provenance_sessions.length) })}</span>
        {item.files.slice(0, 4).map((file) => <a key={file} href={href("map", file)} className="font-mono text-small hover:underline">{file}</a>)}
      </p>
      {isDone && <p className="mt-4 flex items-center gap-2 text-patn"><Check size={15} aria-hidden />{t("review.isDone")}</p>}
      {wide && (
        <div className="mt-6 grid grid-cols-[1.25fr_1fr_1fr_1fr] gap-2.5">
          <BigButton main name="y" title={t("review.keepIt")} note={t("review.keepNote")} onClick={onKeep} />
          <BigButton name="e" title={t("action.edit")} note={t("review.editNote")} onClick={onEdit} />
          <BigButton name="n" title={t("action.reject")} note={t("review.rejectNote")} onClick={onReject} pressed={rejecting} />
          <BigButton name="l" title={t("action.later")} note={t("review.laterNote")} onClick={onLater} />
        </div>
      )}
      {(rejecting || wide) && (
        <div className={cx("mt-3 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-control text-ink2", rejecting && "bg-selected p-2 text-ink")} role="group" aria-label={t("review.rejectWhy")}>
          <span>{t("review.rejectWhy")}</span>
          {REASONS.map((one, index) => <button key={one} type="button" disabled={!rejecting} onClick={() => onReason(index)} className="flex min-h-6 items-center gap-1.5 max-tabs:min-h-11"><Key name={String(index + 1)} />{t(`review.reason.${one}`)}</button>)}
        </div>
      )}
      <div className="mt-6">
        <Section title={t("review.sees")} note={t("review.seesWhen", { count: item.files.length, tokens: Math.ceil(line.length / 4) })}>
          <p className="border-l-[3px] border-given-edge pl-3 font-mono leading-[1.6]"><span className="given"><Statement text={line} /></span></p>
        </Section>
        {detail && <Boundary><EvidenceOf memory={detail} /></Boundary>}
        <Nearest item={item} onDuplicate={onDuplicate} />
      </div>
    </article>
  );
}

function BigButton({ name, title, note, onClick, main = false, pressed }: { name: string; title: string; note: string; onClick: () => void; main?: boolean; pressed?: boolean }) {
  return (
    <button type="button" onClick={onClick} aria-pressed={pressed} className={cx("flex min-h-[58px] items-center gap-3 rounded-large border px-3.5 text-left", main ? "border-ink bg-ink text-bg hover:bg-ink2" : "border-edge bg-surface hover:bg-selected", pressed && "bg-selected")}>
      <kbd className={cx("grid size-7 shrink-0 place-items-center rounded-badge border font-mono text-list", main ? "border-bg/40 bg-surface text-ink" : "border-edge shadow-[0_1px_0_var(--color-edge)]")}>{name.toUpperCase()}</kbd>
      <span className="min-w-0"><b className="block text-list font-semibold">{title}</b><span className={cx("block text-small", main ? "opacity-80" : "text-ink2")}>{note}</span></span>
    </button>
  );
}

function Nearest({ item, onDuplicate }: { item: Memory; onDuplicate: () => void }) {
  const { t } = useTranslation();
  const near = useNear(item, 1).data?.[0];
  if (!near) return null;
  return (
    <Section title={t("review.nearest")} note={t("near.alike", { share: percent(Math.min(1, near.score)) })}>
      <div className="flex items-baseline gap-3">
        <Badge type={near.type} />
        <a href={href("memories", near.id)} className="line-clamp-3 min-w-0 flex-1 hover:underline"><Statement text={near.content} /></a>
        <button type="button" onClick={onDuplicate} className="flex shrink-0 items-center gap-1.5"><Key name="d" />{t("review.same")}</button>
      </div>
    </Section>
  );
}

function PhoneHead({ review, queue, at }: { review: ReturnType<typeof useReview>; queue: readonly ReviewItem[]; at: number }) {
  const { t } = useTranslation();
  return (
    <header className="border-b border-line bg-bg px-4 pt-2 pb-0">
      <h1 className="sr-only">{t("nav.review")}</h1>
      <div className="flex items-center gap-3 pb-2"><a href={href("health")} aria-label={t("nav.health")} className="grid size-8 place-items-center"><ChevronLeft size={20} /></a><SessionPicker review={review} /><span className="text-ink2">{t("review.position", { at: at + 1, of: queue.length })}</span></div>
      <div className="flex gap-1" aria-hidden>{queue.slice(0, 24).map((one, index) => <span key={one.memory.id} className={cx("h-[3px] flex-1", index <= at ? "bg-ink" : "bg-edge")} />)}</div>
    </header>
  );
}

function PhoneActions({ onKeep, onEdit, onReject, onLater }: { onKeep: () => void; onEdit: () => void; onReject: () => void; onLater: () => void }) {
  const { t } = useTranslation();
  const buttons: [LucideIcon, string, () => void][] = [[Check, t("action.keep"), onKeep], [Pencil, t("action.edit"), onEdit], [X, t("action.reject"), onReject], [Clock, t("action.later"), onLater]];
  return (
    <div className="grid grid-cols-[1.5fr_1fr_1fr_1fr] gap-2 border-t border-line bg-surface px-3 py-2.5">
      {buttons.map(([Icon, text, run], index) => <button key={text} type="button" onClick={run} className={cx("flex min-h-[54px] flex-col items-center justify-center gap-0.5 rounded-large border font-medium", index === 0 ? "border-ink bg-ink text-bg" : "border-edge bg-surface")}><Icon size={17} aria-hidden />{text}</button>)}
    </div>
  );
}

