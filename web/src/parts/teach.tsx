/** Teach: a memory in a person's own words, or a recipe of steps. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { post } from "@/lib/api";
import { label } from "@/lib/keys";
import { badgeOf, TEACHABLE, type Memory } from "@/lib/memory";
import { recipeOf, type Step } from "@/lib/recipes";
import { closeOverlay } from "@/lib/overlay";
import { go, href } from "@/lib/router";
import { toast } from "@/lib/toasts";
import { Badge, Button, cx, Failure } from "./basics";
import { Dialog } from "./dialog";

export const FIELD = "w-full rounded-control border border-field bg-surface px-3 py-2 max-tabs:text-[1rem]";

export function Labelled({ text, children, note }: { text: string; children: ReactNode; note?: string }) {
  return (
    <label className="block">
      <span className="mb-1 block font-medium">{text} {note && <span className="font-normal text-ink3">{note}</span>}</span>
      {children}
    </label>
  );
}

function list(text: string): string[] {
  return text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
}

export function TeachDialog({ file, text }: { file: string; text: string }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [content, setContent] = useState(text);
  const [type, setType] = useState<string>("convention");
  const [files, setFiles] = useState(file);
  const [tags, setTags] = useState("");
  const save = useMutation({
    mutationFn: () => post("/api/remember", { body: { content: content.trim(), type, files: list(files), tags: list(tags), said_by_person: true } }),
    onSuccess: (kept) => {
      closeOverlay();
      void client.invalidateQueries();
      toast(t("teach.kept"), { action: { label: t("action.open"), run: () => go(href("memories", kept.memory.id)) } });
    },
  });
  const send = () => content.trim() && !save.isPending && save.mutate();
  return (
    <Dialog title={file ? t("teach.aboutFile") : t("teach.title")} onClose={closeOverlay} keys={{ "mod+enter": send }}>
      <form className="space-y-4 px-5 pt-3 pb-5" onSubmit={(event) => { event.preventDefault(); send(); }}>
        <fieldset>
          <legend className="mb-1.5 font-medium">{t("teach.type")}</legend>
          <div className="flex flex-wrap gap-1.5">
            {TEACHABLE.map((one) => (
              <label key={one} className={cx("flex min-h-[30px] cursor-pointer items-center gap-2 rounded-control border px-2 has-focus-visible:outline-2", type === one ? "border-ink bg-selected" : "border-edge")}>
                <input type="radio" name="type" value={one} checked={type === one} onChange={() => setType(one)} className="sr-only" />
                <Badge type={badgeOf(one)} />{t(`type.${one}`)}
              </label>
            ))}
          </div>
        </fieldset>
        <Labelled text={t("teach.content")} note={t("teach.contentNote")}>
          <textarea autoFocus rows={3} required value={content} onChange={(event) => setContent(event.target.value)} className={cx(FIELD, "font-serif text-prompt")} />
        </Labelled>
        <div className="grid grid-cols-2 gap-3 max-tabs:grid-cols-1">
          <Labelled text={t("teach.files")}><input value={files} onChange={(event) => setFiles(event.target.value)} className={cx(FIELD, "font-mono text-small")} /></Labelled>
          <Labelled text={t("teach.tags")}><input value={tags} onChange={(event) => setTags(event.target.value)} className={FIELD} /></Labelled>
        </div>
        {save.error && <Failure error={save.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={closeOverlay}>{t("action.cancel")}</Button>
          <Button kind="main" type="submit" disabled={!content.trim() || save.isPending}>{t("action.keep")} <span className="font-mono text-meta opacity-80">{label("mod+enter")}</span></Button>
        </div>
      </form>
    </Dialog>
  );
}


/** A recipe: which tasks it is for, and one step a line, with a file after `@`. */
export function RecipeDialog({ memory }: { memory?: Memory | undefined }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const before = memory ? recipeOf(memory) : null;
  const [task, setTask] = useState(before?.task ?? "");
  const [lines, setLines] = useState(before ? linesOf(before.steps) : "");
  const steps = stepsOf(lines);
  const save = useMutation({
    mutationFn: async () => {
      const body = { content: task.trim(), steps: steps.map(({ description, file }) => ({ description, canonical_file: file || null, canonical_line: null })) };
      await (memory ? post("/api/edit", { body: { ids: [memory.id], user_verified: true, ...body } }) : post("/api/remember", { body: { said_by_person: true, ...body } }));
    },
    onSuccess: () => {
      closeOverlay();
      void client.invalidateQueries();
      toast(t("recipes.kept"), { action: { label: t("action.open"), run: () => go(href("recipes")) } });
    },
  });
  const ready = task.trim() !== "" && steps.length > 0 && !save.isPending;
  return (
    <Dialog title={memory ? t("recipes.edit") : t("recipes.add")} onClose={closeOverlay} keys={{ "mod+enter": () => ready && save.mutate() }}>
      <form className="space-y-4 px-5 pt-3 pb-5" onSubmit={(event) => { event.preventDefault(); if (ready) save.mutate(); }}>
        <Labelled text={t("recipes.task")}><input autoFocus required value={task} onChange={(event) => setTask(event.target.value)} className={cx(FIELD, "font-serif text-prompt")} /></Labelled>
        <Labelled text={t("recipes.steps")} note={t("recipes.stepsNote")}><textarea required rows={7} value={lines} onChange={(event) => setLines(event.target.value)} className={FIELD} /></Labelled>
        {save.error && <Failure error={save.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={closeOverlay}>{t("action.cancel")}</Button>
          <Button kind="main" type="submit" disabled={!ready}>{t("action.keep")} <span className="font-mono text-meta opacity-80">{label("mod+enter")}</span></Button>
        </div>
      </form>
    </Dialog>
  );
}

export function linesOf(steps: readonly Step[]): string {
  return steps.map((one) => (one.file ? `${one.description} @${one.file}` : one.description)).join("\n");
}

export function stepsOf(lines: string): Step[] {
  return lines.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const file = /\s@(\S+)$/.exec(line);
    return { description: file ? line.slice(0, file.index).trim() : line, file: file?.[1] ?? "" };
  });
}
