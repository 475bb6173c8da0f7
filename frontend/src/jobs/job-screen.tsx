/** A job while it runs and after: state, costs, curves, layout, leaderboard, processes, events, downloads. */
import { useState } from "preact/hooks";
import { api, isNotFound } from "../api/client";
import type { JobRead } from "../api/types";
import { designPath } from "../router";
import { TopologyPanel } from "../topology/topology-panel";
import { cost, count, duration, percent } from "../ui/format";
import { useNow, useTitle } from "../ui/hooks";
import { Icon } from "../ui/icon";
import { NotFound } from "../ui/not-found";
import { Confirm, Failure, Link, Loading, ProgressBar } from "../ui/parts";
import { ConnectionBanner } from "./connection-banner";
import { CostPanel } from "./cost-panel";
import { Downloads } from "./downloads";
import { LayoutPanel, type Selection } from "./layout-panel";
import { Leaderboard } from "./leaderboard";
import { LearningPanel } from "./learning-panel";
import { isFinal, StateBadge } from "./state-badge";
import { Timeline } from "./timeline";
import { useJob } from "./use-job";

export function JobScreen({ jobId }: { jobId: string }) {
  const live = useJob(jobId);
  const [selection, setSelection] = useState<Selection>({ kind: "best" });
  const { job, points, placements, events } = live.view;
  useTitle(
    job ? `${isFinal(job.state) ? job.state : percent(job.progress, 0)} · ${job.name || job.design_name}` : "Job",
  );
  if (isNotFound(live.error) && !job)
    return <NotFound what="job" detail="It may have been deleted, or the address is not complete." />;
  if (!job)
    return live.error == null ? (
      <Loading what="the job" />
    ) : (
      <Failure title="The job could not be loaded" error={live.error} onRetry={live.retry} />
    );
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <Link to="/">Jobs</Link>
        <Icon name="chevron" />
        <Link to={designPath(job.design_id)}>{job.design_name}</Link>
        <Icon name="chevron" />
        <span aria-current="page">{job.name || "job"}</span>
      </nav>
      <ConnectionBanner connection={live.connection} retryAt={live.retryAt} onRetry={live.retry} />
      <JobHead job={job} onJob={live.setJob} />
      <div class="work">
        <div class="work-main">
          <LayoutPanel job={job} placements={placements} selection={selection} onSelect={setSelection} />
          <Leaderboard job={job} placements={placements} selection={selection} onSelect={setSelection} />
          {job.topology && <TopologyPanel job={job} />}
          <Timeline events={events} />
        </div>
        <div class="work-side">
          <CostPanel job={job} points={points} />
          <LearningPanel job={job} points={points} />
          <Downloads job={job} placements={placements} />
        </div>
      </div>
    </div>
  );
}

function JobHead({ job, onJob }: { job: JobRead; onJob: (job: JobRead) => void }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const final = isFinal(job.state);
  const cancel = async (confirmed: boolean) => {
    setAsking(false);
    if (!confirmed) return;
    try {
      await api.cancelJob(job.id);
      onJob(await api.job(job.id));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel job-head" aria-label="State of the job">
      <div class="title-row">
        <h1>{job.name || job.design_name}</h1>
        <StateBadge state={job.state} />
        <span class="muted job-spec">
          {job.method} · {job.trials == null ? duration(job.seconds) : `${count(job.trials)} trials`}
          {job.from_scratch ? " · from scratch" : ""}
          {job.place_cells ? " · with cells" : ""} · {job.workers} {job.workers === 1 ? "worker" : "workers"} · seed{" "}
          {job.seed}
          {job.attempt > 1 ? ` · attempt ${job.attempt}` : ""}
        </span>
        <span class="spacer" />
        {!final && (
          <button type="button" class="button" onClick={() => setAsking(true)}>
            <Icon name="stop" /> Cancel job
          </button>
        )}
        {final && (
          <Link to={designPath(job.design_id)} class="button">
            New job
          </Link>
        )}
      </div>
      {!final && (
        <div class="job-progress">
          <ProgressBar share={job.state === "queued" ? null : job.progress} label="Progress of the job" />
          <Elapsed job={job} />
        </div>
      )}
      {/* Spoken at every quarter and change of state, not at every tick. */}
      <p class="visually-hidden" role="status">
        {final
          ? `The job is ${job.state}.`
          : `The job is ${job.state}, ${Math.floor(job.progress * 4) * 25} percent done.`}
      </p>
      {job.state === "failed" && (
        <Failure
          title={job.best_costs ? "The job failed; its best placement is kept" : "The job failed"}
          error={job.cause ?? "The service gave no cause."}
          hint="The events below say what happened before. The design is unchanged: correct the cause and start a new job."
        />
      )}
      {job.state === "cancelled" && (
        <p class="muted">
          {job.cause ?? "Cancelled."} {job.best_costs ? "The best placement found until then is kept below." : ""}
        </p>
      )}
      {job.state === "done" && job.best_costs && <Outcome job={job} />}
      {error != null && (
        <Failure title="The job could not be cancelled" error={error} onDismiss={() => setError(null)} />
      )}
      {asking && (
        <Confirm title="Cancel this job?" yes="Cancel job" no="Let it run" onClose={cancel}>
          <p>It stops for good. The best placement found so far is kept and can be downloaded.</p>
        </Confirm>
      )}
    </section>
  );
}

function Elapsed({ job }: { job: JobRead }) {
  const now = useNow(1000);
  const running = job.started_at ? (now - Date.parse(job.started_at)) / 1000 : 0;
  return (
    <p class="job-stage">
      <span>{job.state === "queued" ? "Waiting for a worker" : (job.stage ?? "Running")}</span>
      <span class="muted num">
        {job.state !== "queued" && `${percent(job.progress, 0)} · ${duration(running)} gone`}
        {job.eta_s !== null && ` · ${duration(job.eta_s)} left`}
      </span>
    </p>
  );
}

function Outcome({ job }: { job: JobRead }) {
  const took =
    job.started_at && job.finished_at ? (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000 : null;
  return (
    <p class="outcome">
      <Icon name="check" /> Legal placement, proxy cost <strong class="num">{cost(job.best_costs!.proxy_cost)}</strong>
      {took !== null && <span class="muted"> after {duration(took)}</span>}
    </p>
  );
}
