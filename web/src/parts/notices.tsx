/** Toasts, the banner of a stopped server, and the page for those without the token. */
import { Check, TriangleAlert, Unplug } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { connection } from "@/lib/live";
import { useStore } from "@/lib/store";
import { dismiss, TOAST_MS, toasts, type Toast } from "@/lib/toasts";
import { clock } from "@/lib/format";
import { Button, Key, Statement, useNow } from "./basics";

export function ToastHost() {
  const shown = useStore(toasts);
  return (
    <div role="status" className="pointer-events-none fixed right-4 bottom-4 z-30 flex flex-col items-end gap-2 max-tabs:inset-x-3 max-tabs:bottom-[150px] max-tabs:items-stretch">
      {shown.map((one) => <ToastCard key={one.id} toast={one} />)}
    </div>
  );
}

function ToastCard({ toast }: { toast: Toast }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => dismiss(toast.id), TOAST_MS);
    return () => clearTimeout(timer);
  }, [held, toast.id]);
  const Icon = toast.tone === "done" ? Check : TriangleAlert;
  return (
    <div
      className="fade pointer-events-auto flex max-w-[560px] items-center gap-2.5 rounded-large bg-ink py-1.5 pr-1.5 pl-3.5 text-bg shadow-toast"
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <Icon size={15} className="shrink-0" aria-hidden />
      <span className="min-w-0 flex-1 truncate py-1 [&_.code]:bg-transparent"><Statement text={toast.text} /></span>
      {toast.action && (
        <button
          type="button"
          className="flex items-center gap-2 rounded-control bg-bg/20 px-2.5 py-1 font-semibold hover:bg-bg/30 focus-visible:outline-bg max-tabs:min-h-11 max-tabs:px-4"
          onClick={() => {
            dismiss(toast.id);
            toast.action?.run();
          }}
        >
          {toast.action.label}
          {toast.action.isUndo && <span className="max-tabs:hidden"><Key name="z" onInk /></span>}
        </button>
      )}
    </div>
  );
}

export function ConnectionBanner({ onRetry }: { onRetry: () => void }) {
  const { t } = useTranslation();
  const { state, since, nextTryAt, missed } = useStore(connection);
  const now = useNow(state === "away" ? 1_000 : 30_000);
  if (state === "away") {
    const seconds = Math.max(0, Math.ceil((nextTryAt - now) / 1000));
    return (
      <div role="alert" className="col-start-2 m-2 flex items-center gap-3 rounded-control border border-red bg-red-bg px-3.5 py-2 max-tabs:col-start-1">
        <Unplug size={16} className="shrink-0 text-red" aria-hidden />
        <p className="flex-1"><strong className="font-semibold">{t("live.stopped")}</strong> {t("live.asOf", { time: clock(since), seconds })}</p>
        <Button onClick={onRetry}>{t("live.tryNow")}</Button>
      </div>
    );
  }
  if (missed > 0) {
    return (
      <div className="col-start-2 m-2 flex items-center gap-3 rounded-control border border-edge bg-surface px-3.5 py-2 max-tabs:col-start-1">
        <Check size={16} aria-hidden />
        <p className="flex-1"><strong className="font-semibold">{t("live.connected")}</strong> {t("live.meanwhile", { count: missed })}</p>
        <Button onClick={() => connection.set((before) => ({ ...before, missed: 0 }))}>{t("action.close")}</Button>
      </div>
    );
  }
  return <div className="col-start-2 max-tabs:col-start-1" />;
}

/** Shown when the server does not know this browser. */
export function Refused() {
  const { t } = useTranslation();
  return (
    <main className="mx-auto max-w-[560px] px-6 py-24">
      <h1 className="font-serif text-verdict">{t("refused.title")}</h1>
      <p className="mt-3 text-list text-ink2">{t("refused.why")}</p>
      <pre className="mt-5 rounded-control border border-edge bg-surface px-4 py-3 font-mono">wellkept serve --open</pre>
    </main>
  );
}
