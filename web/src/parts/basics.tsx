/** Small parts that every view uses. */
import { useEffect, useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, UnreachableError } from "@/lib/api";
import { label } from "@/lib/keys";
import { BADGES, badgeOf, dotsOf, type Badge as BadgeName } from "@/lib/memory";
import { piecesOf } from "@/lib/text";
import { score } from "@/lib/format";
import { TriangleAlert } from "lucide-react";

export function cx(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

const BADGE_STYLE: Record<BadgeName, string> = {
  PREF: "text-pref bg-pref-bg",
  CONV: "text-conv bg-conv-bg",
  PATN: "text-patn bg-patn-bg",
  WARN: "text-warn bg-warn-bg",
  FACT: "text-fact bg-fact-bg",
};
export const BADGE_FILL: Record<BadgeName, string> = {
  PREF: "bg-pref",
  CONV: "bg-conv",
  PATN: "bg-patn",
  WARN: "bg-warn",
  FACT: "bg-fact",
};

export function Badge({ type }: { type: string }) {
  const { t } = useTranslation();
  const badge = BADGES.find((one) => one === type) ?? badgeOf(type);
  return (
    <abbr
      title={t(`badge.${badge}`)}
      className={cx("badge inline-block shrink-0 rounded-badge px-1.5 font-mono text-meta leading-[18px] font-semibold no-underline", BADGE_STYLE[badge])}
    >
      {badge}
    </abbr>
  );
}

/** Memory content: always text, with code and hidden characters made visible. */
export function Statement({ text, terms = [] }: { text: string; terms?: readonly string[] }) {
  const { t } = useTranslation();
  return piecesOf(text, terms).map((piece, index) => {
    if (piece.kind === "mark") {
      return <span key={index} className="mark" title={t("hidden.title", { mark: piece.text })}>{piece.text}</span>;
    }
    if (piece.kind === "code") return <code key={index} className={cx("code", piece.hit && "hit")}>{piece.text}</code>;
    return piece.hit ? <span key={index} className="hit">{piece.text}</span> : <span key={index}>{piece.text}</span>;
  });
}

export function Confidence({ value, withNumber = false }: { value: number; withNumber?: boolean }) {
  const { t } = useTranslation();
  const dots = dotsOf(value);
  return (
    <span className="inline-flex items-center gap-2">
      <span role="img" aria-label={t("confidence.dots", { dots })} title={t("confidence.title", { value: score(value) })} className="inline-flex gap-[3px]">
        {[1, 2, 3, 4, 5].map((one) => (
          <span key={one} className={cx("size-[7px] rounded-full border border-ink", one <= dots && "bg-ink")} />
        ))}
      </span>
      {withNumber && score(value)}
    </span>
  );
}

export function Key({ name, onInk = false }: { name: string; onInk?: boolean }) {
  return (
    <kbd className={cx(
      "inline-block min-w-5 rounded-badge border px-1 text-center font-mono text-meta leading-[17px] shadow-[0_1px_0]",
      onInk ? "border-bg/40 shadow-bg/30" : "border-edge bg-surface text-ink shadow-edge",
    )}>{label(name)}</kbd>
  );
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "main" | "plain" | "quiet" | "danger";
  keyName?: string | undefined;
  icon?: ReactNode;
}

const BUTTON_STYLE = {
  main: "bg-ink text-bg border-ink hover:bg-ink2 hover:border-ink2 disabled:bg-ink3 disabled:border-ink3",
  plain: "bg-surface text-ink border-edge hover:bg-selected",
  quiet: "border-transparent text-ink2 hover:bg-selected hover:text-ink",
  danger: "bg-surface text-red border-edge hover:bg-red-bg",
};

export function Button({ kind = "plain", keyName, icon, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={cx(
        "inline-flex min-h-[30px] items-center justify-center gap-2 rounded-control border px-3 font-medium whitespace-nowrap transition-colors duration-100 disabled:opacity-60 max-tabs:min-h-11",
        BUTTON_STYLE[kind],
        className,
      )}
    >
      {icon}
      {children}
      {keyName && <span className="max-tabs:hidden"><Key name={keyName} onInk={kind === "main"} /></span>}
    </button>
  );
}

/** A yellow bar: how often the agent was given this. */
export function GivenBar({ count, most = 40 }: { count: number; most?: number }) {
  if (!count) return null;
  return (
    <span
      aria-hidden
      className="inline-block h-2 rounded-[2px] border border-given-edge bg-given-bar"
      style={{ width: 10 + Math.round(34 * Math.min(1, count / most)) }}
    />
  );
}

export function Bar({ share, className = "", striped = false }: { share: number; className?: string; striped?: boolean }) {
  return (
    <span aria-hidden className={cx("block h-[5px] overflow-hidden rounded-full bg-sunken", striped && "stripes opacity-60", className)}>
      <span className="block h-full rounded-full bg-bar" style={{ width: `${Math.round(100 * Math.max(0, Math.min(1, share)))}%` }} />
    </span>
  );
}

export function Toggle({ on, label: text, onChange, disabled = false }: { on: boolean; label: string; onChange: (on: boolean) => void; disabled?: boolean }) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={text}
      disabled={disabled}
      onClick={() => onChange(!on)}
      className={cx("relative h-[18px] w-[30px] shrink-0 rounded-full border transition-colors", on ? "border-ink bg-ink" : "border-field bg-transparent")}
    >
      <span className={cx("absolute top-[2px] size-3 rounded-full transition-[left] duration-100", on ? "left-[14px] bg-bg" : "left-[2px] bg-field")} />
    </button>
  );
}

/** Title of a section over a hairline. */
export function Section({ title, note, aside, children, className }: { title: ReactNode; note?: ReactNode; aside?: ReactNode; children: ReactNode; className?: string }) {
  return (
    <section className={cx("border-t border-line pt-3.5 pb-5", className)}>
      <div className="mb-2 flex items-baseline gap-2">
        <h2 className="font-semibold">{title}</h2>
        {note && <span className="min-w-0 text-ink3">{note}</span>}
        {aside && <span className="ml-auto shrink-0">{aside}</span>}
      </div>
      {children}
    </section>
  );
}

/** Skeletons in the shape of cards, shown only when loading takes longer than a moment. */
export function Skeleton({ rows = 4 }: { rows?: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t("state.loading")} className="space-y-6 py-4">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="space-y-2.5">
          <div className="skeleton h-2.5 w-2/5" />
          <div className="skeleton h-2.5 w-11/12" />
          <div className="skeleton h-2.5 w-3/5" />
        </div>
      ))}
    </div>
  );
}

/** What could not be read, what to do, and the id under which the server's log tells more. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  const known = error instanceof ApiError ? error : null;
  const id = known?.requestId ?? (error instanceof UnreachableError ? error.requestId : "");
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-control border border-edge bg-surface px-3.5 py-2.5">
      <TriangleAlert size={16} className="shrink-0 text-red" aria-hidden />
      <p className="min-w-[200px] flex-1">
        <strong className="font-semibold">{error instanceof UnreachableError ? t("state.unreachable") : known?.status === 403 ? t("state.forbidden") : t("state.failed")}</strong>{" "}
        <span className="text-ink2">{known ? `${known.detail || known.title} ${known.hint}` : ""}</span>
      </p>
      {id && <span className="font-mono text-meta text-ink3">{t("state.request", { id })}</span>}
      {onRetry && <Button onClick={onRetry}>{t("action.retry")}</Button>}
    </div>
  );
}

export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="fade max-w-[560px] py-8">
      <h2 className="font-serif text-card">{title}</h2>
      <div className="mt-2 text-list text-ink2">{children}</div>
      {actions && <div className="mt-4 flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
}

/** The time, anew every so often, for moments that are shown as "2 min". */
export function useNow(everyMs = 30_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function useWide(minimum: number): boolean {
  const query = `(min-width: ${minimum}px)`;
  const [wide, setWide] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setWide(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return wide;
}
