/** Rail, bar and bottom tabs. */
import {
  Activity, BookOpen, CheckCheck, ChevronsUpDown, CornerUpRight, History, ListOrdered, Menu, MessageSquareText, Network, Plus,
  ScrollText, Search, Settings2, Sparkles, X, type LucideIcon,
} from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { number } from "@/lib/format";
import { label } from "@/lib/keys";
import { shortSession } from "@/lib/memory";
import { overlay } from "@/lib/overlay";
import { useOpenSession, useProject, useProjects, useRail } from "@/lib/queries";
import { change, go, href, useRoute, type View } from "@/lib/router";
import { Button, cx } from "./basics";

export const ICONS: Record<View, LucideIcon> = {
  next: CornerUpRight,
  pages: ScrollText,
  health: Activity,
  memories: BookOpen,
  review: CheckCheck,
  sessions: History,
  map: Network,
  recipes: ListOrdered,
  skills: Sparkles,
  chat: MessageSquareText,
  settings: Settings2,
};
export const PLACES: readonly View[] = ["next", "pages", "health", "memories", "review", "sessions", "map", "recipes", "skills", "chat"];

function NavItem({ view, count, urgent = false }: { view: View; count?: number | null | undefined; urgent?: boolean }) {
  const { t } = useTranslation();
  const here = useRoute().view === view;
  const Icon = ICONS[view];
  return (
    <li>
      <a
        href={href(view)}
        aria-current={here ? "page" : undefined}
        className={cx("flex h-[31px] items-center gap-3 rounded-control px-2.5", here ? "bg-selected font-semibold text-ink" : "text-ink2 hover:bg-selected")}
      >
        <Icon size={15} aria-hidden />
        <span className="flex-1">{t(`nav.${view}`)}</span>
        {count !== undefined && count !== null && (urgent
          ? count > 0 && <span className="min-w-5 rounded-full bg-ink px-1.5 text-center text-small leading-5 font-semibold text-bg">{number(count)}</span>
          : <span className="text-ink3">{number(count)}</span>)}
      </a>
    </li>
  );
}

export function Rail() {
  const { t } = useTranslation();
  const rail = useRail();
  return (
    <nav aria-label={t("shell.nav")} className="row-span-3 flex min-h-0 flex-col overflow-auto border-r border-line max-tabs:hidden">
      <a href={href("next")} className="flex h-12 shrink-0 items-center px-5 font-serif text-[1.125rem] font-semibold" aria-label="Wellkept">
        Well<span className="bg-[linear-gradient(transparent_62%,var(--color-given)_62%)]">kept</span>
      </a>
      <ProjectPicker />
      <ul className="mt-3 space-y-0.5 px-2.5">
        {PLACES.map((view) => (
          <NavItem key={view} view={view} count={rail.counts[view]} urgent={view === "review"} />
        ))}
      </ul>
      <ul className="mt-auto px-2.5 pt-4"><NavItem view="settings" /></ul>
      <dl className="mx-2.5 mt-2 space-y-1 border-t border-line px-2.5 py-3 text-meta text-ink3">
        {rail.facts.map(({ name, value, bad }) => (
          <div key={name} className="flex justify-between gap-2">
            <dt>{name}</dt>
            <dd className={cx("truncate font-medium", bad ? "text-red" : "text-ink2")}>{value}</dd>
          </div>
        ))}
      </dl>
    </nav>
  );
}

/** The project that is shown; a native select, so that it works with every keyboard and reader. */
function ProjectPicker() {
  const { t } = useTranslation();
  const chosen = useProject();
  const rail = useRail();
  const projects = useProjects().data;
  const here = chosen || projects?.here || "";
  return (
    <div className="relative mx-2.5 rounded-large border border-line bg-surface px-2.5 py-1.5 hover:border-edge">
      <p className="truncate pr-5 font-semibold">{rail.name || nameOf(here) || "–"}</p>
      <p className="truncate pr-5 text-meta text-ink2">{rail.note}</p>
      <ChevronsUpDown size={14} className="absolute top-3.5 right-2 text-ink3" aria-hidden />
      <select
        aria-label={t("shell.project")}
        value={here}
        onChange={(event) => change({ project: event.target.value === projects?.here ? null : event.target.value }, { id: "" })}
        className="absolute inset-0 cursor-pointer opacity-0"
      >
        {projects?.items.map((one) => (
          <option key={one.project} value={one.project}>{nameOf(one.project)} ({number(one.memories)})</option>
        ))}
      </select>
    </div>
  );
}

export function nameOf(project: string): string {
  return project.replace(/[\\/]+$/, "").split(/[\\/:]/).at(-1)?.replace(/\.git$/, "") ?? project;
}

export function Bar() {
  const { t } = useTranslation();
  const { view, params } = useRoute();
  const open = useOpenSession().data;
  const input = useRef<HTMLInputElement>(null);
  const query = view === "memories" ? (params.get("q") ?? "") : "";
  return (
    <header className={cx("flex items-center gap-3 border-b border-line px-6 max-tabs:px-4 max-tabs:py-2", view === "review" && "max-tabs:hidden")}>
      <form role="search" className="relative w-full max-w-[420px] max-tabs:max-w-none" onSubmit={(event) => event.preventDefault()}>
        <Search size={15} className="absolute top-1/2 left-3 -translate-y-1/2 text-ink3" aria-hidden />
        <input
          id="search"
          ref={input}
          type="search"
          autoComplete="off"
          value={query}
          aria-label={t("shell.search")}
          placeholder={t("shell.search")}
          onChange={(event) => {
            const q = event.target.value;
            if (view === "memories") change({ q });
            else go(href("memories", "", { q }));
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            if (event.key === "ArrowDown") document.querySelector<HTMLElement>("[data-row]")?.focus();
          }}
          className="h-[30px] w-full rounded-control border border-field bg-surface pr-16 pl-8 [&::-webkit-search-cancel-button]:hidden max-tabs:h-11 max-tabs:text-[1rem]"
        />
        {query
          ? <button type="button" aria-label={t("shell.clear")} onClick={() => { change({ q: null }); input.current?.focus(); }} className="absolute top-1/2 right-1.5 grid size-6 -translate-y-1/2 place-items-center rounded-control text-ink3 hover:text-ink"><X size={15} /></button>
          : <button type="button" onClick={() => overlay.set({ kind: "palette" })} title={t("shell.palette")} className="absolute top-1/2 right-1.5 -translate-y-1/2 rounded-badge border border-edge px-1.5 font-mono text-meta leading-[18px] text-ink2 max-tabs:hidden">{label("mod+k")}</button>}
      </form>
      <span className="flex-1 max-tabs:hidden" />
      {open && (
        <a href={href("sessions", open.id)} className="flex items-center gap-2 truncate text-ink2 hover:text-ink max-panes:hidden">
          <span className="size-2 shrink-0 rounded-full bg-patn shadow-[0_0_0_3px_var(--color-patn-bg)]" aria-hidden />
          {t("shell.working", { client: open.client })} <b className="font-mono text-small font-semibold text-ink">{shortSession(open.id)}</b>
        </a>
      )}
      <Button icon={<Plus size={15} aria-hidden />} onClick={() => overlay.set({ kind: "teach" })} className="max-tabs:hidden">{t("action.teach")}</Button>
    </header>
  );
}

export function Tabs() {
  const { t } = useTranslation();
  const { view } = useRoute();
  const rail = useRail();
  const tabs: readonly View[] = ["next", "pages", "review", "memories"];
  const style = (here: boolean) => cx("relative flex min-h-[56px] flex-1 flex-col items-center justify-center gap-1 text-meta", here ? "font-semibold text-ink" : "text-ink2");
  return (
    <nav aria-label={t("shell.nav")} className="row-start-4 flex border-t border-line bg-bg pb-[env(safe-area-inset-bottom)] tabs:hidden">
      {tabs.map((one) => {
        const Icon = ICONS[one];
        const waiting = one === "review" ? (rail.counts.review ?? 0) : 0;
        return (
          <a key={one} href={href(one)} aria-current={view === one ? "page" : undefined} className={style(view === one)}>
            <Icon size={19} aria-hidden />
            {t(`nav.${one}`)}
            {waiting > 0 && <span className="absolute top-1 left-[calc(50%+6px)] min-w-[18px] rounded-full bg-ink px-1 text-center text-[11px] leading-[18px] font-semibold text-bg">{number(waiting)}</span>}
          </a>
        );
      })}
      <button type="button" onClick={() => overlay.set({ kind: "more" })} className={style(!tabs.includes(view))}>
        <Menu size={19} aria-hidden />
        {t("nav.more")}
      </button>
    </nav>
  );
}
