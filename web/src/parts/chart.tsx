/** Charts on canvas (uPlot), each with a table for screen readers. Colours are tokens. */
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { colour, useThemeVersion } from "@/lib/theme";

export interface Series {
  label: string;
  values: readonly (number | null)[];
  fill: string;
  stroke: string;
  /** A word beside its last value. */
  mark?: string;
  /** What the table says, where the line is one of a stack. */
  told?: readonly (number | null)[];
}

interface ChartProps {
  caption: string;
  kind: "area" | "bars";
  /** One label for each value, under the axis and in the table. */
  ticks: readonly string[];
  series: readonly Series[];
  /** Text above each value, such as a share. */
  notes?: readonly string[];
  height?: number;
}

const FONT = "11.5px Geist, system-ui, sans-serif";
const NOTE_SPACE = 18;
const MARK_SPACE = 42;
const MARK_HEIGHT = 10;

export default function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const theme = useThemeVersion();
  const { caption, ticks, series, height = 150 } = props;
  const shape = JSON.stringify(props);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const given = JSON.parse(shape) as ChartProps;
    let plot: uPlot | null = null;
    const draw = () => {
      plot?.destroy();
      const width = element.clientWidth;
      if (width) plot = new uPlot(optionsOf(given, width, height), dataOf(given), element);
    };
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    void document.fonts?.ready.then(draw);
    return () => {
      watch.disconnect();
      plot?.destroy();
    };
  }, [shape, height, theme]);
  return (
    <figure>
      <div ref={host} aria-hidden style={{ height }} />
      <table className="sr-only">
        <caption>{caption}</caption>
        <thead><tr><td /> {series.map((one) => <th key={one.label} scope="col">{one.label}</th>)}</tr></thead>
        <tbody>
          {ticks.map((tick, index) => (
            <tr key={index}>
              <th scope="row">{tick}</th>
              {series.map((one) => <td key={one.label}>{(one.told ?? one.values)[index] ?? "–"}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function dataOf({ kind, ticks, series }: ChartProps): uPlot.AlignedData {
  return [ticks.map((_, index) => index), ...series.map((one) => one.values.map((value) => value || (kind === "bars" ? null : value)))];
}

function optionsOf(props: ChartProps, width: number, height: number): uPlot.Options {
  const ink3 = colour("ink3");
  const most = Math.max(1, ...props.series.flatMap((one) => one.values.map((value) => value ?? 0)));
  const pad = props.kind === "bars" ? 0.6 : 0;
  const every = Math.ceil(props.ticks.length / Math.max(2, Math.floor(width / 62)));
  const bars = uPlot.paths.bars?.({ size: [0.5, 26], radius: 0.08 });
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [NOTE_SPACE, props.kind === "area" ? MARK_SPACE : 4, 0, props.kind === "area" ? 22 : 4],
    scales: {
      x: { time: false, range: [-pad, props.ticks.length - 1 + pad] },
      y: { range: [0, most] },
    },
    axes: [
      {
        stroke: ink3,
        font: FONT,
        grid: { show: false },
        ticks: { show: false },
        size: 24,
        gap: 4,
        splits: () => props.ticks.map((_, index) => index).filter((index) => (props.ticks.length - 1 - index) % every === 0),
        values: (_, splits) => splits.map((index) => props.ticks[index] ?? ""),
        border: { show: true, stroke: colour("edge"), width: 1 },
      },
      { show: false },
    ],
    series: [
      {},
      ...props.series.map((one): uPlot.Series => ({
        stroke: colour(one.stroke),
        fill: colour(one.fill),
        width: props.kind === "area" ? 1.5 : 1,
        points: { show: false },
        ...(props.kind === "bars" && bars ? { paths: bars } : {}),
      })),
    ],
    hooks: {
      draw: [(plot) => drawNotes(plot, props), (plot) => drawMarks(plot, props)],
    },
  };
}

function drawNotes(plot: uPlot, { notes = [], series }: ChartProps): void {
  const context = plot.ctx;
  const ratio = devicePixelRatio || 1;
  context.save();
  context.font = `${11.5 * ratio}px Geist, system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  notes.forEach((note, index) => {
    if (!note) return;
    const top = Math.max(...series.map((one) => one.values[index] ?? 0));
    const isLast = index === notes.length - 1;
    context.fillStyle = colour(isLast ? "ink" : "ink3");
    if (isLast) context.font = `600 ${11.5 * ratio}px Geist, system-ui, sans-serif`;
    const x = Math.min(plot.valToPos(index, "x", true), plot.bbox.left + plot.bbox.width - 2 * ratio);
    context.fillText(note, x, plot.valToPos(top, "y", true) - 4 * ratio);
  });
  context.restore();
}

/** The names of stacked bands, each in the middle of its own; one that is too thin has none. */
function drawMarks(plot: uPlot, { series, ticks }: ChartProps): void {
  const context = plot.ctx;
  const ratio = devicePixelRatio || 1;
  const last = ticks.length - 1;
  context.save();
  context.font = `600 ${10.5 * ratio}px "Geist Mono", monospace`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  series.forEach((one, index) => {
    if (!one.mark) return;
    const top = plot.valToPos(one.values[last] ?? 0, "y", true);
    const foot = plot.valToPos(series[index + 1]?.values[last] ?? 0, "y", true);
    if (foot - top < MARK_HEIGHT * ratio) return;
    context.fillStyle = colour(one.stroke);
    context.fillText(one.mark, plot.bbox.left + plot.bbox.width + 5 * ratio, (top + foot) / 2);
  });
  context.restore();
}
