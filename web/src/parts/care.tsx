/** Care of the store: what fills it, what could go, and passes that tidy it. The preview comes first. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { get, post, type Schema } from "@/lib/api";
import { bytes, compact, number } from "@/lib/format";
import { useHealth, useProject } from "@/lib/queries";
import { stream } from "@/lib/stream";
import { toast } from "@/lib/toasts";
import { Badge, Bar, Button, Failure, Section, Skeleton, Statement } from "./basics";
import { Dialog } from "./dialog";
import { Line } from "./setting-line";

type Preview = { title: string; rows: readonly { id: string; type?: string; text: string; note?: string }[]; count: number; run: () => void };

export function Care() {
  const { t } = useTranslation();
  const project = useProject();
  const client = useQueryClient();
  const actions = useActions();
  const [preview, setPreview] = useState<Preview | null>(null);
  const health = useHealth().data;
  const storage = useQuery({ queryKey: ["health", "storage", project], queryFn: ({ signal }) => get("/api/storage", { signal }) });
  const done = (text: string, undoId?: string | null) => {
    setPreview(null);
    void client.invalidateQueries();
    toast(text, undoId ? { action: { label: t("action.undo"), isUndo: true, run: () => actions.undo([], undoId) } } : {});
  };
  const rowsOf = (memories: readonly Schema["Memory"][]) => memories.map((one) => ({ id: one.id, type: one.type, text: one.content }));
  const cut = async (kind: "prune_unsure" | "remove_stale") => {
    const path = `/api/${kind}` as "/api/prune_unsure";
    try {
      const found = await post(path, { body: { dry_run: true } });
      const run = () => void post(path, { body: { dry_run: false } }).then((gone) => done(t("done.deleted", { count: gone.count }), gone.undo_id), actions.failed);
      setPreview({ title: t(`care.${kind}`), rows: rowsOf(found.memories), count: found.count, run });
    } catch (error) {
      actions.failed(error);
    }
  };
  const sweep = async (action: "refresh" | "decay" | "compact" | "maintain") => {
    const only = action === "maintain" ? {} : { only: action };
    try {
      const found = await post("/api/admin/maintain", { body: { ...only, dry_run: true } });
      const run = () => void post("/api/admin/maintain", { body: { ...only, dry_run: false } }).then((gone) => done(t("care.swept", { count: gone.changed })), actions.failed);
      setPreview({ title: t(`care.${action}`), rows: found.items.map((one) => ({ id: one.id, text: one.title, note: one.reason })), count: found.changed, run });
    } catch (error) {
      actions.failed(error);
    }
  };
  if (!storage.data) return <Section title={t("settings.storage")}>{storage.error ? <Failure error={storage.error} onRetry={() => void storage.refetch()} /> : <Skeleton rows={2} />}</Section>;
  const { files, total_bytes, memories, closed, archived, prunable, prunable_chars, stale } = storage.data;
  const saved = health?.savings;
  const facts = [[t("settings.kept"), number(memories)], [t("settings.archived"), number(archived)], [t("settings.retired"), number(closed)], [t("settings.gone"), number(stale)], [t("care.size"), bytes(total_bytes)], [t("care.saved"), compact(saved?.saved_tokens ?? null)]];
  return (
    <>
      <Section title={t("settings.storage")} note={t("settings.storageNote")}>
        <dl className="flex flex-wrap gap-x-10 gap-y-3 py-1">{facts.map(([name, value]) => <div key={name}><dt className="text-small text-ink2">{name}</dt><dd className="font-serif text-card leading-tight">{value}</dd></div>)}</dl>
        <ul className="mt-2 text-small text-ink2">{files.map((one) => <li key={one.path} className="flex gap-3"><span className="min-w-0 flex-1 truncate font-mono" title={one.path}>{one.name}</span>{bytes(one.size_bytes)}</li>)}</ul>
      </Section>
      <Section title={t("care.title")} note={t("care.note")}>
        <Line name={t("care.prune_unsure")} note={`${t("care.could", { count: prunable })}${prunable ? `, ${t("care.frees", { size: bytes(prunable_chars) })}` : ""}`}><Button onClick={() => void cut("prune_unsure")}>{t("care.look")}</Button></Line>
        <Line name={t("care.remove_stale")} note={t("care.could", { count: stale })}><Button onClick={() => void cut("remove_stale")}>{t("care.look")}</Button></Line>
        {(["refresh", "decay", "compact", "maintain"] as const).map((one) => <Line key={one} name={t(`care.${one}`)} note={t(`care.${one}Note`)}><Button onClick={() => void sweep(one)}>{t("care.look")}</Button></Line>)}
        <Job path="/api/jobs/reindex" name={t("care.reindex")} note={t("care.reindexNote")} />
        <Job path="/api/jobs/graph" name={t("care.graph")} note={t("care.graphNote")} />
      </Section>
      {preview && (
        <Dialog title={`${preview.title}: ${number(preview.count)}`} onClose={() => setPreview(null)} wide>
          <ul className="max-h-[46vh] space-y-1.5 overflow-auto px-5 pt-3" tabIndex={0}>
            {preview.rows.map((one) => <li key={one.id} className="flex items-baseline gap-3">{one.type && <Badge type={one.type} />}<span className="line-clamp-2 min-w-0 flex-1"><Statement text={one.text} /></span>{one.note && <span className="max-w-[40%] text-small text-ink2"><Statement text={one.note} /></span>}</li>)}
            {preview.count === 0 && <li className="text-ink2">{t("care.nothing")}</li>}
          </ul>
          <div className="flex justify-end gap-2 p-5"><Button onClick={() => setPreview(null)}>{t("action.cancel")}</Button><Button kind="main" disabled={preview.count === 0} onClick={preview.run}>{t("care.run", { count: preview.count })}</Button></div>
        </Dialog>
      )}
    </>
  );
}

/** Long work, with its progress. */
function Job({ path, name, note }: { path: string; name: string; note: string }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [progress, setProgress] = useState<{ done: number; total: number } | null>(null);
  const run = useMutation({
    mutationFn: () => stream(path, null, ({ data }) => setProgress(data as { done: number; total: number })),
    onSuccess: () => {
      toast(t("care.jobDone", { name }));
      void client.invalidateQueries();
    },
    onSettled: () => setProgress(null),
  });
  return (
    <Line name={name} note={note}>
      {run.error && <Failure error={run.error} />}
      {run.isPending && <span className="flex w-40 items-center gap-2" role="status"><Bar share={progress?.total ? progress.done / progress.total : 0} className="flex-1" />{progress?.total ? `${number(progress.done)}/${number(progress.total)}` : ""}</span>}
      <Button disabled={run.isPending} onClick={() => run.mutate()}>{t("care.start")}</Button>
    </Line>
  );
}
