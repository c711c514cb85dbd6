/** Toasts for what a client's work brought: learned facts, detected skills, made skills. */
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { LiveFeed, News } from "./live";
import { shortSession } from "./memory";
import { go, href } from "./router";
import { toast } from "./toasts";

const GATHER_MS = 1_500;

export function useNotices(feed: LiveFeed): void {
  const { t } = useTranslation();
  useEffect(() => {
    let learned: News[] = [];
    let timer = 0;
    const say = () => {
      const first = learned[0];
      if (first?.session_id) {
        const session = first.session_id;
        toast(t("notice.learned", { count: learned.length, session: shortSession(session) }), {
          action: { label: t("nav.review"), run: () => go(href("review", session)) },
        });
      }
      learned = [];
    };
    const stop = feed.onNews((news) => {
      // What a person does here has its own toast; this is about the work of clients.
      if (news.kind === "memory_stored" && news.session_id) {
        learned.push(news);
        clearTimeout(timer);
        timer = window.setTimeout(say, GATHER_MS);
      } else if (news.kind === "skills_detected" || news.kind === "skill_generated") {
        const text = t(news.kind === "skills_detected" ? "notice.skills" : "notice.skill", { names: news.title ?? "" });
        toast(text, { action: { label: t("nav.skills"), run: () => go(href("skills")) } });
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [feed, t]);
}
