/** The processes of a job that learns, cell by cell, with what they do; scaling and restarting them. Asks REST every two seconds. */
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { JobRead, RoleRead, RolesRestart, TopologyRead } from "../api/types";
import { isFinal } from "../jobs/state-badge";
import { bytes, count, duration, measure, percent } from "../ui/format";
import { useLoad } from "../ui/hooks";
import { Confirm, Failure, Loading } from "../ui/parts";
import { CellScale } from "./cell-scale";
import { type Group, groupsOf, onlyThis, type Seat, stateOf, waitingOf } from "./topology";

const EVERY_MS = 2000;
/** Of one cell, before "Show all": what can be looked through. */
const FIRST = 12;

export function TopologyPanel({ job }: { job: JobRead }) {
  const over = isFinal(job.state);
  // Another key when the job ends: its last figures are asked for once more.
  const { data, error, reload } = useLoad(
    `topology ${job.id} ${over}`,
    () => api.topology(job.id),
    () => (over ? null : EVERY_MS),
  );
  const [failure, setFailure] = useState<{ title: string; error: unknown } | null>(null);
  const [asking, setAsking] = useState(false);
  const attempt = async (title: string, act: () => Promise<unknown>) => {
    try {
      await act();
      setFailure(null);
    } catch (caught) {
      setFailure({ title, error: caught });
    }
    reload();
  };
  const restart = (which: RolesRestart) => attempt("The restart was refused", () => api.restartRoles(job.id, which));
  const waiting = data ? waitingOf(data) : [];
  return (
    <section class="panel late" aria-labelledby="topology-title">
      <div class="title-row">
        <h2 id="topology-title">Processes</h2>
        <span class="spacer" />
        {data?.state === "running" && (
          <button type="button" class="button button-small" onClick={() => setAsking(true)}>
            Restart all
          </button>
        )}
      </div>
      {over && <p class="muted">The job is over: as its processes last reported.</p>}
      <div role="status">
        {waiting.length > 0 && (
          <ul class="message-list">
            {waiting.map((words) => (
              <li key={words}>{words}</li>
            ))}
          </ul>
        )}
      </div>
      {failure && <Failure {...failure} onDismiss={() => setFailure(null)} />}
      {error != null && <Failure title="The processes could not be asked for" error={error} onRetry={reload} />}
      {data
        ? groupsOf(data).map((group) => (
            <GroupView
              key={group.cell}
              group={group}
              topology={data}
              over={over}
              onRestart={restart}
              onScale={(actors) =>
                attempt("The cell was not scaled", () =>
                  api.scaleJob(job.id, { cells: [{ name: group.cell, actors }] }),
                )
              }
            />
          ))
        : error == null && <Loading what="the processes" />}
      {asking && (
        <Confirm
          title="Restart all processes?"
          yes="Restart all"
          no="Leave them"
          onClose={(confirmed) => {
            setAsking(false);
            if (confirmed) void restart({});
          }}
        >
          <p>
            One after another, each when the one before is at work again. The learner keeps a checkpoint; only what the
            queues hold is lost.
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface GroupProps {
  readonly group: Group;
  readonly topology: TopologyRead;
  readonly over: boolean;
  readonly onRestart: (which: RolesRestart) => void;
  readonly onScale: (actors: number) => void;
}

function GroupView({ group, topology, over, onRestart, onScale }: GroupProps) {
  const [all, setAll] = useState(false);
  const shown = all ? group.seats : group.seats.slice(0, FIRST);
  const running = topology.state === "running";
  const title = `cell-${group.cell || "none"}-title`;
  return (
    <div class="cell">
      <div class="title-row">
        <h3 id={title}>{group.title}</h3>
        <span class="spacer" />
        {group.spec && !over && <CellScale cell={group.cell} actors={group.spec.actors} onScale={onScale} />}
      </div>
      {group.seats.length === 0 ? (
        <p class="muted">No processes.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <div class="table-scroll" role="region" tabIndex={0} aria-labelledby={title}>
          <table class="table roles">
            <thead>
              <tr>
                <th scope="col">Process</th>
                <th scope="col">State</th>
                <th scope="col">Host, process id</th>
                <th scope="col">Heard of</th>
                <th scope="col">Steps/s</th>
                <th scope="col">Model</th>
                <th scope="col">Queue</th>
                <th scope="col">In, out</th>
                <th scope="col">Refused</th>
                {running && (
                  <th scope="col">
                    <span class="visually-hidden">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {shown.map((seat) => (
                <SeatRow
                  key={seat.name}
                  seat={seat}
                  over={over}
                  onRestart={running ? () => onRestart(onlyThis(seat)) : null}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {group.seats.length > FIRST && (
        <button type="button" class="button button-small" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${count(group.seats.length)}`}
        </button>
      )}
    </div>
  );
}

function SeatRow({ seat, over, onRestart }: { seat: Seat; over: boolean; onRestart: (() => void) | null }) {
  const { holder } = seat;
  const { words, health } = stateOf(seat, over);
  const figures = holder ? figuresOf(holder) : [];
  const can = holder?.alive && !holder.stopping && !holder.restarting;
  return (
    <tr>
      <th scope="row">{seat.name}</th>
      <td data-label="State">
        <span class={`badge badge-${health}`}>{words}</span>
      </td>
      {holder ? (
        figures.map(([label, value]) => (
          <td key={label} class="num" data-label={label}>
            {value}
          </td>
        ))
      ) : (
        <td class="muted" colSpan={7}>
          –
        </td>
      )}
      {onRestart && (
        <td>
          <button
            type="button"
            class="button button-small"
            disabled={!can}
            aria-label={`Restart ${seat.name}${seat.cell ? ` of cell ${seat.cell}` : ""}`}
            onClick={onRestart}
          >
            Restart
          </button>
        </td>
      )}
    </tr>
  );
}

/** What a process reported, in the order of the columns; "–" for what it has not. */
function figuresOf(role: RoleRead): readonly (readonly [string, string])[] {
  const shown = <T,>(value: T | null | undefined, format: (value: T) => string) =>
    value == null ? "–" : format(value);
  const model = [
    shown(role.model_version, (version) => `v${version}`),
    ...(role.model_age_s == null ? [] : [`${duration(role.model_age_s)} old`]),
    ...(role.versions_behind ? [`${count(role.versions_behind)} behind`] : []),
  ];
  const queue = [
    shown(role.queue_fill, (share) => percent(share, 0)),
    ...(role.bytes_held == null ? [] : [bytes(role.bytes_held)]),
  ];
  const moved = role.bytes_in == null && role.bytes_out == null;
  return [
    ["Host, process id", `${role.host}, ${role.pid}`],
    ["Heard of", `${duration(role.heartbeat_age_s)} ago`],
    ["Steps/s", shown(role.steps_per_s, measure)],
    ["Model", model.join(" · ")],
    ["Queue", queue.join(" · ")],
    ["In, out", moved ? "–" : `${shown(role.bytes_in, bytes)}, ${shown(role.bytes_out, bytes)}`],
    ["Refused", shown(role.refused_unrolls, count)],
  ];
}
