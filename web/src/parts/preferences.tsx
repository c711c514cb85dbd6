/** What agents are given, the methodology, and the model of the search: settings that this page may change. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { saveSetting } from "@/lib/actions";
import { get, type Schema } from "@/lib/api";
import { useProject } from "@/lib/queries";
import { toast } from "@/lib/toasts";
import { cx, Failure, Section, Skeleton } from "./basics";
import { Line } from "./setting-line";
import { FIELD } from "./teach";

type Item = Schema["Setting"];

/** In the order in which they are shown; a number is how large it may be. */
const GIVEN = [["context.budget_tokens", 20_000], ["context.sessions", 50], ["context.observations", 200], ["context.days", 366], ["context.skills", 0], ["recall.limit", 100], ["capture.daily_model_tokens", 10_000_000]] as const;
const SEARCH = [["embedding.provider", 0], ["embedding.model", 0]] as const;

export function Preferences() {
  const { t } = useTranslation();
  const project = useProject();
  const known = useQuery({ queryKey: ["settings", project], queryFn: ({ signal }) => get("/api/config/list", { signal }) });
  if (!known.data) return <Section title={t("prefs.given")}>{known.error ? <Failure error={known.error} onRetry={() => void known.refetch()} /> : <Skeleton rows={2} />}</Section>;
  const items = new Map(known.data.items.map((one) => [one.key, one]));
  const lines = (wanted: readonly (readonly [string, number])[]) => wanted.map(([key, most]) => {
    const item = items.get(key);
    return item && <Preference key={key} item={item} most={most} />;
  });
  return (
    <>
      <Section title={t("prefs.given")} note={t("prefs.givenNote")}>{lines(GIVEN)}</Section>
      <Section title={t("prefs.work")} note={t("prefs.workNote")}>{lines([["methodology", 0]])}</Section>
      <Section title={t("prefs.search")} note={t("prefs.searchNote")}>{lines(SEARCH)}</Section>
    </>
  );
}

/** One setting: written when it is left or Enter is pressed; where it comes from is said beside it. */
function Preference({ item, most }: { item: Item; most: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const before = String(item.value ?? "");
  const [typed, setTyped] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (value: string) => saveSetting(item.key, value),
    onSuccess: (_, value) => {
      setTyped(null);
      void client.invalidateQueries();
      if (value !== before) toast(t("prefs.saved"), { action: { label: t("action.undo"), isUndo: true, run: () => save.mutate(item.origin === "default" ? "" : before) } });
    },
  });
  const name = t(`prefs.name.${item.key.replace(".", "_")}` as "prefs.name.methodology");
  // A variable of the environment is stronger than the file that this page writes.
  const isForced = item.origin.startsWith("WELLKEPT_");
  const write = (value: string) => {
    if (value !== before) save.mutate(value);
  };
  const common = { "aria-label": name, disabled: isForced || save.isPending || !item.editable };
  return (
    <Line name={name} note={item.origin === "default" ? t("prefs.usual") : t("prefs.from", { origin: item.origin })}>
      {save.error && <Failure error={save.error} />}
      {item.choices.length > 0
        ? (
          <select {...common} value={before} onChange={(event) => write(event.target.value)} className={cx(FIELD, "w-44")}>
            {item.choices.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        )
        : (
          <input
            {...common}
            type={most ? "number" : "text"}
            min={0}
            {...(most ? { max: most } : {})}
            value={typed ?? before}
            placeholder={t("prefs.unset")}
            onChange={(event) => setTyped(event.target.value)}
            onBlur={(event) => write(event.target.value.trim())}
            onKeyDown={(event) => { if (event.key === "Enter") write(event.currentTarget.value.trim()); }}
            className={cx(FIELD, most ? "w-28 text-right" : "w-44 font-mono text-small")}
          />
        )}
    </Line>
  );
}
