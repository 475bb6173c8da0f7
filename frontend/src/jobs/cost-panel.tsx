/** The cost by component: legalised start, best, signed difference; and the curve over time. */
import { useMemo } from "preact/hooks";
import type { Costs, JobRead, MetricPoint } from "../api/types";
import { Chart, type Line } from "../charts/chart";
import { change, cost } from "../ui/format";
import { columns } from "./job-state";

interface Component {
  readonly key: "proxy_cost" | "wirelength_cost" | "density_cost" | "congestion_cost";
  readonly label: string;
  readonly token: string;
}

const COMPONENTS: readonly Component[] = [
  { key: "proxy_cost", label: "Proxy cost", token: "--curve-proxy" },
  { key: "wirelength_cost", label: "Wirelength", token: "--curve-wirelength" },
  { key: "density_cost", label: "Density", token: "--curve-density" },
  { key: "congestion_cost", label: "Congestion", token: "--curve-congestion" },
];

const LINES: readonly Line[] = COMPONENTS.map(({ label, token, key }) => ({
  label,
  token,
  format: cost,
  width: key === "proxy_cost" ? 2.5 : 1.5,
}));

export function CostPanel({ job, points }: { job: JobRead; points: readonly MetricPoint[] }) {
  const data = useMemo(
    () =>
      columns(
        points,
        COMPONENTS.map(({ key }) => `best_${key}`),
      ),
    [points],
  );
  return (
    <section class="panel" aria-labelledby="cost-title">
      <h2 id="cost-title">Cost</h2>
      <CostTable start={job.start_costs ?? null} best={job.best_costs ?? null} />
      {data[0].length > 1 ? (
        <Chart
          label="Best cost over time by component. The table above has the numbers."
          lines={LINES}
          data={data}
          height={220}
        />
      ) : (
        <p class="muted chart-empty">The curve begins with the first improvements.</p>
      )}
    </section>
  );
}

function CostTable({ start, best }: { start: Costs | null; best: Costs | null }) {
  return (
    <table class="table cost-table">
      <thead>
        <tr>
          <th scope="col">Lower is better</th>
          <th scope="col">Legal start</th>
          <th scope="col">Best</th>
          <th scope="col">Change</th>
        </tr>
      </thead>
      <tbody>
        {COMPONENTS.map(({ key, label, token }) => (
          <tr key={key} class={key === "proxy_cost" ? "strong" : ""}>
            <th scope="row">
              <i class="line-key" style={{ background: `var(${token})` }} />
              {label}
            </th>
            <td class="num">{start ? cost(start[key]) : "–"}</td>
            <td class="num">{best ? cost(best[key]) : "–"}</td>
            <td class="num">{start && best ? <Change from={start[key]} to={best[key]} /> : "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Change({ from, to }: { from: number; to: number }) {
  const { difference, percent, better } = change(from, to);
  return (
    <span class={better === null ? "muted" : better ? "good" : "bad"}>
      {difference} <span class="change-percent">({percent})</span>
    </span>
  );
}
