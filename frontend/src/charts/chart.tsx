/**
 * Lines over time, by uPlot. In: columns (times in seconds, values or null) and a colour token for each line; out: a chart that
 * fills its width and follows the page's theme. The numbers themselves stand beside it in text, for whoever cannot see it.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { tokenReader } from "../ui/colour";
import { duration } from "../ui/format";
import { THEME_CHANGED } from "../ui/theme-switch";

export interface Line {
  readonly label: string;
  /** Name of a CSS custom property with the line's colour. */
  readonly token: string;
  readonly width?: number;
  readonly format: (value: number) => string;
}

interface Props {
  readonly label: string;
  readonly lines: readonly Line[];
  readonly data: readonly [readonly number[], ...(readonly (number | null)[])[]];
  readonly height: number;
  /** Values hold until the next one, as a "best so far" does. */
  readonly stepped?: boolean;
}

export function Chart({ label, lines, data, height, stepped = false }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(data);
  newest.current = data;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart is made once; its data are exchanged below
  useEffect(() => {
    const element = host.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element, lines, height, stepped), newest.current as uPlot.AlignedData, element);
    };
    make();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const darkness = matchMedia("(prefers-color-scheme: dark)");
    darkness.addEventListener("change", make);
    window.addEventListener(THEME_CHANGED, make);
    return () => {
      observer.disconnect();
      darkness.removeEventListener("change", make);
      window.removeEventListener(THEME_CHANGED, make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data]);

  return <div class="chart" ref={host} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}

/** The vertical axis spans the values and a tenth more; below 0, where no cost and no share can be, it never goes. */
const FITTED: uPlot.Range.Config = { min: { pad: 0.1, hard: 0, mode: 0 }, max: { pad: 0.1, mode: 0 } };

function options(element: HTMLElement, lines: readonly Line[], height: number, stepped: boolean): uPlot.Options {
  const paths = stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {};
  const colour = tokenReader(element);
  const axis = {
    stroke: colour("--text-2"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: element.clientWidth || 300,
    height,
    legend: { live: true },
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false }, y: { range: FITTED } },
    // Without a pointer the legend shows the newest values.
    hooks: { setCursor: [showNewest], setData: [showNewest] },
    series: [
      { label: "Time", value: (_, value) => (value == null ? "–" : duration(value)) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.token),
        width: line.width ?? 1.5,
        spanGaps: true,
        ...paths,
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value == null ? "–" : line.format(value)),
      })),
    ],
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((tick) => duration(tick)), space: 70, size: 30 },
      { ...axis, size: 52 },
    ],
  };
}

function showNewest(plot: uPlot): void {
  const last = plot.data[0].length - 1;
  if (plot.cursor.idx == null && plot.legend.idx !== last) plot.setLegend({ idx: last }, false);
}
