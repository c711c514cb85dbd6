/** Make a skill, or edit one; what is wrong with it is said before it is written. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { post, type Schema } from "@/lib/api";
import { change } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Button, cx, Failure } from "./basics";
import { Dialog } from "./dialog";
import { FIELD, Labelled } from "./teach";

type Skill = Schema["ShownSkill"];

export function SkillDialog({ skill, onClose }: { skill: Skill | null; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const isEdit = Boolean(skill?.skill.path);
  const [name, setName] = useState(skill?.skill.name ?? "");
  const [description, setDescription] = useState(skill?.description ?? "");
  const [body, setBody] = useState(skill?.body ?? t("skills.template"));
  const save = useMutation({
    mutationFn: (): Promise<Pick<Skill, "skill">> => isEdit
      ? post("/api/skill/edit", { body: { name: skill?.skill.name ?? name, set: [`description=${description}`], body } })
      : post("/api/skill/new", { body: { name, description, body } }),
    onSuccess: (made) => {
      onClose();
      void client.invalidateQueries({ queryKey: ["skills"] });
      change({}, { id: made.skill.name });
      toast(t("skills.saved", { name: made.skill.name }));
    },
  });
  const nameFits = /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && name.length <= 64;
  return (
    <Dialog title={isEdit ? t("skills.editTitle", { name }) : t("skills.newTitle")} onClose={onClose} wide keys={{ "mod+enter": () => save.mutate() }}>
      <form className="space-y-3 px-5 pt-3 pb-5" onSubmit={(event) => { event.preventDefault(); save.mutate(); }}>
        <Labelled text={t("skills.name")} note={name && !nameFits ? t("skills.nameRule") : ""}><input required disabled={isEdit} aria-invalid={Boolean(name) && !nameFits} value={name} onChange={(event) => setName(event.target.value)} className={cx(FIELD, "font-mono")} /></Labelled>
        <Labelled text={t("skills.description")} note={t("skills.descriptionNote")}><textarea required rows={2} maxLength={1024} value={description} onChange={(event) => setDescription(event.target.value)} className={FIELD} /></Labelled>
        <Labelled text={t("skills.text")}><textarea required rows={12} value={body} onChange={(event) => setBody(event.target.value)} className={cx(FIELD, "font-mono text-small")} /></Labelled>
        {save.error && <Failure error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t("action.cancel")}</Button><Button kind="main" type="submit" disabled={!nameFits || !description.trim() || !body.trim() || save.isPending}>{t("action.save")}</Button></div>
      </form>
    </Dialog>
  );
}
