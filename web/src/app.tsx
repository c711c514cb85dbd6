/** The shell: rail, bar, the view that the URL names, and what floats above it. */
import { lazy, Suspense, useEffect, useMemo, useState, type ComponentType } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Skeleton } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Bar, Rail, Tabs } from "@/parts/shell";
import { ConnectionBanner, Refused, ToastHost } from "@/parts/notices";
import { useKeys } from "@/lib/keys";
import { connection, LiveFeed } from "@/lib/live";
import { useNotices } from "@/lib/notices";
import { useProject } from "@/lib/queries";
import { go, href, useRoute, type View } from "@/lib/router";
import { useStore } from "@/lib/store";
import { runUndo } from "@/lib/toasts";
import { overlay } from "@/lib/overlay";
import Next from "@/views/next";

const VIEW: Record<View, ComponentType> = {
  next: Next,
  pages: lazy(() => import("@/views/pages")),
  health: lazy(() => import("@/views/health")),
  memories: lazy(() => import("@/views/memories")),
  review: lazy(() => import("@/views/review")),
  sessions: lazy(() => import("@/views/sessions")),
  map: lazy(() => import("@/views/map")),
  recipes: lazy(() => import("@/views/recipes")),
  skills: lazy(() => import("@/views/skills")),
  chat: lazy(() => import("@/views/chat")),
  settings: lazy(() => import("@/views/settings")),
};
const Overlay = lazy(() => import("@/parts/overlay"));

const GO_KEYS: [string, View][] = [
  ["g n", "next"], ["g d", "pages"], ["g h", "health"], ["g m", "memories"], ["g r", "review"], ["g s", "sessions"], ["g p", "map"], ["g k", "skills"],
];

export function App() {
  const { t } = useTranslation();
  const { view, id } = useRoute();
  const project = useProject();
  const client = useQueryClient();
  const feed = useMemo(() => new LiveFeed(client, project), [client, project]);
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  useNotices(feed);
  const state = useStore(connection).state;
  const opened = useStore(overlay);
  const Shown = VIEW[view];

  useEffect(() => {
    document.title = `${t(`nav.${view}`)} · Wellkept`;
  }, [view, t]);

  useKeys({
    "mod+k": () => overlay.set({ kind: "palette" }),
    "mod+shift+m": () => go(href("memories")),
    "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
    "?": () => overlay.set({ kind: "keys" }),
    r: () => go(href("review")),
    t: () => overlay.set({ kind: "teach" }),
    z: () => void runUndo(),
    ...Object.fromEntries(GO_KEYS.map(([key, to]) => [key, () => go(href(to))])),
  });

  if (state === "refused") return <Refused />;
  return (
    <div className="grid h-dvh grid-cols-[196px_minmax(0,1fr)] grid-rows-[48px_auto_minmax(0,1fr)] max-tabs:grid-cols-1 max-tabs:grid-rows-[auto_auto_minmax(0,1fr)_auto]">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-20 focus:bg-surface focus:p-3" onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>("#main")?.focus();
      }}>{t("shell.skip")}</a>
      <Rail />
      <Bar />
      <ConnectionBanner onRetry={() => feed.tryNow()} />
      <main id="main" tabIndex={-1} className="min-h-0 overflow-auto outline-none tabs:col-start-2 max-tabs:row-start-3">
        <Boundary of={`${view}/${id}`}>
          <Suspense fallback={<div className="px-7"><Skeleton /></div>}>
            <Shown />
          </Suspense>
        </Boundary>
      </main>
      <Tabs />
      <ToastHost />
      {opened && <Suspense><Overlay /></Suspense>}
      <LiveAnnouncer />
    </div>
  );
}

/** Says to screen readers what is new, at most once in ten seconds. */
function LiveAnnouncer() {
  const { t } = useTranslation();
  const { missed, state } = useStore(connection);
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setText(state === "away" ? t("live.stopped") : missed > 0 ? t("live.back", { count: missed }) : ""), 300);
    return () => clearTimeout(timer);
  }, [state, missed, t]);
  return <p role="status" className="sr-only">{text}</p>;
}
