/** Lays out the file graph beside the page, and stops after two seconds. */
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";

const LIMIT_MS = 2_000;

interface Task {
  places: [number, number][];
  edges: [number, number][];
}

self.onmessage = ({ data }: MessageEvent<Task>) => {
  const graph = new Graph({ type: "directed" });
  data.places.forEach(([x, y], index) => graph.addNode(String(index), { x, y }));
  for (const [source, target] of data.edges) graph.mergeEdge(String(source), String(target));
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: graph.order > 500 };
  const end = performance.now() + LIMIT_MS;
  while (performance.now() < end) {
    forceAtlas2.assign(graph, { iterations: 10, settings });
    self.postMessage(graph.mapNodes((_, { x, y }) => ({ x: Number(x), y: Number(y) })));
  }
};
