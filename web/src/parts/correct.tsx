/** Correct a memory: four reasons, one key each, the difference shown while you type. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { ApiError } from "@/lib/api";
import { label } from "@/lib/keys";
import type { Memory } from "@/lib/memory";
import { closeOverlay } from "@/lib/overlay";
import { wordChanges } from "@/lib/text";
import { Badge, Button, cx, Failure, Key, Statement } from "./basics";
import { useNear } from "./detail";
import { Dialog } from "./dialog";
import { FIELD } from "./teach";

export const REASONS = ["inaccurate", "outdated", "too_specific", "duplicate"] as const;
export type Reason = (typeof REASONS)[number];

export function CorrectDialog({ memory, reason: first }: { memory: Memory; reason?: string | undefined }) {
  const { t } = useTranslation();
  const actions = useActions();
  const [reason, setReason] = useState<Reason>(REASONS.find((one) => one === first) ?? "inaccurate");
  const [text, setText] = useState(memory.content);
  const [original, setOriginal] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [theirs, setTheirs] = useState("");
  const rewrites = reason === "inaccurate" || reason === "too_specific";
  const ready = rewrites ? text.trim() !== "" && text.trim() !== memory.content : reason === "duplicate" ? Boolean(original) : true;
  const save = async () => {
    if (!ready) return;
    try {
      await actions.correct(memory, reason, { content: rewrites ? text.trim() : "", original: reason === "duplicate" ? original : "" });
      closeOverlay();
    } catch (failed) {
      setError(failed);
      if (failed instanceof ApiError && failed.status === 409) setTheirs(await actions.contentOf(memory.id));
    }
  };
  const pick = Object.fromEntries(REASONS.map((one, index) => [String(index + 1), () => setReason(one)]));
  return (
    <Dialog title={t("correct.title")} onClose={closeOverlay} keys={{ ...pick, "mod+enter": () => void save() }}>
      <form className="px-3 pt-2 pb-4" onSubmit={(event) => { event.preventDefault(); void save(); }}>
        <fieldset>
          <legend className="sr-only">{t("correct.title")}</legend>
          {REASONS.map((one, index) => (
            <label key={one} className={cx("flex min-h-9 cursor-pointer items-center gap-3 rounded-control px-2 has-focus-visible:outline-2 max-tabs:min-h-11", reason === one && "bg-selected font-medium")}>
              <input type="radio" name="reason" checked={reason === one} onChange={() => setReason(one)} className="sr-only" autoFocus={reason === one && !rewrites} />
              <Key name={String(index + 1)} />{t(`correct.${one}`)}
            </label>
          ))}
        </fieldset>
        <div className="mt-2 px-2">
          {rewrites && (
            <>
              <textarea autoFocus rows={3} value={text} onChange={(event) => setText(event.target.value)} aria-label={t("correct.text")} className={cx(FIELD, "font-serif text-prompt leading-snug")} />
              {text !== memory.content && <p className="mt-2 rounded-control bg-sunken px-3 py-2 font-serif text-list" aria-label={t("correct.difference")}><Difference before={memory.content} after={text} /></p>}
            </>
          )}
          {reason === "outdated" && <p className="rounded-control bg-sunken px-3 py-2 font-serif text-prompt text-ink2 line-through decoration-red"><Statement text={memory.content} /></p>}
          {reason === "duplicate" && <Originals memory={memory} chosen={original} onChoose={setOriginal} />}
          {theirs && <div className="mt-3"><p className="font-medium">{t("correct.conflict")}</p><p className="mt-1 rounded-control bg-sunken px-3 py-2 font-serif text-list"><Statement text={theirs} /></p></div>}
          {error !== null && !theirs && <div className="mt-3"><Failure error={error} /></div>}
          <div className="mt-3 flex items-center gap-2">
            <span className="flex-1 text-small text-ink2">{t("correct.history")}</span>
            <Button onClick={closeOverlay}>{t("action.cancel")}</Button>
            <Button kind="main" type="submit" disabled={!ready}>{t("action.save")} <span className="font-mono text-meta opacity-80">{label("mod+enter")}</span></Button>
          </div>
        </div>
      </form>
    </Dialog>
  );
}

export function Difference({ before, after }: { before: string; after: string }) {
  return wordChanges(before, after).map((one, index) => {
    if (one.kind === "same") return <span key={index}>{one.text}</span>;
    return one.kind === "out"
      ? <del key={index} className="text-ink3 decoration-red">{one.text}</del>
      : <ins key={index} className="decoration-patn decoration-2 underline-offset-4">{one.text}</ins>;
  });
}

/** The nearest memories: the original of a duplicate is most likely among them. */
function Originals({ memory, chosen, onChoose }: { memory: Memory; chosen: string; onChoose: (id: string) => void }) {
  const { t } = useTranslation();
  const near = useNear(memory, 5);
  const rows: readonly Memory[] = near.data ?? [];
  return (
    <fieldset>
      <legend className="mb-1 text-ink2">{t("correct.original")}</legend>
      {near.error && <Failure error={near.error} />}
      {near.data && rows.length === 0 && <p className="text-ink2">{t("near.none")}</p>}
      {rows.map((one) => (
        <label key={one.id} className={cx("flex cursor-pointer items-baseline gap-3 rounded-control px-2 py-1.5 has-focus-visible:outline-2", chosen === one.id && "bg-selected")}>
          <input type="radio" name="original" checked={chosen === one.id} onChange={() => onChoose(one.id)} className="accent-ink" />
          <Badge type={one.type} /><span className="line-clamp-2 min-w-0 flex-1"><Statement text={one.content} /></span>
        </label>
      ))}
    </fieldset>
  );
}
