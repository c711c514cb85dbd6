/** Skills: detected by files, of the project, and available; each with its text and a switch. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink, FileText, Pencil, Plus, RefreshCw, Search, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { get, post, type Schema } from "@/lib/api";
import { clock, number } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { useProject, useSkills } from "@/lib/queries";
import { change, useRoute } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Button, cx, Empty, Failure, Section, Skeleton, Statement, Toggle, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Dialog } from "@/parts/dialog";
import { Markdown } from "@/parts/markdown";
import { SkillDialog } from "@/parts/skill-dialog";
import { SkillUse } from "@/parts/skill-use";

type Row = Schema["SkillRow"];
type Skill = Schema["ShownSkill"];

const SOURCE_STYLE: Record<string, string> = {
  builtin: "text-fact bg-fact-bg",
  external: "text-conv bg-conv-bg",
  mcp: "text-conv bg-conv-bg",
  plugin: "text-conv bg-conv-bg",
  generated: "text-pref bg-pref-bg",
  user: "text-patn bg-patn-bg",
  project: "text-patn bg-patn-bg",
};

function SourceTag({ source }: { source: string }) {
  const { t } = useTranslation();
  const [kind = "", name = ""] = source.split(":", 2);
  return <span title={name} className={cx("badge shrink-0 rounded-badge px-2 text-small leading-5 font-medium", SOURCE_STYLE[kind])}>{t(`skills.source.${kind}` as "skills.source.builtin", { defaultValue: kind })}</span>;
}

/** Rows in the three groups of the view. */
export function groupsOf<One extends Pick<Row, "name" | "source">>(all: readonly One[], detected: ReadonlyMap<string, string>) {
  const isOwn = (one: One) => /^(project|generated)/.test(one.source);
  return {
    detected: all.filter((one) => detected.has(one.name) && !isOwn(one)),
    project: all.filter(isOwn),
    available: all.filter((one) => !detected.has(one.name) && !isOwn(one)),
  };
}

function useSwitch() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const done = (name: string, on: boolean) => {
    void client.invalidateQueries({ queryKey: ["skills"] });
    toast(t(on ? "skills.on" : "skills.off", { name }), { action: { label: t("action.undo"), isUndo: true, run: () => run.mutate({ name, on: !on }) } });
  };
  const run = useMutation({
    mutationFn: ({ name, on }: { name: string; on: boolean }) => post(on ? "/api/skill/enable" : "/api/skill/disable", { body: { names: [name] } }),
    onSuccess: (_, one) => done(one.name, one.on),
    onError: (error) => toast(error.message, { tone: "failed" }),
  });
  return run;
}

export default function Skills() {
  const { t } = useTranslation();
  const { id } = useRoute();
  const wide = useWide(1100);
  const skills = useSkills();
  const flip = useSwitch();
  const client = useQueryClient();
  const [filter, setFilter] = useState("");
  const [editing, setEditing] = useState<Skill | "new" | null>(null);
  const scan = useMutation({
    mutationFn: () => post("/api/skill/validate", { body: { refresh: true } }),
    onSuccess: (found) => {
      void client.invalidateQueries({ queryKey: ["skills"] });
      toast(t("skills.scanned", { count: found.total }));
    },
    onError: (error) => toast(error.message, { tone: "failed" }),
  });
  const all = skills.data?.all ?? [];
  const shown = all.filter((one) => `${one.name} ${one.description}`.toLowerCase().includes(filter.toLowerCase()));
  const groups = groupsOf(shown, skills.data?.detected ?? new Map());
  const order = [...groups.detected, ...groups.project, ...groups.available];
  const open = id || (wide ? (order[0]?.name ?? "") : "");
  const at = order.findIndex((one) => one.name === open);
  const move = (step: number) => {
    const next = order[Math.max(0, Math.min(order.length - 1, at + step))];
    if (next) change({}, { id: next.name });
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  const active = all.filter((one) => one.enabled);
  if (skills.isPending) return <div className="px-7"><Skeleton rows={6} /></div>;
  if (!skills.data) return <div className="p-7"><Failure error={skills.error} onRetry={() => void skills.refetch()} /></div>;
  return (
    <div className="flex h-full">
      {(wide || !id) && (
        <section className="flex w-[468px] shrink-0 flex-col border-r border-line wide:w-[585px] max-panes:w-full" aria-label={t("nav.skills")}>
          <h1 className="sr-only">{t("nav.skills")}</h1>
          <div className="flex gap-2 border-b border-line p-3 pl-4">
            <label className="relative flex-1"><Search size={15} className="absolute top-1/2 left-3 -translate-y-1/2 text-ink3" aria-hidden /><input type="search" value={filter} onChange={(event) => setFilter(event.target.value)} aria-label={t("skills.filter", { count: all.length })} placeholder={t("skills.filter", { count: all.length })} className="h-[30px] w-full rounded-control border border-field bg-surface pl-8 max-tabs:h-11" /></label>
            <Button icon={<RefreshCw size={14} aria-hidden />} disabled={scan.isPending} onClick={() => scan.mutate()}>{t("skills.scan")}</Button>
            <Button icon={<Plus size={15} aria-hidden />} onClick={() => setEditing("new")}>{t("skills.new")}</Button>
          </div>
          <p className="border-b border-line px-4 py-2.5 text-ink2"><b className="font-semibold text-ink">{t("skills.active")}</b> {active.map((one) => one.name).join(", ") || "–"} <span aria-hidden className="px-1 text-edge">|</span> {t("skills.memories", { count: skills.data.memories })}</p>
          <div className="min-h-0 flex-1 overflow-auto pb-4">
            <Group title={t("skills.detected")} note={t("skills.detectedNote")} rows={groups.detected} open={open} reasons={skills.data.detected} onFlip={flip.mutate} />
            <Group title={t("skills.project")} note={t("skills.projectNote")} rows={groups.project} open={open} reasons={skills.data.detected} onFlip={flip.mutate} />
            <Group title={t("skills.available")} note={t("skills.availableNote")} rows={groups.available} open={open} reasons={skills.data.detected} onFlip={flip.mutate} dim />
            {order.length === 0 && <div className="px-4"><Empty title={t("skills.nothing")}><p>{t("skills.nothingWhy")}</p></Empty></div>}
          </div>
          <p className="border-t border-line px-4 py-2 text-small text-ink2">{t("skills.foot", { total: all.length, active: active.length, generated: all.filter((one) => one.source.startsWith("generated")).length })} · {t("skills.scannedAt", { time: clock(skills.dataUpdatedAt) })}</p>
        </section>
      )}
      {open && <div className="min-w-0 flex-1 overflow-auto bg-surface"><Boundary of={open}><Opened name={open} reason={skills.data.detected.get(open) ?? ""} onFlip={flip.mutate} onEdit={setEditing} /></Boundary></div>}
      {editing && <SkillDialog skill={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </div>
  );
}

interface GroupProps {
  title: string;
  note: string;
  rows: readonly Row[];
  open: string;
  reasons: ReadonlyMap<string, string>;
  onFlip: (one: { name: string; on: boolean }) => void;
  dim?: boolean;
}

function Group({ title, note, rows, open, reasons, onFlip, dim = false }: GroupProps) {
  const { t } = useTranslation();
  if (!rows.length) return null;
  return (
    <section>
      <h2 className="px-4 pt-3 pb-1.5 font-semibold">{title} <span className="pl-1 font-normal text-ink2">{number(rows.length)}</span> <span className="pl-1.5 font-normal text-ink3">{note}</span></h2>
      <ul>
        {rows.map((one) => (
          <li key={`${one.source}/${one.name}`} className={cx("relative flex items-center gap-4 px-4 py-1.5 hover:bg-selected", one.name === open && "bg-surface shadow-[inset_3px_0_0_var(--color-ink)]")}>
            <Toggle on={one.enabled} label={t("skills.toggle", { name: one.name })} onChange={(on) => onFlip({ name: one.name, on })} />
            <button type="button" onClick={() => change({}, { id: one.name })} className={cx("min-w-0 flex-1 text-left", (dim || !one.enabled) && "text-ink2")} aria-current={one.name === open ? "true" : undefined}>
              <span className="flex items-center gap-2"><span className={cx("truncate font-mono", !dim && "font-semibold")}><Statement text={one.name} /></span>{one.findings > 0 && <span className="rounded-full border border-warn px-2 text-meta text-warn">{t("skills.findings", { count: one.findings })}</span>}</span>
              <span className={cx("block truncate text-small", reasons.has(one.name) ? "text-patn" : "text-ink2")}><Statement text={reasons.get(one.name) || (one.source.startsWith("generated") && one.note ? t("skills.waits") : one.note) || one.description} /></span>
            </button>
            <SourceTag source={one.source} />
            <span className="w-12 shrink-0 text-right font-mono text-small text-ink2" title={t("skills.priority")}>P:{one.priority}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Opened({ name, reason, onFlip, onEdit }: { name: string; reason: string; onFlip: GroupProps["onFlip"]; onEdit: (skill: Skill) => void }) {
  const { t } = useTranslation();
  const project = useProject();
  const client = useQueryClient();
  const found = useQuery({ queryKey: ["skills", "one", project, name], queryFn: ({ signal }) => get("/api/skill/show", { query: { name }, signal }) });
  const [removing, setRemoving] = useState<string[] | null>(null);
  const remove = useMutation({
    mutationFn: (confirm: boolean) => post("/api/skill/delete", { body: { name, dry_run: !confirm } }),
    onSuccess: (gone) => {
      if (gone.dry_run) return setRemoving(gone.files);
      setRemoving(null);
      change({}, { id: "" });
      void client.invalidateQueries({ queryKey: ["skills"] });
      toast(t("skills.deleted", { name }));
    },
    onError: (error) => toast(error.message, { tone: "failed" }),
  });
  const judge = useMutation({
    mutationFn: (answer: "accept" | "reject") => post("/api/skill/review", { body: { name, answer } }),
    onSuccess: (_, answer) => {
      void client.invalidateQueries({ queryKey: ["skills"] });
      if (answer === "reject") change({}, { id: "" });
      toast(t(answer === "accept" ? "skills.on" : "skills.rejected", { name }));
    },
    onError: (error) => toast(error.message, { tone: "failed" }),
  });
  if (found.isPending) return <div className="px-7"><Skeleton /></div>;
  if (!found.data) return <div className="p-7"><Failure error={found.error} onRetry={() => void found.refetch()} /></div>;
  const { skill, body, version, license, author, phases, tokens, findings, covers } = found.data;
  const { path } = skill;
  const facts = [
    [t("skills.priority"), `P:${skill.priority}`],
    [t("skills.version"), version],
    [t("skills.licence"), license],
    [t("skills.author"), author],
    [t("skills.phases"), phases.join(", ")],
    [t("skills.costs"), tokens ? t("sessions.tokens", { count: tokens }) : ""],
  ].filter((one): one is [string, string] => Boolean(one[1]));
  const canEdit = /^(project|user|generated)/.test(skill.source);
  const waits = skill.source.startsWith("generated") && !skill.enabled && Boolean(skill.note);
  return (
    <article className="px-7 pt-4 pb-12 max-tabs:px-4">
      <div className="flex flex-wrap items-center gap-3">
        <SourceTag source={skill.source} />
        {reason && <span className="flex items-center gap-1.5 text-ink2"><FileText size={14} aria-hidden />{t("skills.via")} <span className="font-mono text-small text-ink"><Statement text={reason} /></span></span>}
        <span className="flex-1" />
        {path && <Button kind="quiet" icon={<ExternalLink size={14} aria-hidden />} onClick={() => void navigator.clipboard.writeText(path).then(() => toast(t("skills.copiedPath")))}>{t("skills.open")}</Button>}
        {waits && <Button kind="main" onClick={() => judge.mutate("accept")}>{t("skills.accept")}</Button>}
        {waits && <Button onClick={() => judge.mutate("reject")}>{t("action.reject")}</Button>}
        {canEdit && <Button icon={<Pencil size={14} aria-hidden />} onClick={() => onEdit(found.data)}>{t("action.edit")}</Button>}
        {canEdit && <Button kind="danger" icon={<Trash2 size={14} aria-hidden />} onClick={() => remove.mutate(false)}>{t("action.delete")}</Button>}
        {!canEdit && <Button icon={<Pencil size={14} aria-hidden />} onClick={() => onEdit({ ...found.data, skill: { ...skill, path: "" } })}>{t("skills.copy")}</Button>}
        <Toggle on={skill.enabled} label={t("skills.toggle", { name })} onChange={(on) => onFlip({ name, on })} />
      </div>
      <SkillTitle name={skill.name} />
      <p className="mt-1.5 max-w-[640px] text-list text-ink2"><Statement text={skill.description} /></p>
      <dl className="mt-4 flex flex-wrap gap-x-9 gap-y-2">
        {facts.map(([key, value]) => <div key={key}><dt className="text-small text-ink2">{key}</dt><dd className="font-medium"><Statement text={value} /></dd></div>)}
      </dl>
      <div className="mt-5 grid grid-cols-[minmax(0,1fr)_290px] gap-8 max-panes:grid-cols-1">
        <Section title={t("skills.preview")} note={t("skills.previewNote")}><div className="max-w-[640px]"><Markdown text={body} /></div></Section>
        <div>
          <SkillUse skill={found.data} />
          <Section title={t("skills.switchOff")}><p className="text-ink2">{t("skills.switchOffWhy")}</p></Section>
          {findings.length > 0 && <Section title={t("skills.problems")}><ul className="list-disc space-y-1 pl-4 text-warn">{findings.map((one) => <li key={`${one.code}${one.line}`}><Statement text={`${one.severity}: ${one.message}`} /></li>)}</ul></Section>}
          {covers.length > 0 && <Section title={t("skills.covers")}><p className="text-ink2">{covers.join(", ")}</p></Section>}
          {path && <Section title={t("skills.file")}><p className="font-mono text-small break-all text-ink2">{path}</p></Section>}
        </div>
      </div>
      {removing && (
        <Dialog title={t("skills.deleteTitle", { name })} onClose={() => setRemoving(null)}>
          <ul className="px-5 pt-2 font-mono text-small text-ink2">{removing.map((file) => <li key={file} className="break-all">{file}</li>)}</ul>
          <div className="flex justify-end gap-2 p-5"><Button onClick={() => setRemoving(null)}>{t("action.cancel")}</Button><Button kind="danger" onClick={() => remove.mutate(true)}>{t("action.delete")}</Button></div>
        </Dialog>
      )}
    </article>
  );
}

/** On a phone the list with its heading is away, so this is the first one. */
function SkillTitle({ name }: { name: string }) {
  const Title = useWide(1100) ? "h2" : "h1";
  return <Title className="mt-3 font-serif text-review leading-tight font-medium"><Statement text={name} /></Title>;
}
