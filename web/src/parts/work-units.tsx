/** Finished units of work: choose some, see what would be put away, archive it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, post, type Schema } from "@/lib/api";
import { ago } from "@/lib/format";
import { useProject } from "@/lib/queries";
import { toast } from "@/lib/toasts";
import { Button, Failure, Section, Statement, useNow } from "./basics";
import { Dialog } from "./dialog";

type Unit = Schema["WorkUnit"];

const SHOWN = 40;
const nameOf = (one: Unit) => `${one.methodology}/${one.hierarchy.join("/")}`;

/** Archive the chosen units one after another; how many memories that is. */
async function archive(units: readonly Unit[], dryRun: boolean): Promise<number> {
  let count = 0;
  for (const { methodology, hierarchy } of units) {
    count += (await post("/api/session/archive", { body: { methodology, units: hierarchy, dry_run: dryRun } })).changed;
  }
  return count;
}

export function WorkUnits() {
  const { t } = useTranslation();
  const now = useNow();
  const project = useProject();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const units = useQuery({ queryKey: ["health", "units", project], queryFn: ({ signal }) => get("/api/session/units", { signal }) });
  const items = units.data?.items.slice(0, SHOWN) ?? [];
  const picked = items.filter((one) => chosen.has(nameOf(one)));
  const preview = useMutation({ mutationFn: () => archive(picked, true) });
  const run = useMutation({
    mutationFn: () => archive(picked, false),
    onSuccess: (count) => {
      preview.reset();
      setChosen(new Set());
      void client.invalidateQueries();
      toast(t("done.archived", { count }));
    },
  });
  if (!items.length) return null;
  const toggle = (name: string) => setChosen((before) => {
    const after = new Set(before);
    if (!after.delete(name)) after.add(name);
    return after;
  });
  return (
    <Section title={t("care.units")} note={t("care.unitsNote")} aside={<Button disabled={!picked.length || preview.isPending} onClick={() => preview.mutate()}>{t("care.look")}</Button>}>
      {preview.error && <Failure error={preview.error} />}
      <ul>
        {items.map((one) => (
          <li key={nameOf(one)}>
            <label className="flex min-h-9 cursor-pointer items-center gap-3 rounded-control px-1 hover:bg-selected max-tabs:min-h-11">
              <input type="checkbox" checked={chosen.has(nameOf(one))} onChange={() => toggle(nameOf(one))} className="size-4 shrink-0 accent-ink" />
              <span className="min-w-0 flex-1 truncate"><Statement text={one.label} /></span>
              <span className="shrink-0 text-small text-ink2 max-tabs:hidden">{one.methodology} · {t("skills.memories", { count: one.memories })} · {ago(one.latest_at, now)}</span>
            </label>
          </li>
        ))}
      </ul>
      {preview.data !== undefined && (
        <Dialog title={t("care.unitsTitle", { count: preview.data })} onClose={() => preview.reset()}>
          <ul className="max-h-[46vh] list-disc overflow-auto px-5 pt-3 pl-9" tabIndex={0}>{picked.map((one) => <li key={nameOf(one)}><Statement text={one.label} /></li>)}</ul>
          <p className="px-5 pt-3 text-ink2">{t("care.unitsWhy")}</p>
          {run.error && <div className="px-5 pt-3"><Failure error={run.error} /></div>}
          <div className="flex justify-end gap-2 p-5"><Button onClick={() => preview.reset()}>{t("action.cancel")}</Button><Button kind="main" disabled={run.isPending || preview.data === 0} onClick={() => run.mutate()}>{t("action.archive")}</Button></div>
        </Dialog>
      )}
    </Section>
  );
}
