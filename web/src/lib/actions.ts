/** What a person does to memories: at once, with a way back. */
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ApiError, get, post, type BodyOf } from "./api";
import type { Memory } from "./memory";
import { makeStore, useStore } from "./store";
import { toast, TOAST_MS } from "./toasts";

interface Gone {
  text: string;
  undo: () => void;
}

type Target = Pick<Memory, "id" | "updated_at">;
type Edit = BodyOf<"/api/edit">;
type Action = NonNullable<Edit["action"]>;
type Reason = NonNullable<Edit["because"]>;

/** Memories that a person just took out: their place stays for a moment, with Undo. */
const gone = makeStore<ReadonlyMap<string, Gone>>(new Map());
const saving = makeStore<ReadonlySet<string>>(new Set());
const SAY_SAVING_MS = 300;
const TOUCHED = new Set(["memories", "memory", "facets", "review", "health", "session", "map", "undo", "next", "pages"]);

/** Write a setting; without a value the usual one holds again. */
export const saveSetting = (key: string, value: string) => value === "" ? post("/api/config/unset", { body: { key } }) : post("/api/config/set", { body: { key, value } });

export function useActions() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const taken = useStore(gone);
  const busy = useStore(saving);

  const refresh = () => client.invalidateQueries({ predicate: ({ queryKey }) => TOUCHED.has(String(queryKey[0])) });

  /** Run, say "saving" when it takes long. */
  const run = async <T>(ids: readonly string[], work: () => Promise<T>): Promise<T> => {
    const timer = setTimeout(() => saving.set((before) => new Set([...before, ...ids])), SAY_SAVING_MS);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      saving.set((before) => new Set([...before].filter((one) => !ids.includes(one))));
      void refresh();
    }
  };

  const failed = (error: unknown) => {
    const reason = error instanceof ApiError ? error.message : t("state.unreachable");
    if (error instanceof ApiError && error.status === 403) return void toast(`${t("state.forbidden")} ${reason}`, { tone: "failed" });
    toast(t("done.failed", { reason }), { tone: "failed" });
  };

  const keepSetting = async (key: string, value: string) => {
    try {
      const { origin, value: before } = await get("/api/config/get", { query: { key } });
      const write = (one: string) => saveSetting(key, one).then(() => client.invalidateQueries());
      await write(value);
      toast(t("prefs.saved"), { action: { label: t("action.undo"), isUndo: true, run: () => void write(origin === "default" ? "" : String(before)).then(() => toast(t("done.undone")), failed) } });
    } catch (error) {
      failed(error);
    }
  };

  const put = (ids: readonly string[], one: Gone | null) => gone.set((before) => {
    const after = new Map(before);
    for (const id of ids) {
      if (one) after.set(id, one);
      else after.delete(id);
    }
    return after;
  });

  const undo = (ids: readonly string[], undoId: string) => {
    put(ids, null);
    void run(ids, () => post("/api/undo", { body: { id: undoId } })).then(() => toast(t("done.undone")), failed);
  };

  /** Say what was done with its Undo; what is gone from the list keeps its place for a moment. */
  const offer = (ids: readonly string[], text: string, undoId: string | null, leaves: boolean, onUndo?: () => void) => {
    if (!undoId) return void toast(text);
    const back = () => {
      undo(ids, undoId);
      onUndo?.();
    };
    if (leaves) {
      put(ids, { text, undo: back });
      setTimeout(() => put(ids, null), TOAST_MS);
    }
    toast(text, { action: { label: t("action.undo"), isUndo: true, run: back } });
  };

  const bulk = async (action: Action, targets: readonly Target[], text: string, leaves: boolean, onUndo?: () => void) => {
    const ids = targets.map((one) => one.id);
    try {
      const done = await run(ids, () => post("/api/edit", {
        body: { action, ids, seen: targets.map(({ id, updated_at }) => ({ id, updated_at })) },
      }));
      offer(ids, text, done.undo_id, leaves, onUndo);
    } catch (error) {
      failed(error);
    }
  };

  return {
    goneOf: (id: string) => taken.get(id),
    isSaving: (id: string) => busy.has(id),
    confirm: (targets: readonly Target[], text?: string, onUndo?: () => void) => void bulk("confirm", targets, text ?? t("done.confirmed", { count: targets.length }), false, onUndo),
    flag: (target: Target) => void bulk("flag", [target], t("done.flagged"), true),
    archive: (targets: readonly Target[]) => void bulk("archive", targets, t("done.archived", { count: targets.length }), true),
    remove: (targets: readonly Target[]) => void bulk("delete", targets, t("done.deleted", { count: targets.length }), true),
    /** Say what is wrong: new words, no longer true, or said already. Throws, so that a text is never lost. */
    correct: async (target: Target, reason: Reason, { content = "", original = "", text = "" }, onUndo?: () => void) => {
      const body = { ids: [target.id], because: reason, ...(content ? { content } : {}), original, if_updated_at: target.updated_at };
      const done = await run([target.id], () => post("/api/edit", { body }));
      offer([target.id], text || t("done.corrected"), done.undo_id, !content, onUndo);
    },
    edit: (target: Memory, changes: Edit, text: string) => {
      const before = Object.fromEntries(Object.keys(changes).map((name) => [name, target[name as keyof Memory]])) as Edit;
      const save = (body: Edit) => run([target.id], () => post("/api/edit", { body: { ids: [target.id], ...body } }));
      save({ ...changes, if_updated_at: target.updated_at }).then(
        () => toast(text, { action: { label: t("action.undo"), isUndo: true, run: () => void save(before).catch(failed) } }),
        failed,
      );
    },
    /** No longer give a line unasked, or give it again. */
    keepSetting,
    mute: (id: string, muted = true) => {
      const save = (on: boolean) => run([id], () => post("/api/mute_line", { body: { id, muted: on } }));
      save(muted).then(() => toast(muted ? t("next.muted") : t("next.unmuted"), { action: { label: t("action.undo"), isUndo: true, run: () => void save(!muted).catch(failed) } }), failed);
    },
    undo,
    failed,
    contentOf: async (id: string) => (await get("/api/show", { query: { ids: [id] } })).items[0]?.memory.content ?? "",
  };
}
