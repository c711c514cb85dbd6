/** Health: a verdict, the one thing to do, and the figures behind it. */
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schema } from "@/lib/api";
import { ago, clock, compact, day, number, percent } from "@/lib/format";
import { latest } from "@/lib/live";
import { BADGES, shortSession, type Badge as BadgeName } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { badgeCounts, useHealth } from "@/lib/queries";
import { go, href } from "@/lib/router";
import { useStore } from "@/lib/store";
import { Badge, BADGE_FILL, Bar, Button, cx, Empty, Failure, Section, Skeleton, Statement, useNow } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";

const Chart = lazy(() => import("@/parts/chart"));

type View = Schema["HealthView"];

export default function Health() {
  const health = useHealth();
  if (health.isPending) return <div className="px-7"><Skeleton rows={5} /></div>;
  if (!health.data) return <div className="p-7"><Failure error={health.error} onRetry={() => void health.refetch()} /></div>;
  const view = health.data;
  return (
    <div className="mx-auto max-w-[1500px] px-7 pt-7 pb-12 wide:max-w-[1860px] max-tabs:px-4 max-tabs:pt-5">
      {health.error && <div className="mb-4"><Failure error={health.error} onRetry={() => void health.refetch()} /></div>}
      <div className="flex flex-wrap items-start gap-x-12 gap-y-7">
        <Verdict view={view} />
        <Score view={view} />
      </div>
      <Types view={view} />
      {view.totals.total === 0
        ? <FirstDay />
        : (
          <div className="mt-7 grid grid-cols-3 gap-x-9 max-panes:grid-cols-2 max-tabs:grid-cols-1">
            <Boundary><Growth view={view} /></Boundary>
            <Boundary><Recall view={view} /></Boundary>
            <Boundary><Saved view={view} /></Boundary>
            <Boundary><Coverage view={view} /></Boundary>
            <Boundary><RecentSessions view={view} /></Boundary>
            <Boundary><Happening view={view} /></Boundary>
          </div>
        )}
    </div>
  );
}

function Verdict({ view }: { view: View }) {
  const { t } = useTranslation();
  const { totals, health, next } = view;
  const score = health.score;
  const shape = score === null ? "new" : score >= 75 ? "good" : score >= 50 ? "fair" : "poor";
  const minutes = Math.max(1, Math.round(next.count / 4));
  return (
    <div className="min-w-[300px] flex-1">
      <h1 className="font-serif text-verdict leading-[1.15] font-medium">
        {t(`health.verdict.${shape}`)}<br />
        {t(`health.next.${next.kind}` as "health.next.review", { count: next.count })}
      </h1>
      <p className="mt-3 max-w-[560px] text-list text-ink2">
        {t("health.summary", { total: number(totals.total), active: number(totals.active), waiting: number(totals.needs_review), retired: number(totals.closed + totals.archived) })}{" "}
        {totals.stale > 0 && t("health.stale", { count: totals.stale })}
      </p>
      <div className="mt-5 flex flex-wrap gap-2">
        {next.kind === "review" && <Button kind="main" keyName="r" onClick={() => go(href("review"))}>{t("health.do.review", { count: next.count, minutes })}</Button>}
        {next.kind === "teach" && <Button kind="main" keyName="t" onClick={() => overlay.set({ kind: "teach" })}>{t("health.do.teach")}</Button>}
        {next.kind === "refresh" && <Button kind="main" onClick={() => go(href("memories", "", { stale: "yes" }))}>{t("health.do.refresh", { count: next.count })}</Button>}
        {["drain", "install", "reindex", "build_graph"].includes(next.kind) && <Button kind="main" onClick={() => go(href("settings"))}>{t(`health.do.${next.kind}` as "health.do.install")}</Button>}
        <Button onClick={() => go(href("memories", "", { order: "updated" }))}>{t("health.changed")}</Button>
      </div>
    </div>
  );
}

function Score({ view }: { view: View }) {
  const { t } = useTranslation();
  const { score, parts } = view.health;
  return (
    <div className="flex flex-wrap gap-x-12 gap-y-4">
      <div>
        <p className="font-serif text-score leading-[0.95] font-medium">{score ?? "–"}</p>
        <p className="mt-1 text-ink2">{score === null ? t("health.noScore") : t("health.of100")}</p>
      </div>
      <table className="self-start text-left">
        <caption className="sr-only">{t("health.parts")}</caption>
        <tbody>
          {parts.map((part) => (
            <tr key={part.name} className="h-[23px]">
              <th scope="row" className="pr-4 font-medium">{t(`health.part.${part.name}` as "health.part.used")}</th>
              <td className="w-[76px]"><Bar share={part.value ?? 0} /></td>
              <td className="w-11 pr-3 text-right font-semibold">{part.value === null ? "–" : Math.round(part.value * 100)}</td>
              <td className="text-small text-ink2 max-tabs:hidden">
                {part.whole === null ? t("health.unmeasured") : t(`health.why.${part.name}` as "health.why.used", { part: number(part.part), whole: number(part.whole), rest: number(part.whole - (part.part ?? 0)) })}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Types({ view }: { view: View }) {
  const { t } = useTranslation();
  const counts = BADGES.map((badge) => ({
    badge,
    count: view.totals.by_type.filter((one) => one.badge === badge && !one.is_record).reduce((sum, one) => sum + one.count, 0),
  })).filter((one) => one.count > 0).sort((a, b) => b.count - a.count);
  if (!counts.length) return null;
  return (
    <ul className="mt-7 flex gap-[3px]" aria-label={t("health.types")}>
      {counts.map(({ badge, count }) => (
        <li key={badge} className="min-w-[132px] whitespace-nowrap max-tabs:min-w-0" style={{ flexGrow: count, flexBasis: 0 }}>
          <a href={href("memories", "", { badge })} className="group block">
            <span className={cx("block h-[6px] rounded-[2px]", BADGE_FILL[badge])} />
            <span className="mt-2 flex items-center gap-2 max-tabs:flex-col max-tabs:items-start max-tabs:gap-0.5"><Badge type={badge} /> <span><b className="font-semibold">{number(count)}</b> <span className="text-ink2 group-hover:underline max-tabs:hidden">{t(`badges.${badge}`, { count })}</span></span></span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Days gathered into weeks that end today. */
function weeks<T>(days: readonly T[]): T[][] {
  const found: T[][] = [];
  for (let end = days.length; end > 0; end -= 7) found.unshift(days.slice(Math.max(0, end - 7), end));
  return found;
}

export function runningTotal(before: number, added: readonly number[]): number[] {
  const totals: number[] = [];
  for (const one of added) totals.push((totals.at(-1) ?? before) + one);
  return totals;
}

/** Memories kept, one above the other by type, the most frequent on top. */
export function growthByBadge(growth: readonly Pick<View["growth"][number], "by_badge">[], kept: Partial<Record<BadgeName, number>>) {
  const total = (badge: BadgeName) => growth.reduce((sum, one) => sum + (one.by_badge[badge] ?? 0), 0);
  const badges = BADGES.filter((one) => total(one) > 0 || (kept[one] ?? 0) > 0).toSorted((a, b) => (kept[a] ?? 0) - (kept[b] ?? 0));
  let below = growth.map(() => 0);
  return badges.map((badge) => {
    const own = runningTotal(Math.max(0, (kept[badge] ?? 0) - total(badge)), growth.map((one) => one.by_badge[badge] ?? 0));
    below = own.map((value, index) => value + (below[index] ?? 0));
    return { badge, own, stacked: below };
  }).reverse();
}

function Growth({ view }: { view: View }) {
  const { t } = useTranslation();
  const added = view.growth.reduce((sum, one) => sum + one.memories, 0);
  const bands = growthByBadge(view.growth, badgeCounts({ types: view.totals.by_type.map((one) => ({ value: one.type, count: one.count })) }));
  const top = bands[0]?.stacked ?? [];
  return (
    <Section title={t("health.growth")} note={t("health.growthNote", { count: added })}>
      <Suspense fallback={<div className="h-[150px]" />}>
        <Chart
          caption={t("health.growth")}
          kind="area"
          ticks={view.growth.map((one) => day(one.day))}
          notes={top.map((value, index) => (index === top.length - 1 ? number(value) : ""))}
          series={bands.map(({ badge, own, stacked }) => ({ label: t(`badge.${badge}`), mark: badge, values: stacked, told: own, stroke: badge.toLowerCase(), fill: `${badge.toLowerCase()}-bg` }))}
        />
      </Suspense>
    </Section>
  );
}

function Recall({ view }: { view: View }) {
  const { t } = useTranslation();
  const gathered = weeks(view.recall).map((days) => ({
    day: days[0]?.day ?? "",
    lines: days.reduce((sum, one) => sum + one.lines, 0),
    used: days.reduce((sum, one) => sum + one.used, 0),
  }));
  const { lines, used_lines } = view.savings;
  return (
    <Section title={t("health.recall")} note={lines ? <>{t("health.recallOf", { used: number(used_lines) })} <span className="given">{t("health.linesGiven", { count: lines })}</span> {t("health.recallUsed")}</> : t("health.nothingGiven")}>
      <Suspense fallback={<div className="h-[150px]" />}>
        <Chart
          caption={t("health.recall")}
          kind="bars"
          ticks={gathered.map((one) => day(one.day))}
          notes={gathered.map((one) => (one.lines ? percent(one.used / one.lines) : ""))}
          series={[
            { label: t("health.given"), values: gathered.map((one) => one.lines), fill: "given-bar", stroke: "given-edge" },
            { label: t("health.used"), values: gathered.map((one) => one.used), fill: "bar", stroke: "bar" },
          ]}
        />
      </Suspense>
    </Section>
  );
}

function Saved({ view }: { view: View }) {
  const { t } = useTranslation();
  const [explained, setExplained] = useState(false);
  const { saved_tokens, reused_tokens, given_tokens, lines, how } = view.savings;
  const most = Math.max(reused_tokens ?? 0, given_tokens, 1);
  const rows = [
    { name: t("health.avoided"), value: reused_tokens, style: "bg-bar" },
    { name: t("health.cost"), value: given_tokens, style: "border border-given-edge bg-given-bar" },
  ];
  return (
    <Section title={t("health.saved")} note={t("health.savedNote")} aside={<span className="-my-1 block font-serif text-[1.25rem] leading-none font-medium">{compact(saved_tokens)}</span>}>
      <dl className="space-y-3 pt-3">
        {rows.map(({ name, value, style }) => (
          <div key={name}>
            <dt className="flex justify-between text-ink2"><span>{name}</span><b className="font-semibold text-ink">{compact(value)}</b></dt>
            <dd aria-hidden className="mt-1 h-4 rounded-[3px] bg-sunken">{value ? <span className={cx("block h-full rounded-[3px]", style)} style={{ width: `${(100 * value) / most}%`, minWidth: 2 }} /> : null}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-ink2">
        {t(saved_tokens === null ? "health.savedUnmeasured" : "health.savedFrom", { count: lines })}{" "}
        <button type="button" className="link" aria-expanded={explained} onClick={() => setExplained(!explained)}>{t("health.howCounted")}</button>
      </p>
      {explained && <p className="fade mt-2 text-small text-ink2">{how}</p>}
    </Section>
  );
}

function Coverage({ view }: { view: View }) {
  const { t } = useTranslation();
  if (!view.modules?.length) return <Section title={t("health.coverage")}><p className="text-ink2">{view.graph.note || t("health.noGraph")}</p></Section>;
  const modules = view.modules.toSorted((a, b) => b.memories - a.memories).slice(0, 9);
  return (
    <Section title={t("health.coverage")}>
      <table className="w-full text-left">
        <thead className="text-meta text-ink3">
          <tr><th scope="col" className="font-normal">{t("health.module")}</th><td /><th scope="col" className="pl-4 text-right font-normal">{t("health.kept")}</th><th scope="col" className="pl-4 text-right font-normal">{t("health.e2e")}</th><th scope="col" className="pl-4 text-right font-normal">{t("health.files")}</th></tr>
        </thead>
        <tbody>
          {modules.map((one) => (
            <tr key={one.folder} className="h-[26px]">
              <th scope="row" className="max-w-[120px] truncate font-mono text-small font-normal"><a href={href("memories", "", { module: one.name })} title={one.folder} className={cx("hover:underline", !one.memories && "text-warn")}>{one.name}</a></th>
              <td className="w-1/2 px-3"><Bar share={one.files ? one.covered / one.files : 0} striped={!one.memories} /></td>
              <td className="pl-4 text-right font-semibold">{number(one.memories)}</td>
              <td className="pl-4 text-right text-ink2">{one.e2e ? number(one.e2e) : "–"}</td>
              <td className="pl-4 text-right text-ink2">{number(one.files)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function RecentSessions({ view }: { view: View }) {
  const { t } = useTranslation();
  const now = useNow();
  return (
    <Section title={t("health.sessions")}>
      {view.sessions.length === 0 && <p className="text-ink2">{t("health.noSessions")}</p>}
      <ul className="divide-y divide-line">
        {view.sessions.slice(0, 5).map((one) => (
          <li key={one.id}>
            <a href={href("sessions", one.id)} className="group flex gap-3 py-2">
              <span className="w-[64px] shrink-0 truncate pt-px font-mono text-meta text-ink2">{shortSession(one.id)}</span>
              <span className="min-w-0 flex-1">
                <span className="block truncate font-medium group-hover:underline"><Statement text={one.title || t("sessions.untitled")} /></span>
                <span className="text-small text-ink2">{!one.ended_at ? <b className="font-semibold text-patn">{t("sessions.working")}</b> : one.client} · {t("sessions.prompts", { count: one.prompt_count })}, {t("sessions.tools", { count: one.tool_count })}</span>
              </span>
              <time className="text-small text-ink2" dateTime={one.last_event_at}>{ago(one.last_event_at, now)}</time>
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What comes in while the page is open, above what was last observed. */
function Happening({ view }: { view: View }) {
  const { t } = useTranslation();
  const news = useStore(latest);
  const seen = new Set(news.map((one) => one.memory_id));
  const rows = [
    ...news.filter((one) => one.title).map((one) => ({ key: `n${one.number}`, at: one.at, type: one.type ?? "", text: one.title ?? "", kind: t(`news.${one.kind}`), memory: one.memory_id ?? "" })),
    ...view.observations.filter((one) => !seen.has(one.id)).map((one) => ({ key: one.id, at: one.created_at, type: one.type, text: one.content.split("\n", 1)[0] ?? "", kind: t("news.observation_stored"), memory: one.id })),
  ].slice(0, 8);
  return (
    <Section title={t("health.happening")} aside={news.length > 0 && <span className="inline-block size-2 rounded-full bg-patn" aria-hidden />}>
      {rows.length === 0 && <p className="text-ink2">{t("health.quiet")}</p>}
      <ol className="space-y-2">
        {rows.map((one) => (
          <li key={one.key} className="flex gap-3">
            <time className="w-10 shrink-0 font-mono text-small leading-5 text-ink2" dateTime={one.at} title={day(one.at)}>{clock(one.at)}</time>
            <span className="line-clamp-2 min-w-0"><span className="text-ink2">{one.kind}</span> <a href={href("memories", one.memory)} className="hover:underline"><Statement text={one.text} /></a></span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

export function FirstDay() {
  const { t } = useTranslation();
  return (
    <Empty title={t("empty.firstDay")} actions={<Button kind="main" keyName="t" onClick={() => overlay.set({ kind: "teach" })}>{t("action.teach")}</Button>}>
      <p>{t("empty.firstDayWhy")}</p>
      <div className="mt-4 space-y-2">
        {["/remember use pnpm, never npm", "wellkept admin demo"].map((line) => <pre key={line} className="rounded-control border border-edge bg-surface px-3 py-2 font-mono text-ui text-ink">{line}</pre>)}
      </div>
    </Empty>
  );
}
