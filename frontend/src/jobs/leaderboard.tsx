/** All kept placements of a job, best first, each with its costs, where it comes from, and its files. */
import { fileUrl } from "../api/client";
import type { JobRead, PlacementRead } from "../api/types";
import { change, cost, count, signed } from "../ui/format";
import { Empty } from "../ui/parts";
import { FORMATS } from "./downloads";
import type { Selection } from "./layout-panel";
import { describe, type Stage, stagesOf } from "./provenance";

interface Props {
  readonly job: JobRead;
  readonly placements: readonly PlacementRead[];
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
}

export function Leaderboard({ job, placements, selection, onSelect }: Props) {
  const bestId = job.best_placement_id ?? placements[0]?.id;
  const shown = (placement: PlacementRead) =>
    selection.kind === "placement"
      ? selection.id === placement.id
      : selection.kind === "best" && placement.id === bestId;
  return (
    <section class="panel late" aria-labelledby="board-title">
      <h2 id="board-title">Leaderboard</h2>
      {placements.length === 0 ? (
        <Empty title="No placement yet">The legalised start comes first; improvements follow as they are found.</Empty>
      ) : (
        <div class="table-scroll">
          <table class="table board">
            <thead>
              <tr>
                <th scope="col">Rank</th>
                <th scope="col">Proxy cost</th>
                <th scope="col">vs. start</th>
                <th scope="col">Wire</th>
                <th scope="col">Density</th>
                <th scope="col">Congestion</th>
                <th scope="col" class="board-origin">
                  Where it comes from
                </th>
                <th scope="col">Files</th>
              </tr>
            </thead>
            <tbody>
              {placements.map((placement) => (
                <tr key={placement.id} class={shown(placement) ? "chosen" : ""}>
                  <th scope="row">
                    <button
                      type="button"
                      class="rank"
                      aria-pressed={shown(placement)}
                      aria-label={`Show rank ${placement.rank} in the layout`}
                      onClick={() => onSelect({ kind: "placement", id: placement.id })}
                    >
                      {placement.rank}
                    </button>
                  </th>
                  <td class="num strong">
                    {cost(placement.costs.proxy_cost)}
                    {!placement.legal && (
                      <span class="badge badge-bad" title={(placement.problems ?? []).join("\n")}>
                        illegal
                      </span>
                    )}
                  </td>
                  <td class="num">
                    {job.start_costs ? change(job.start_costs.proxy_cost, placement.costs.proxy_cost).percent : "–"}
                  </td>
                  <td class="num">{cost(placement.costs.wirelength_cost)}</td>
                  <td class="num">{cost(placement.costs.density_cost)}</td>
                  <td class="num">{cost(placement.costs.congestion_cost)}</td>
                  <td class="board-origin">
                    <Origin provenance={placement.provenance} />
                  </td>
                  <td class="board-files">
                    {placement.formats.map((format) => (
                      <a
                        key={format}
                        href={fileUrl(placement.id, format)}
                        download
                        aria-label={`${FORMATS[format].label} of rank ${placement.rank}`}
                      >
                        {FORMATS[format].label}
                      </a>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Origin({ provenance }: { provenance: PlacementRead["provenance"] }) {
  const { stages: _, ...rest } = provenance;
  return (
    <details class="origin">
      <summary>{describe(provenance)}</summary>
      <Stages stages={stagesOf(provenance)} />
      <pre class="message">{JSON.stringify(rest, null, 2)}</pre>
    </details>
  );
}

/** What each stage took and gained. */
function Stages({ stages }: { stages: readonly Stage[] }) {
  if (stages.length === 0) return null;
  return (
    <table class="table stages">
      <thead>
        <tr>
          <th scope="col">Round</th>
          <th scope="col">Stage</th>
          <th scope="col">Time</th>
          <th scope="col">Trials</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {stages.map((stage) => (
          <tr key={`${stage.round} ${stage.name} ${stage.gain}`}>
            <td class="num">{stage.round === null ? "" : stage.round + 1}</td>
            <td>{stage.name}</td>
            <td class="num">{stage.seconds.toFixed(1)} s</td>
            <td class="num">{stage.trials > 0 ? count(stage.trials) : ""}</td>
            <td class="num">{signed(-stage.gain)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
