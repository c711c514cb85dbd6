/** Coding clients that Wellkept is in, or could be. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { post, type Schema } from "@/lib/api";
import { toast } from "@/lib/toasts";
import { Button, Section, Statement } from "./basics";
import { Dialog } from "./dialog";
import { Line } from "./setting-line";

/** Coding clients, with the diff before anything is written. */
export function Clients({ clients }: { clients: readonly Schema["ClientState"][] | null | undefined }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const actions = useActions();
  const [shown, setShown] = useState<Schema["ClientChange"] | null>(null);
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
