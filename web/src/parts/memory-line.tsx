/** The one grammar of a memory: badge, source, session, phase | statement | confidence, use. */
import { BookUp, Bot, Eye, FlaskConical, GitCommitHorizontal, MousePointerClick, PenLine, Hammer, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ago, exact } from "@/lib/format";
import { shortSession, type Source } from "@/lib/memory";
import { Badge, Confidence, cx } from "./basics";

const SOURCE_ICON: Record<Source, LucideIcon> = {
  user_taught: PenLine,
  agent_explicit: Bot,
  observer_inferred: Eye,
  qa_auto: FlaskConical,
  mcp_auto: MousePointerClick,
  commit_auto: GitCommitHorizontal,
  imported: BookUp,
};

export interface LineOf {
  type: string;
  source?: string | null;
  session_id?: string | null;
  phase?: string | null;
  at?: string | null;
  corrected?: boolean;
  work_unit?: string | null;
}

export function SourceIcon({ source, corrected = false }: { source: string | null | undefined; corrected?: boolean }) {
  const Icon = corrected ? Hammer : SOURCE_ICON[source as Source];
  return Icon ? <Icon size={13} className="shrink-0" aria-hidden /> : null;
}

export function Provenance({ of, children }: { of: LineOf; children?: ReactNode }) {
  const { t } = useTranslation();
  const source = of.source as Source | null | undefined;
  const word = !source ? t("source.unknown") : of.corrected ? t("source.corrected") : t(`source.${source}`);
  const isTag = source && source.endsWith("_auto");
  const rest = [
    of.session_id ? <span key="s" className="font-mono text-small" title={of.session_id}>{shortSession(of.session_id)}</span> : null,
    of.phase ? <span key="p">{t(`phase.${of.phase}` as "phase.define", { defaultValue: of.phase })}</span> : null,
    of.work_unit ? <span key="w" className="max-w-[220px] truncate" title={of.work_unit}>{of.work_unit}</span> : null,
    of.at ? <time key="a" dateTime={of.at} title={exact(of.at)}>{ago(of.at)}</time> : null,
  ].filter(Boolean);
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5 text-ink2">
      <Badge type={of.type} />
      <span className="inline-flex items-center gap-1.5">
        <SourceIcon source={source} corrected={of.corrected ?? false} />
        <span className={cx(isTag && !of.corrected && "font-mono text-small")}>{word}</span>
      </span>
      {rest.map((one, index) => (
        <span key={index} className="inline-flex gap-2"><span aria-hidden>·</span>{one}</span>
      ))}
      {children}
    </span>
  );
}

/** First row of a card: provenance left, confidence right. */
export function MemoryHead({ of, confidence, children }: { of: LineOf; confidence?: number; children?: ReactNode }) {
  return (
    <div className="flex items-center justify-between gap-3">
      <Provenance of={of} />
      <span className="flex shrink-0 items-center gap-2.5">
        {children}
        {confidence !== undefined && <Confidence value={confidence} />}
      </span>
    </div>
  );
}
