/** The cost by component: legalised start, best, signed difference; and the curve over time. */
import { useMemo, useState } from "preact/hooks";
import type { Costs, JobRead, MetricPoint } from "../api/types";
import { Chart, type Line } from "../charts/chart";
import { change, cost } from "../ui/format";
import { columns } from "./job-state";
import { isFinal } from "./state-badge";

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

const lines = (format: (value: number) => string): readonly Line[] =>
  COMPONENTS.map(({ label, token, key }) => ({ label, token, format, width: key === "proxy_cost" ? 2.5 : 1.5 }));
const ABSOLUTE = lines(cost);
const RELATIVE = lines((value) => `${value.toFixed(1)} %`);

export function CostPanel({ job, points }: { job: JobRead; points: readonly MetricPoint[] }) {
  const [relative, setRelative] = useState(false);
  const absoluteData = useMemo(
    () =>
      columns(
        points,
        COMPONENTS.map(({ key }) => `best_${key}`),
      ),
    [points],
  );
  const start = job.start_costs ?? null;
  const data = useMemo(
    () => (relative && start ? inPercent(absoluteData, start) : absoluteData),
    [absoluteData, relative, start],
  );
  return (
    <section class="panel" aria-labelledby="cost-title">
      <h2 id="cost-title">Cost</h2>
      <CostTable start={start} best={job.best_costs ?? null} />
      {data[0].length > 1 ? (
        <>
          <div class="segments chart-scale" role="group" aria-label="Scale of the curve">
            <button type="button" aria-pressed={!relative} onClick={() => setRelative(false)}>
              Cost
            </button>
            <button type="button" aria-pressed={relative} disabled={!start} onClick={() => setRelative(true)}>
              % of start
            </button>
          </div>
          <Chart
            key={String(relative)}
            label="Best cost over time by component. The table above has the numbers."
            lines={relative ? RELATIVE : ABSOLUTE}
            data={data}
            stepped
            height={220}
          />
        </>
      ) : (
        <p class="muted chart-empty">
          {isFinal(job.state)
            ? "No improvement on the start was found."
            : "The curve begins with the first improvements."}
        </p>
      )}
    </section>
  );
}

type Columns = ReturnType<typeof columns>;

/** Each component as a share of the legal start's: shows what moves, which the sizes of the costs hide. */
function inPercent([times, ...values]: Columns, start: Costs): Columns {
  const shares = values.map((column, i) => {
    const from = start[COMPONENTS[i]!.key];
    return column.map((value) => (value === null || from === 0 ? null : (value / from) * 100));
  });
  return [times, ...shares];
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
