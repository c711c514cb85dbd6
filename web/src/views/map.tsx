/** The map: modules where the server places them, what a change reaches, and one file's story. */
import { useQuery } from "@tanstack/react-query";
import { Maximize, Minus, MousePointerClick, Plus, Search, X } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { get, type Schema } from "@/lib/api";
import { number, percent } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { overlay } from "@/lib/overlay";
import { useProject } from "@/lib/queries";
import { change, go, href, useRoute } from "@/lib/router";
import { Badge, Bar, Button, cx, Empty, Failure, Section, Skeleton, Statement, useWide } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";

const FileGraph = lazy(() => import("@/parts/file-graph"));

type Map_ = Schema["ModuleMap"];
type Module = Map_["modules"][number];

const CELL = { width: 212, height: 150 };
const CARD = { width: 172, height: 74 };

export default function MapView() {
  const { t } = useTranslation();
  const project = useProject();
  const map = useQuery({ queryKey: ["map", project], queryFn: ({ signal }) => get("/api/graph/map", { signal }), retry: false, staleTime: 60_000 });
  if (map.isPending) return <div className="px-7"><Skeleton rows={4} /></div>;
  if (!map.data || map.data.modules.length === 0) {
    return (
      <div className="px-7 pt-8">
        <h1 className="sr-only">{t("nav.map")}</h1>
        <Empty title={t("map.none")} actions={map.error ? <Button onClick={() => void map.refetch()}>{t("action.retry")}</Button> : undefined}>
          <p>{t("map.noneWhy")}</p>
          <pre className="mt-3 rounded-control border border-edge bg-surface px-3 py-2 font-mono text-ui text-ink">wellkept graph build</pre>
        </Empty>
      </div>
    );
  }
  return <Plane map={map.data} />;
}

function useImpact(file: string) {
  const project = useProject();
  return useQuery({
    queryKey: ["map", "impact", project, file],
    queryFn: ({ signal }) => get("/api/graph/impact", { query: { name: file }, signal }),
    select: (found) => ({ ...found, touched: [...found.direct, ...found.transitive].map((one) => ({ id: one.node.id, depth: one.depth, how: one.kind })) }),
    enabled: Boolean(file),
    retry: false,
  });
}

/** How many steps a change needs to reach each module. */
export function stepsOf(modules: readonly Pick<Module, "folder" | "paths">[], file: string, touched: readonly { id: string; depth: number }[]): Map<string, number> {
  const steps = new Map<string, number>();
  const own = moduleOf(modules, file);
  if (own) steps.set(own, 0);
  for (const { id, depth } of touched) {
    const folder = moduleOf(modules, id.split("::")[0] ?? id);
    if (folder && depth < (steps.get(folder) ?? Infinity)) steps.set(folder, depth);
  }
  return steps;
}

export function moduleOf(modules: readonly Pick<Module, "folder" | "paths">[], file: string): string | null {
  const exact = modules.find((one) => one.paths.includes(file));
  if (exact) return exact.folder;
  const fits = modules.filter((one) => one.folder && one.folder !== "." && file.startsWith(`${one.folder}/`));
  return fits.sort((a, b) => b.folder.length - a.folder.length)[0]?.folder ?? null;
}

function Plane({ map }: { map: Map_ }) {
  const { t } = useTranslation();
  const { id, params } = useRoute();
  const wide = useWide(1100);
  const [zoom, setZoom] = useState(1);
  const [query, setQuery] = useState("");
  const level = params.get("level") === "files" ? "files" : "modules";
  const shade = params.get("shade") ?? "impact";
  const isModule = map.modules.some((one) => one.folder === id);
  const file = isModule ? "" : id;
  const impact = useImpact(file);
  const steps = useMemo(() => stepsOf(map.modules, file, impact.data?.touched ?? []), [map.modules, file, impact.data]);
  const found = query.trim() ? map.modules.flatMap((one) => one.paths).filter((path) => path.toLowerCase().includes(query.trim().toLowerCase())) : [];
  const chosen = map.modules.find((one) => one.folder === id);
  const total = map.modules.reduce((sum, one) => sum + one.files, 0);
  const open = (name: string) => change({}, { id: name, replace: false });
  useKeys({ escape: () => change({}, { id: "" }) });
  return (
    <div className="flex h-full">
      {(wide || !id) && (
        <section className="relative flex min-w-0 flex-1 flex-col" aria-label={t("nav.map")}>
          <h1 className="sr-only">{t("nav.map")}</h1>
          <div className="flex flex-wrap gap-2 px-6 pt-3.5 max-tabs:px-4">
            <div className="relative">
              <Search size={15} className="absolute top-1/2 left-3 -translate-y-1/2 text-ink3" aria-hidden />
              <input type="search" value={query} onChange={(event) => setQuery(event.target.value)} aria-label={t("map.search")} placeholder={t("map.search")} className="h-[30px] w-[250px] rounded-control border border-field bg-surface pr-3 pl-8 max-tabs:h-11" />
              {query && (
                <ul className="absolute z-10 mt-1 max-h-72 w-[360px] max-w-[80vw] overflow-auto rounded-large border border-edge bg-surface py-1 shadow-dialog" aria-label={t("map.found", { count: found.length })}>
                  <li className="px-3 py-1 text-small text-ink3">{t("map.found", { count: found.length })}</li>
                  {found.slice(0, 40).map((path) => <li key={path}><button type="button" onClick={() => { setQuery(""); open(path); }} className="block w-full truncate px-3 py-1 text-left font-mono text-small hover:bg-selected">{path}</button></li>)}
                </ul>
              )}
            </div>
            <Segments name={t("map.level")} value={level} options={[["modules", t("map.modules")], ["files", `${t("map.files")} ${number(total)}`]]} onChange={(value) => change({ level: value === "modules" ? null : value })} />
            {level === "modules" && <Segments name={t("map.shade")} value={shade} options={[["impact", t("map.impact")], ["coverage", t("map.coverage")], ["e2e", t("map.e2e")]]} onChange={(value) => change({ shade: value === "impact" ? null : value })} />}
          </div>
          {level === "files"
            ? <Suspense fallback={<Skeleton />}><FileGraph open={file} onOpen={open} /></Suspense>
            : (
              <div className="min-h-0 flex-1 overflow-auto bg-[radial-gradient(var(--color-line)_1px,transparent_1px)] bg-[size:21px_21px] p-6" tabIndex={0} role="region" aria-label={t("map.modules")}>
                <div className="relative mx-auto" style={{ width: map.width * CELL.width * zoom, height: map.height * CELL.height * zoom }}>
                  <div className="absolute origin-top-left" style={{ transform: `scale(${zoom})`, width: map.width * CELL.width, height: map.height * CELL.height }}>
                    <Edges map={map} steps={steps} active={Boolean(file)} />
                    <ul>{map.modules.map((one) => <li key={one.folder}><ModuleCard module={one} shade={shade} steps={file ? steps.get(one.folder) : undefined} dim={Boolean(file) && !steps.has(one.folder)} isOpen={one.folder === id} file={file && steps.get(one.folder) === 0 ? file : ""} onOpen={() => open(one.folder)} /></li>)}</ul>
                  </div>
                </div>
              </div>
            )}
          {level === "modules" && (
            <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line px-6 py-2 text-small text-ink2">
              <span className="inline-flex items-center gap-1.5"><span className="inline-block h-[5px] w-5 rounded-full bg-bar" aria-hidden />{t("map.legend.covered")}</span>
              <span className="inline-flex items-center gap-1.5"><MousePointerClick size={13} aria-hidden />{t("map.legend.e2e")}</span>
              <span className="inline-flex items-center gap-1.5"><span className="stripes inline-block h-[5px] w-5" aria-hidden />{t("map.legend.nothing")}</span>
              <span className="ml-auto flex items-center rounded-control border border-edge bg-surface">
                <button type="button" aria-label={t("map.out")} onClick={() => setZoom((one) => Math.max(0.4, one - 0.1))} className="grid size-7 place-items-center"><Minus size={14} /></button>
                <span className="w-11 text-center">{percent(zoom)}</span>
                <button type="button" aria-label={t("map.in")} onClick={() => setZoom((one) => Math.min(2, one + 0.1))} className="grid size-7 place-items-center"><Plus size={14} /></button>
                <button type="button" aria-label={t("map.whole")} onClick={() => setZoom(1)} className="grid size-7 place-items-center"><Maximize size={14} /></button>
              </span>
            </div>
          )}
        </section>
      )}
      {id && (
        <aside className="w-[384px] shrink-0 overflow-auto border-l border-line bg-surface px-5 pt-4 pb-10 wide:w-[480px] max-panes:w-full max-panes:border-0" aria-label={id}>
          <Boundary of={id}>{chosen ? <ModulePanel module={chosen} onOpen={open} /> : <FilePanel file={file} impact={impact} modules={map.modules} onOpen={open} />}</Boundary>
        </aside>
      )}
    </div>
  );
}

function Segments({ name, value, options, onChange }: { name: string; value: string; options: readonly (readonly [string, string])[]; onChange: (value: string) => void }) {
  return (
    <div role="group" aria-label={name} className="flex overflow-hidden rounded-control border border-edge">
      {options.map(([one, text]) => <button key={one} type="button" aria-pressed={value === one} onClick={() => onChange(one)} className={cx("h-7 px-3 font-medium -outline-offset-2 max-tabs:h-11", value === one ? "bg-ink text-bg" : "bg-surface hover:bg-selected")}>{text}</button>)}
    </div>
  );
}

function centre(one: Module): { x: number; y: number } {
  return { x: one.x * CELL.width + CARD.width / 2, y: one.y * CELL.height + CARD.height / 2 };
}

/** Curves from a module to those that a change of it reaches; nearness by weight and dash. */
function Edges({ map, steps, active }: { map: Map_; steps: ReadonlyMap<string, number>; active: boolean }) {
  const byFolder = new Map(map.modules.map((one) => [one.folder, one]));
  return (
    <svg className="absolute inset-0 size-full overflow-visible" aria-hidden>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="var(--color-ink)" /></marker></defs>
      {map.edges.map((edge) => {
        const from = byFolder.get(edge.source);
        const to = byFolder.get(edge.target);
        if (!from || !to || from === to) return null;
        const a = centre(from);
        const b = centre(to);
        const sideways = Math.abs(b.x - a.x) >= CARD.width;
        const start = sideways ? { x: a.x + Math.sign(b.x - a.x) * (CARD.width / 2), y: a.y } : { x: a.x, y: a.y + Math.sign(b.y - a.y) * (CARD.height / 2) };
        const end = sideways ? { x: b.x - Math.sign(b.x - a.x) * (CARD.width / 2 + 2), y: b.y } : { x: b.x, y: b.y - Math.sign(b.y - a.y) * (CARD.height / 2 + 2) };
        const bend = sideways ? `${(start.x + end.x) / 2} ${start.y} ${(start.x + end.x) / 2} ${end.y}` : `${start.x} ${(start.y + end.y) / 2} ${end.x} ${(start.y + end.y) / 2}`;
        const fromStep = steps.get(edge.source);
        const toStep = steps.get(edge.target);
        const lit = active && fromStep !== undefined && toStep !== undefined && toStep > fromStep;
        return <path key={`${edge.source}>${edge.target}`} d={`M${start.x} ${start.y}C${bend} ${end.x} ${end.y}`} fill="none" stroke={lit ? "var(--color-ink)" : "var(--color-edge)"} strokeWidth={lit ? (toStep === 1 ? 2.2 : 1.4) : Math.min(2, 0.8 + edge.uses / 40)} strokeDasharray={lit && toStep > 2 ? "5 4" : undefined} markerEnd={lit ? "url(#arrow)" : undefined} opacity={active && !lit ? 0.5 : 1} />;
      })}
    </svg>
  );
}

function ModuleCard({ module, shade, steps, dim, isOpen, file, onOpen }: { module: Module; shade: string; steps: number | undefined; dim: boolean; isOpen: boolean; file: string; onOpen: () => void }) {
  const { t } = useTranslation();
  const own = steps === 0 || isOpen;
  const share = module.files ? module.covered / module.files : 0;
  const empty = module.memories === 0;
  return (
    <button
      type="button"
      onClick={onOpen}
      aria-current={isOpen ? "true" : undefined}
      title={module.purpose || module.folder}
      className={cx(
        "absolute flex flex-col justify-between rounded-large border px-3 py-2 text-left",
        own ? "border-ink bg-ink text-bg" : "bg-surface",
        !own && (steps !== undefined ? "border-ink" : empty ? "border-warn" : "border-edge hover:border-ink"),
        steps === 1 && "shadow-[0_0_0_3px_var(--color-selected)]",
        steps !== undefined && steps > 2 && "border-dashed",
        dim && "border-line text-ink3",
        shade === "e2e" && !module.e2e && "border-dashed text-ink3",
      )}
      style={{ left: module.x * CELL.width, top: module.y * CELL.height, width: CARD.width, minHeight: CARD.height }}
    >
      <span className="flex items-baseline justify-between gap-2"><b className="truncate font-mono font-semibold">{module.name}</b>{steps !== undefined && steps > 0 && <span className="shrink-0 text-meta">{t("map.steps", { count: steps })}</span>}{shade === "coverage" && <span className="text-meta">{percent(share)}</span>}</span>
      <span className={cx("flex items-center gap-3 text-meta", own ? "opacity-85" : dim ? "text-ink3" : "text-ink2")}><span>{t("map.kept", { count: module.memories })}</span>{module.e2e > 0 && <span className="inline-flex items-center gap-1"><MousePointerClick size={11} aria-label={t("map.legend.e2e")} />{number(module.e2e)}</span>}<span className="ml-auto">{t("map.fileCount", { count: module.files })}</span></span>
      {own ? <span aria-hidden className="block h-[5px] rounded-full bg-bg/30"><span className="block h-full rounded-full bg-bg" style={{ width: `${share * 100}%` }} /></span> : <Bar share={share} striped={empty} />}
      {file && <span className="mt-1.5 truncate rounded-badge bg-bg px-2 font-mono text-meta text-ink">{file.split("/").at(-1)}</span>}
    </button>
  );
}

function PanelHead({ over, title }: { over: string; title: string }) {
  const { t } = useTranslation();
  const wide = useWide(1100);
  const Title = wide ? "h2" : "h1";
  return (
    <>
      <div className="flex items-center"><span className="min-w-0 flex-1 truncate font-mono text-small text-ink2">{over}</span><button type="button" aria-label={t("action.close")} onClick={() => change({}, { id: "" })} className="grid size-7 place-items-center rounded-control text-ink2 hover:bg-selected max-tabs:size-11"><X size={16} /></button></div>
      <Title className="font-mono text-card leading-tight font-semibold break-all"><Statement text={title} /></Title>
    </>
  );
}

function ModulePanel({ module, onOpen }: { module: Module; onOpen: (name: string) => void }) {
  const { t } = useTranslation();
  return (
    <>
      <PanelHead over={module.folder} title={module.name} />
      {module.purpose && <p className="mt-2 text-ink2"><Statement text={module.purpose} /></p>}
      <p className="mt-2 text-ink2">{t("map.covered", { covered: number(module.covered), files: number(module.files) })} {module.languages.join(", ")}</p>
      <div className="mt-3 flex flex-wrap gap-2"><Button kind="main" onClick={() => go(href("memories", "", { module: module.name }))}>{t("map.openMemories", { count: module.memories })}</Button></div>
      <Section className="mt-5" title={t("map.files")} note={number(module.files)}>
        <ul className="space-y-0.5">{module.paths.map((path) => <li key={path}><button type="button" onClick={() => onOpen(path)} className="block w-full truncate text-left font-mono text-small hover:underline">{path}</button></li>)}</ul>
      </Section>
    </>
  );
}

function FilePanel({ file, impact, modules, onOpen }: { file: string; impact: ReturnType<typeof useImpact>; modules: readonly Module[]; onOpen: (name: string) => void }) {
  const { t } = useTranslation();
  const folder = file.slice(0, file.lastIndexOf("/"));
  const name = file.slice(file.lastIndexOf("/") + 1);
  const found = impact.data;
  const files = found ? reachedFiles(file, found.touched) : [];
  const reached = new Set(files.map((one) => moduleOf(modules, one.path)).filter(Boolean)).size;
  return (
    <>
      <PanelHead over={`${folder} /`} title={name} />
      {impact.isPending && <Skeleton rows={2} />}
      {impact.error && <div className="mt-3"><Failure error={impact.error} onRetry={() => void impact.refetch()} /></div>}
      {found && <p className="mt-2 text-ink2">{t("map.reaches", { files: number(files.length), modules: number(reached) })}</p>}
      <div className="mt-3 flex flex-wrap gap-2">
        <Button kind="main" onClick={() => go(href("memories", "", { file }))}>{t("map.openMemories", { count: found?.memories?.length ?? 0 })}</Button>
        <Button icon={<Plus size={15} aria-hidden />} onClick={() => overlay.set({ kind: "teach", file })}>{t("map.addOne")}</Button>
      </div>
      {found && (
        <div className="mt-5">
          <Section title={t("map.reachesTitle")}>
            {files.length === 0 && <p className="text-ink2">{t("map.reachesNone")}</p>}
            {[1, 2, 3].map((depth) => {
              const rows = files.filter((one) => one.depth === depth);
              return rows.length > 0 && (
                <div key={depth} className="mb-2.5">
                  <p className="text-small text-ink2">{t("map.steps", { count: depth })} {number(rows.length)}</p>
                  <ul>{rows.slice(0, 20).map((one) => <li key={one.path} className="flex gap-3"><button type="button" onClick={() => onOpen(one.path)} className="min-w-0 flex-1 truncate text-left font-mono text-small hover:underline">{one.path}</button><span className="max-w-[45%] truncate text-small text-ink2"><Statement text={one.how} /></span></li>)}</ul>
                </div>
              );
            })}
          </Section>
          {(found.memories?.length ?? 0) > 0 && (
            <Section title={t("map.about")}>
              <ul className="space-y-1.5">{found.memories?.slice(0, 12).map((one) => <li key={one.id} className="flex items-baseline gap-3"><Badge type={one.type} /><a href={href("memories", one.id)} className="line-clamp-2 min-w-0 hover:underline"><Statement text={one.text} /></a></li>)}</ul>
            </Section>
          )}
          {(found.e2e_observations?.length ?? 0) > 0 && <Section title={t("map.legend.e2e")}><ul className="space-y-1.5">{found.e2e_observations?.slice(0, 8).map((one) => <li key={one.id} className="line-clamp-2"><a href={href("memories", one.id)} className="hover:underline"><Statement text={one.text} /></a></li>)}</ul></Section>}
          {(found.tests?.length ?? 0) > 0 && <Section title={t("map.tests")} note={number(found.tests?.length)}><ul className="font-mono text-small">{found.tests?.slice(0, 10).map((one) => <li key={one} className="truncate">{one}</li>)}</ul></Section>}
        </div>
      )}
    </>
  );
}

/** Files that a change reaches, each once at its nearest. */
export function reachedFiles(file: string, touched: readonly { id: string; depth: number; how: string }[]): { path: string; depth: number; how: string }[] {
  const nearest = new Map<string, { path: string; depth: number; how: string }>();
  for (const { id, depth, how } of touched) {
    const path = id.split("::")[0] ?? id;
    const known = nearest.get(path);
    if (path !== file && (!known || depth < known.depth)) nearest.set(path, { path, depth, how });
  }
  return [...nearest.values()].sort((a, b) => a.depth - b.depth || a.path.localeCompare(b.path));
}
