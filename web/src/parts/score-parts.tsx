/** Why a line was chosen over others: its weight, and importance and confidence at that moment. */
import { useTranslation } from "react-i18next";
import type { Schema } from "@/lib/api";
import { score } from "@/lib/format";
import { Statement } from "./basics";

export function ScoreParts({ line }: { line: Schema["InjectedLine"] }) {
  const { t } = useTranslation();
  const found = line.score;
  return (
    <p className="mt-2.5 flex flex-wrap gap-x-5 gap-y-1 text-small text-ink2">
      {line.reason && <span><Statement text={line.reason} /></span>}
      {found && <span><b className="font-semibold text-ink">{score(found.score)}</b> {t("why.weight")}</span>}
      {found?.importance != null && <span><b className="font-semibold text-ink">{score(found.importance)}</b> {t("why.importance")}</span>}
      {found?.confidence != null && <span><b className="font-semibold text-ink">{score(found.confidence)}</b> {t("why.confidence")}</span>}
      <span className="ml-auto"><Outcome line={line} /></span>
    </p>
  );
}

export function Outcome({ line }: { line: Pick<Schema["InjectedLine"], "outcome" | "outcome_by"> }) {
  const { t } = useTranslation();
  const style = line.outcome === "harm" ? "font-semibold text-red" : line.outcome === "used" ? "text-ink" : "text-ink3";
  return <span className={style} title={line.outcome_by}>{t(`outcome.${line.outcome}`)}</span>;
}
