/** Care of the store: what fills it, what could go, and passes that tidy it. The preview comes first. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { get, post, type Schema } from "@/lib/api";
import { bytes, number } from "@/lib/format";
import { useProject } from "@/lib/queries";
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
  const storage = useQuery({ queryKey: ["health", "storage", project], queryFn: ({ signal }) => get("/api/storage", { signal }) });
  const done = (text: string, undoId?: string | null) => {
    setPreview(null);
    void client.invalidateQueries();
    toast(text, undoId ? { action: { label: t("action.undo"), isUndo: true, run: () => actions.undo([], undoId) } } : {});
  };
  const rowsOf = (memories: readonly Schema["MemoryRecord"][]) => memories.map((one) => ({ id: one.id, type: one.type, text: one.content }));
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
    try {
      const found = await post("/api/sweep", { body: { action, dry_run: true } });
      const run = () => void post("/api/sweep", { body: { action, dry_run: false } }).then((gone) => done(t("care.swept", { count: gone.changed })), actions.failed);
      setPreview({ title: t(`care.${action}`), rows: found.items.map((one) => ({ id: one.id, text: one.title, note: one.reason })), count: found.changed, run });
    } catch (error) {
      actions.failed(error);
    }
  };
  if (!storage.data) return <Section title={t("settings.storage")}>{storage.error ? <Failure error={storage.error} onRetry={() => void storage.refetch()} /> : <Skeleton rows={2} />}</Section>;
  const { files, total_bytes, memories, closed, archived, prunable, stale } = storage.data;
  const facts = [[t("settings.kept"), number(memories)], [t("settings.archived"), number(archived)], [t("settings.retired"), number(closed)], [t("settings.gone"), number(stale)], [t("care.size"), bytes(total_bytes)]];
  return (
    <>
      <Section title={t("settings.storage")} note={t("settings.storageNote")}>
        <dl className="flex flex-wrap gap-x-10 gap-y-3 py-1">{facts.map(([name, value]) => <div key={name}><dt className="text-small text-ink2">{name}</dt><dd className="font-serif text-card leading-tight">{value}</dd></div>)}</dl>
        <ul className="mt-2 text-small text-ink2">{files.map((one) => <li key={one.path} className="flex gap-3"><span className="min-w-0 flex-1 truncate font-mono" title={one.path}>{one.name}</span>{bytes(one.size_bytes)}</li>)}</ul>
      </Section>
      <Section title={t("care.title")} note={t("care.note")}>
        <Line name={t("care.prune_unsure")} note={t("care.could", { count: prunable })}><Button onClick={() => void cut("prune_unsure")}>{t("care.look")}</Button></Line>
        <Line name={t("care.remove_stale")} note={t("care.could", { count: stale })}><Button onClick={() => void cut("remove_stale")}>{t("care.look")}</Button></Line>
        {(["refresh", "decay", "compact", "maintain"] as const).map((one) => <Line key={one} name={t(`care.${one}`)} note={t(`care.${one}Note`)}><Button onClick={() => void sweep(one)}>{t("care.look")}</Button></Line>)}
        <Job path="/api/jobs/reindex" name={t("care.reindex")} note={t("care.reindexNote")} />
        <Job path="/api/jobs/graph" name={t("care.graph")} note={t("care.graphNote")} />
      </Section>
      <WorkUnits />
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

function WorkUnits() {
  const { t } = useTranslation();
  const project = useProject();
  const client = useQueryClient();
  const actions = useActions();
  const units = useQuery({ queryKey: ["health", "units", project], queryFn: ({ signal }) => get("/api/work_units", { signal }) });
  if (!units.data?.items.length) return null;
  const archive = (methodology: string, hierarchy: string[]) => void post("/api/archive_work_unit", { body: { methodology, hierarchy, dry_run: false } }).then((gone) => {
    toast(t("done.archived", { count: gone.changed }));
    void client.invalidateQueries();
  }, actions.failed);
  return (
    <Section title={t("care.units")} note={t("care.unitsNote")}>
      {units.data.items.slice(0, 20).map((one) => <Line key={one.hierarchy.join("/")} name={one.label} note={`${one.methodology} · ${t("skills.memories", { count: one.memories })}`}><Button onClick={() => archive(one.methodology, one.hierarchy)}>{t("action.archive")}</Button></Line>)}
    </Section>
  );
}

/** Coding clients, with the diff before anything is written. */
export function Clients({ clients }: { clients: readonly Schema["ClientStateRecord"][] | null | undefined }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const actions = useActions();
  const [shown, setShown] = useState<Schema["ClientChangeOutput"] | null>(null);
  const look = (name: string, scope: "user" | "project", action: "install" | "uninstall") => void post("/api/change_client", { body: { client: name, scope, action, dry_run: true } }).then(setShown, actions.failed);
  const write = () => {
    if (!shown) return;
    const { client: name, scope, action } = shown;
    void post("/api/change_client", { body: { client: name, scope, action, dry_run: false } }).then(() => {
      setShown(null);
      toast(t("care.written", { name }));
      void client.invalidateQueries();
    }, actions.failed);
  };
  return (
    <Section title={t("settings.clients")} note={t("settings.clientsNote")}>
      {clients?.map((one) => (
        <Line key={`${one.client}/${one.scope}`} name={`${one.client}, ${t(`settings.scope.${one.scope}`)}`} note={one.problem || one.path}>
          <span className={one.state === "broken" ? "text-red" : one.state === "outdated" ? "text-warn" : "text-ink2"}>{t(`settings.state.${one.state}` as "settings.state.installed", { defaultValue: one.state })}</span>
          <Button onClick={() => look(one.client, one.scope, one.state === "installed" ? "uninstall" : "install")}>{t(one.state === "installed" ? "care.disconnect" : "care.connect")}</Button>
        </Line>
      ))}
      {!clients?.length && <p className="text-ink2">{t("settings.noClients")}</p>}
      {shown && (
        <Dialog title={t("care.diff", { name: shown.client })} onClose={() => setShown(null)} wide>
          <div className="max-h-[52vh] space-y-3 overflow-auto px-5 pt-3" tabIndex={0}>
            {shown.notes.map((one) => <p key={one} className="text-ink2"><Statement text={one} /></p>)}
            {shown.files.map((one) => <div key={one.path}><p className="font-mono text-small break-all">{one.path}</p><pre className="mt-1 overflow-x-auto rounded-control bg-code p-3 font-mono text-meta">{one.diff.split("\n").map((line, index) => <span key={index} className={line.startsWith("+") ? "text-patn" : line.startsWith("-") ? "text-red" : ""}>{line}{"\n"}</span>)}</pre></div>)}
            {shown.is_unchanged && <p className="text-ink2">{t("care.nothing")}</p>}
          </div>
          <div className="flex justify-end gap-2 p-5"><Button onClick={() => setShown(null)}>{t("action.cancel")}</Button><Button kind="main" disabled={shown.is_unchanged} onClick={write}>{t("care.write")}</Button></div>
        </Dialog>
      )}
    </Section>
  );
}
