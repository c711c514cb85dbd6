/** The command palette: memories, files, places and what has no button. */
import { useQuery } from "@tanstack/react-query";
import { CornerDownLeft, FileText, Plus, Search, type LucideIcon } from "lucide-react";
import { useDeferredValue, useId, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { get } from "@/lib/api";
import { badgeOf } from "@/lib/memory";
import { closeOverlay, overlay } from "@/lib/overlay";
import { useProject } from "@/lib/queries";
import { go, href } from "@/lib/router";
import { themeSetting } from "@/lib/theme";
import { termsOf } from "@/lib/text";
import { Badge, cx, Key, Statement } from "./basics";
import { Dialog } from "./dialog";
import { ICONS, PLACES } from "./shell";

interface Entry {
  group: "memories" | "files" | "do";
  key: string;
  mark: ReactNode;
  text: ReactNode;
  note?: string;
  run: () => void;
}

export function Palette() {
  const { t } = useTranslation();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const entries = useEntries(query);
  const index = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    closeOverlay();
    entry.run();
  };
  return (
    <Dialog title={t("palette.title")} hideTitle onClose={closeOverlay} wide>
      <div className="flex items-center gap-3 border-b border-line px-4">
        <Search size={16} className="text-ink3" aria-hidden />
        <input
          autoFocus
          role="combobox"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={entries[index] ? `${listId}-${index}` : undefined}
          aria-label={t("palette.title")}
          placeholder={t("palette.placeholder")}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step) {
              event.preventDefault();
              setAt((index + step + entries.length) % Math.max(1, entries.length));
            } else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(entries[index]);
          }}
          className="h-12 flex-1 bg-transparent text-list outline-none"
        />
        <Key name="escape" />
      </div>
      <ul id={listId} role="listbox" aria-label={t("palette.title")} className="max-h-[56vh] overflow-auto py-2">
        {entries.map((entry, position) => (
          <li key={entry.key} role="presentation">
            {entries[position - 1]?.group !== entry.group && <p role="presentation" className="px-4 pt-2 pb-1 text-small text-ink3">{t(`palette.${entry.group}`)}</p>}
            <div
              id={`${listId}-${position}`}
              role="option"
              aria-selected={position === index}
              onMouseMove={() => setAt(position)}
              onClick={() => run(entry)}
              className={cx("flex min-h-8 cursor-pointer items-center gap-3 px-4 py-1", position === index && "bg-selected")}
            >
              {entry.mark}
              <span className="min-w-0 flex-1 truncate">{entry.text}</span>
              {entry.note && <span className="text-small text-ink3">{entry.note}</span>}
              {position === index && <CornerDownLeft size={13} className="text-ink3" aria-hidden />}
            </div>
          </li>
        ))}
        {entries.length === 0 && <li className="px-4 py-3 text-ink2">{t("palette.nothing")}</li>}
      </ul>
    </Dialog>
  );
}

function icon(Icon: LucideIcon): ReactNode {
  return <Icon size={15} className="shrink-0 text-ink2" aria-hidden />;
}

function useEntries(query: string): Entry[] {
  const { t } = useTranslation();
  const project = useProject();
  const asked = useDeferredValue(query.trim());
  const found = useQuery({
    queryKey: ["memories", "palette", project, asked],
    queryFn: ({ signal }) => get("/api/recall", { query: { query: asked, limit: 6, count_access: false }, signal }),
    enabled: asked.length > 1,
    placeholderData: (before) => before,
  });
  const files = useQuery({
    queryKey: ["map", "palette", project, asked],
    queryFn: ({ signal }) => get("/api/graph/search", { query: { query: asked, limit: 4 }, signal }),
    enabled: asked.length > 1,
    retry: false,
    placeholderData: (before) => before,
  });
  const terms = termsOf(asked);
  const entries: Entry[] = [];
  if (asked) {
    for (const { memory: row } of found.data?.hits ?? []) {
      entries.push({ group: "memories", key: row.id, mark: <Badge type={badgeOf(row.type)} />, text: <Statement text={row.content.split("\n")[0] ?? ""} terms={terms} />, run: () => go(href("memories", row.id)) });
    }
    for (const file of files.data?.files ?? []) {
      entries.push({ group: "files", key: file.path, mark: icon(FileText), text: <span className="font-mono text-small"><Statement text={file.path} terms={terms} /></span>, note: t("palette.impact"), run: () => go(href("map", file.path)) });
    }
    entries.push({ group: "do", key: "teach-this", mark: icon(Plus), text: t("palette.teach", { text: asked }), run: () => overlay.set({ kind: "teach", text: asked }) });
  }
  const commands: [string, LucideIcon, string, () => void][] = [
    ...[...PLACES, "settings" as const].map((view): [string, LucideIcon, string, () => void] => [view, ICONS[view], t("palette.go", { place: t(`nav.${view}`) }), () => go(href(view))]),
    ["teach", Plus, t("action.teach"), () => overlay.set({ kind: "teach" })],
    ["recipe", ICONS.recipes, t("recipes.add"), () => overlay.set({ kind: "recipe" })],
    ["prune", ICONS.settings, t("palette.prune"), () => go(href("settings", "", { part: "storage" }))],
    ["light", ICONS.settings, t("palette.light"), () => themeSetting.set("light")],
    ["dark", ICONS.settings, t("palette.dark"), () => themeSetting.set("dark")],
    ["keys", ICONS.settings, t("keys.title"), () => overlay.set({ kind: "keys" })],
  ];
  const wanted = query.trim().toLowerCase();
  for (const [key, Icon, text, run] of commands) {
    if (!wanted || text.toLowerCase().includes(wanted)) entries.push({ group: "do", key, mark: icon(Icon), text, run });
  }
  return entries;
}
