/** Settings: how the page looks, storage and its care, clients, models. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { get, post } from "@/lib/api";
import { exact } from "@/lib/format";
import { CODES, LANGUAGES, languageSetting, type Language } from "@/lib/i18n";
import { keysSetting } from "@/lib/keys";
import { useHealth, useProject } from "@/lib/queries";
import { useStore } from "@/lib/store";
import { themeSetting } from "@/lib/theme";
import { toast } from "@/lib/toasts";
import { Button, cx, Failure, Section, Skeleton, Statement, Toggle } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Care } from "@/parts/care";
import { Clients } from "@/parts/clients";
import { Dialog } from "@/parts/dialog";
import { Preferences } from "@/parts/preferences";
import { Line } from "@/parts/setting-line";
import { FIELD } from "@/parts/teach";
import { WorkUnits } from "@/parts/work-units";

export default function Settings() {
  const { t } = useTranslation();
  const clients = useHealth().data?.clients;
  return (
    <div className="mx-auto max-w-[860px] px-7 pt-7 pb-16 max-tabs:px-4">
      <h1 className="mb-5 font-serif text-verdict font-medium">{t("nav.settings")}</h1>
      <Boundary><Appearance /></Boundary>
      <Boundary><Preferences /></Boundary>
      <Boundary><Care /></Boundary>
      <Boundary><WorkUnits /></Boundary>
      <Boundary><Clients clients={clients} /></Boundary>
      <Boundary><Doctor /></Boundary>
      <Boundary><Undoable /></Boundary>
      <Boundary><ClearAll /></Boundary>
    </div>
  );
}

/** A choice among few: radio buttons that look like one control. */
function Choice<T extends string>({ name, value, options, onChange }: { name: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void }) {
  return (
    <fieldset className="flex overflow-hidden rounded-control border border-edge">
      <legend className="sr-only">{name}</legend>
      {options.map(([one, text]) => (
        <label key={one} className={cx("flex min-h-[30px] cursor-pointer items-center px-3 font-medium has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 max-tabs:min-h-11", value === one ? "bg-ink text-bg" : "bg-surface hover:bg-selected")}>
          <input type="radio" name={name} checked={value === one} onChange={() => onChange(one)} className="sr-only" />{text}
        </label>
      ))}
    </fieldset>
  );
}

function Appearance() {
  const { t } = useTranslation();
  const theme = useStore(themeSetting);
  const language = useStore(languageSetting);
  const keys = useStore(keysSetting);
  return (
    <Section title={t("settings.look")}>
      <Line name={t("settings.theme")}><Choice name={t("settings.theme")} value={theme} onChange={themeSetting.set} options={[["auto", t("settings.auto")], ["light", t("settings.light")], ["dark", t("settings.dark")]]} /></Line>
      <Line name={t("settings.language")}><Choice<Language | "auto"> name={t("settings.language")} value={language} onChange={languageSetting.set} options={[["auto", t("settings.auto")], ...CODES.map((code) => [code, LANGUAGES[code]] as const)]} /></Line>
      <Line name={t("keys.switch")} note={t("settings.keysNote")}><Toggle on={keys === "on"} label={t("keys.switch")} onChange={(on) => keysSetting.set(on ? "on" : "off")} /></Line>
    </Section>
  );
}

/** The doctor's report: what is healthy, what is not. */
function Doctor() {
  const { t } = useTranslation();
  const project = useProject();
  const report = useQuery({ queryKey: ["doctor", project], queryFn: ({ signal }) => get("/api/doctor", { signal }), staleTime: 60_000 });
  if (!report.data) return <Section title={t("settings.doctor")}>{report.error ? <Failure error={report.error} onRetry={() => void report.refetch()} /> : <Skeleton rows={2} />}</Section>;
  const { healthy, facts, findings, embedders, model_id } = report.data;
  return (
    <Section title={t("settings.doctor")} note={healthy ? t("settings.healthy") : t("settings.unhealthy")}>
      {findings.length > 0 && <ul className="mb-3 space-y-1">{findings.map((one, index) => <li key={index} className={one.severity === "error" ? "text-red" : "text-warn"}><Statement text={one.message} /></li>)}</ul>}
      <Line name={t("settings.model")} note={model_id ?? t("settings.wordsOnly")}>{embedders.map((one) => <span key={one.name} title={one.reason} className={cx("rounded-badge border px-2 text-small", one.available ? "border-ink" : "border-edge text-ink3")}>{one.name}</span>)}</Line>
      <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 text-small">{Object.entries(facts).map(([name, value]) => <div key={name} className="contents"><dt className="text-ink2">{name}</dt><dd className="font-mono break-all"><Statement text={value} /></dd></div>)}</dl>
    </Section>
  );
}

/** What was done lately, and the way back. */
function Undoable() {
  const { t } = useTranslation();
  const project = useProject();
  const actions = useActions();
  const steps = useQuery({ queryKey: ["undo", project], queryFn: ({ signal }) => post("/api/undo", { body: { limit: 12 }, signal }) });
  return (
    <Section title={t("settings.undo")} note={t("settings.undoNote")}>
      {steps.error && <Failure error={steps.error} onRetry={() => void steps.refetch()} />}
      {steps.data?.items.length === 0 && <p className="text-ink2">{t("settings.undoNone")}</p>}
      {steps.data?.items.map((one) => (
        <Line key={one.id} name={t("settings.step", { action: t(`settings.act.${one.action}` as "settings.act.confirm", { defaultValue: one.action }), count: one.count })} note={exact(one.at)}>
          {one.undone_at ? <span className="text-ink3">{t("done.undone")}</span> : <Button onClick={() => actions.undo([], one.id)}>{t("action.undo")}</Button>}
        </Line>
      ))}
    </Section>
  );
}

/** Everything of the project, behind its typed name. */
function ClearAll() {
  const { t } = useTranslation();
  const project = useProject();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [typed, setTyped] = useState("");
  const counts = useQuery({ queryKey: ["clear", project], queryFn: () => post("/api/forget", { body: { everything: true, dry_run: true } }), enabled: asking, gcTime: 0 });
  const clear = useMutation({
    mutationFn: () => post("/api/forget", { body: { everything: true, project_name: typed } }),
    onSuccess: (done) => {
      setAsking(false);
      setTyped("");
      void client.invalidateQueries();
      toast(t("settings.cleared", { count: done.count }));
    },
  });
  const name = counts.data?.project_name ?? "";
  return (
    <Section title={t("settings.clear")} note={t("settings.clearNote")}>
      <Button kind="danger" onClick={() => setAsking(true)}>{t("settings.clear")}</Button>
      {asking && (
        <Dialog title={t("settings.clearTitle", { count: counts.data?.count ?? 0, name })} onClose={() => setAsking(false)}>
          <form className="px-5 pt-2 pb-5" onSubmit={(event) => { event.preventDefault(); if (typed === name) clear.mutate(); }}>
            {(counts.error ?? clear.error) && <Failure error={counts.error ?? clear.error} />}
            <p className="text-ink2">{t("settings.clearType")} <b className="font-semibold text-ink">{name}</b></p>
            <div className="mt-3 flex gap-2 max-tabs:flex-col">
              <input autoFocus value={typed} onChange={(event) => setTyped(event.target.value)} aria-label={t("settings.clearType")} className={cx(FIELD, "font-mono")} />
              <Button onClick={() => setAsking(false)}>{t("action.cancel")}</Button>
              <Button kind="danger" type="submit" disabled={!name || typed !== name || clear.isPending}>{t("settings.clearDo", { count: counts.data?.count ?? 0 })}</Button>
            </div>
          </form>
        </Dialog>
      )}
    </Section>
  );
}
