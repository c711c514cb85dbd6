/** Every file and which of them a change reaches, on WebGL; the list beside it says the same. */
import { useQuery } from "@tanstack/react-query";
import Graph from "graphology";
import Sigma from "sigma";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { get } from "@/lib/api";
import { useProject } from "@/lib/queries";
import { colour, useThemeVersion } from "@/lib/theme";
import { Failure, Skeleton } from "./basics";

export default function FileGraph({ open, onOpen }: { open: string; onOpen: (path: string) => void }) {
  const { t } = useTranslation();
  const project = useProject();
  const host = useRef<HTMLDivElement>(null);
  const theme = useThemeVersion();
  const found = useQuery({ queryKey: ["map", "files", project], queryFn: ({ signal }) => get("/api/graph/map", { query: { files: true }, signal }), select: (map) => map.file_graph, staleTime: 60_000 });
  const latest = useRef(onOpen);
  useEffect(() => {
    latest.current = onOpen;
  });
  useEffect(() => {
    const element = host.current;
    if (!element || !found.data) return;
    const { files, edges } = found.data;
    const graph = new Graph({ type: "directed" });
    const ink = { open: colour("ink"), kept: colour("bar"), bare: colour("edge"), line: colour("line") };
    files.forEach((file, index) => {
      // A place to start from that is the same at every visit: around its module.
      const [x, y] = placeOf(file.module, index);
      graph.addNode(String(index), { x, y, size: 2 + Math.min(7, Math.sqrt(file.lines) / 5), label: file.path, color: file.path === open ? ink.open : file.memories ? ink.kept : ink.bare });
    });
    for (const { source, target, uses } of edges) {
      if (source !== target && !graph.hasEdge(String(source), String(target))) graph.addEdge(String(source), String(target), { size: Math.min(2, 0.4 + uses / 10), color: ink.line });
    }
    const drawn = new Sigma(graph, element, { labelColor: { color: colour("ink") }, labelFont: "Geist Mono, monospace", labelSize: 11, defaultEdgeColor: ink.line, allowInvalidContainer: true });
    drawn.on("clickNode", ({ node }) => {
      const file = files[Number(node)];
      if (file) latest.current(file.path);
    });
    const worker = new Worker(new URL("../lib/layout-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<{ x: number; y: number }[]>) => {
      event.data.forEach((place, index) => graph.mergeNodeAttributes(String(index), place));
      drawn.refresh();
    };
    worker.postMessage({ places: files.map((file, index) => placeOf(file.module, index)), edges: edges.map((one) => [one.source, one.target]) });
    return () => {
      worker.terminate();
      drawn.kill();
    };
  }, [found.data, open, theme]);
  if (found.isPending) return <div className="px-6"><Skeleton /></div>;
  if (!found.data) return <div className="p-6"><Failure error={found.error} onRetry={() => void found.refetch()} /></div>;
  return (
    <div className="flex min-h-0 flex-1">
      <div ref={host} className="min-w-0 flex-1" role="img" aria-label={t("map.graph", { count: found.data.files.length })} />
      <ul className="w-[260px] shrink-0 overflow-auto border-l border-line py-2 max-panes:w-full max-panes:flex-1" aria-label={t("map.files")}>
        {found.data.truncated && <li className="px-3 py-1 text-small text-ink3">{t("sessions.truncated")}</li>}
        {found.data.files.slice(0, 400).map((file) => <li key={file.path}><button type="button" onClick={() => onOpen(file.path)} className="block w-full truncate px-3 py-0.5 text-left font-mono text-meta hover:bg-selected">{file.path}</button></li>)}
      </ul>
    </div>
  );
}

function placeOf(module: string, index: number): [number, number] {
  let hash = 7;
  for (const letter of module) hash = (hash * 31 + letter.charCodeAt(0)) % 10_007;
  const angle = (hash / 10_007) * 2 * Math.PI;
  const turn = index * 2.399963;
  const reach = 1.2 * Math.sqrt(index % 97);
  return [100 * Math.cos(angle) + reach * Math.cos(turn), 100 * Math.sin(angle) + reach * Math.sin(turn)];
}
