/** How the learning goes: rates, lag, loss, and the mean cost of the agents' episodes over time. */
import { useMemo } from "preact/hooks";
import type { JobRead, MetricPoint } from "../api/types";
import { Chart, type Line } from "../charts/chart";
import { cost, count, measure } from "../ui/format";
import { columns, latest } from "./job-state";
import { isFinal } from "./state-badge";

const TILES: readonly {
  readonly name: string;
  readonly label: string;
  readonly what: string;
  readonly format: (v: number) => string;
}[] = [
  {
    name: "episodes_per_s",
    label: "Episodes/s",
    what: "Whole placements tried by the agents each second",
    format: measure,
  },
  { name: "learner_steps_per_s", label: "Learner steps/s", what: "Updates of the policy each second", format: measure },
  { name: "policy_version", label: "Policy version", what: "Updates so far", format: count },
  {
    name: "policy_lag",
    label: "Policy lag",
    what: "Versions between the policy that acted and the one that learns",
    format: measure,
  },
  { name: "loss", label: "Loss", what: "Of the last learner step", format: measure },
  {
    name: "episode_cost_mean",
    label: "Mean episode cost",
    what: "Proxy cost of recent episodes, on average",
    format: cost,
  },
];

const LINES: readonly Line[] = [{ label: "Mean episode cost", token: "--curve-proxy", format: cost, width: 2 }];

export function LearningPanel({ job, points }: { job: JobRead; points: readonly MetricPoint[] }) {
  const data = useMemo(() => columns(points, ["episode_cost_mean"]), [points]);
  const trials = latest(points, "search_trials_per_s");
  const tiles = TILES.flatMap((tile) => {
    const value = latest(points, tile.name);
    return value === null ? [] : [{ ...tile, value }];
  });
  const learns = tiles.length > 0;
  const expected = job.method === "auto" || job.method === "rl";
  if (!learns && !expected && trials === null) return null;
  return (
    <section class="panel" aria-labelledby="learning-title">
      <h2 id="learning-title">{expected || learns ? "Learning" : "Search"}</h2>
      {expected && !learns && (
        <p class="muted">
          {isFinal(job.state)
            ? "Learning had not produced figures when the job ended: starting the agents takes some seconds."
            : "The agents have not reported yet. They start after the first legal placement."}
        </p>
      )}
      <dl class="tiles">
        {tiles.map(({ name, label, what, format, value }) => (
          <div key={name} title={what}>
            <dt>{label}</dt>
            <dd class="num">{format(value)}</dd>
          </div>
        ))}
        {trials !== null && (
          <div title="Moves tried by the exact search each second">
            <dt>Search trials/s</dt>
            <dd class="num">{measure(trials)}</dd>
          </div>
        )}
      </dl>
      {data[0].length > 1 && <Chart label="Mean episode cost over time" lines={LINES} data={data} height={150} />}
    </section>
  );
}
