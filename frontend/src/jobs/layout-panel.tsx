/** The picture: the start, the best so far, or one entry of the leaderboard. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import { placed } from "../api/placement-file";
import type { JobRead, LayoutRead, PlacementRead } from "../api/types";
import { buildScene, type Scene } from "../geometry/scene";
import { LayoutView } from "../layout/layout-view";
import { cost } from "../ui/format";
import { Failure, Loading } from "../ui/parts";
import { isFinal } from "./state-badge";

export type Selection =
  | { readonly kind: "start" }
  | { readonly kind: "best" }
  | { readonly kind: "placement"; readonly id: string };

interface Props {
  readonly job: JobRead;
  readonly placements: readonly PlacementRead[];
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
}

export function LayoutPanel({ job, placements, selection, onSelect }: Props) {
  const bestId = job.best_placement_id ?? placements[0]?.id ?? null;
  const wanted = selection.kind === "start" ? null : selection.kind === "best" ? bestId : selection.id;
  const { scene, shownId, error, retry } = useScene(job.design_id, wanted);
  const chosen = placements.find((placement) => placement.id === shownId);
  const label =
    shownId === null
      ? `Start of ${job.design_name}`
      : `Placement of ${job.design_name}${chosen ? `, rank ${chosen.rank}` : ""}`;
  return (
    <section class="panel panel-flush" aria-label="Layout">
      <div class="layout-choice">
        <div class="segments" role="group" aria-label="Placement shown">
          <button type="button" aria-pressed={selection.kind === "start"} onClick={() => onSelect({ kind: "start" })}>
            Start
          </button>
          <button
            type="button"
            aria-pressed={selection.kind === "best"}
            disabled={bestId === null}
            onClick={() => onSelect({ kind: "best" })}
          >
            {isFinal(job.state) ? "Result" : "Best so far"}
          </button>
          {selection.kind === "placement" && (
            <button type="button" aria-pressed="true">
              Rank {placements.find((placement) => placement.id === selection.id)?.rank ?? "–"}
            </button>
          )}
        </div>
        <span class="muted num">
          {shownId === null ? "as uploaded" : chosen ? `proxy cost ${cost(chosen.costs.proxy_cost)}` : ""}
        </span>
      </div>
      {error != null && <Failure title="This placement's picture could not be loaded" error={error} onRetry={retry} />}
      {scene ? <LayoutView scene={scene} label={label} /> : error == null && <Loading what="the picture" />}
    </section>
  );
}

/**
 * The scene of a placement (null = the design's start). While the next one loads the last one stays. One request at a time: when
 * better placements come faster than they load, those in between are skipped.
 */
function useScene(designId: string, wanted: string | null) {
  const base = useRef<LayoutRead | null>(null);
  const [shown, setShown] = useState<{ id: string | null; scene: Scene | null }>({ id: null, scene: null });
  const [failed, setFailed] = useState<{ id: string | null; error: unknown } | null>(null);
  const [busy, setBusy] = useState(false);
  const arrived = shown.scene !== null && shown.id === wanted;
  const broken = failed !== null && failed.id === wanted;

  useEffect(() => {
    if (arrived || broken || busy) return;
    setBusy(true);
    const load = async () => {
      base.current ??= await api.layout(designId);
      const layout = wanted === null ? base.current : placed(base.current, await api.placementFile(wanted));
      setShown({ id: wanted, scene: buildScene(layout) });
      setFailed(null);
    };
    load()
      .catch((error: unknown) => setFailed({ id: wanted, error }))
      .finally(() => setBusy(false));
  }, [designId, wanted, arrived, broken, busy]);

  return { scene: shown.scene, shownId: shown.id, error: broken ? failed.error : null, retry: () => setFailed(null) };
}
