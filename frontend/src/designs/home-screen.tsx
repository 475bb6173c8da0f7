/** The start: upload a design, and the lists of designs and jobs. */
import { useEffect, useState } from "preact/hooks";
import { api, listed } from "../api/client";
import type { DesignRead, JobRead } from "../api/types";
import { isFinal, StateBadge } from "../jobs/state-badge";
import { designPath, jobPath } from "../router";
import { ago, change, cost, count, duration, percent } from "../ui/format";
import { useLoad, useTitle } from "../ui/hooks";
import { Empty, Failure, Link, Loading, ProgressBar } from "../ui/parts";
import { Uploader } from "./uploader";

/** Lists move slowly: jobs that run are looked at every 3 s. */
const EVERY_MS = 3000;
/** So many of each at first, and so many more at each wish. */
const AT_ONCE = 50;

export function HomeScreen() {
  useTitle("Designs and jobs");
  const designs = useList("designs", api.designs);
  const jobs = useList("jobs", api.jobs);
  return (
    <div class="page">
      <div class="hero">
        <h1>Place the macros of a chip</h1>
        <p class="lead">
          Upload a netlist, start a job, watch it improve, download a legal placement. Learning agents and an exact
          optimiser work on it together.
        </p>
      </div>
      <Uploader />
      <div class="columns">
        <section aria-labelledby="jobs-title">
          <h2 id="jobs-title">Jobs</h2>
          {jobs.error != null && (
            <Failure title="The jobs could not be loaded" error={jobs.error} onRetry={jobs.reload} />
          )}
          {jobs.data ? <JobList jobs={jobs.data.items} /> : jobs.error == null && <Loading what="jobs" />}
          {jobs.data?.more && <Older what="jobs" onMore={jobs.showMore} />}
        </section>
        <section aria-labelledby="designs-title">
          <h2 id="designs-title">Designs</h2>
          {designs.error != null && (
            <Failure title="The designs could not be loaded" error={designs.error} onRetry={designs.reload} />
          )}
          {designs.data ? (
            <DesignList designs={designs.data.items} />
          ) : (
            designs.error == null && <Loading what="designs" />
          )}
          {designs.data?.more && <Older what="designs" onMore={designs.showMore} />}
        </section>
      </div>
    </div>
  );
}

/** The newest of a list, kept up to date; `showMore` lengthens it. */
function useList<T>(name: string, list: Parameters<typeof listed<T>>[0]) {
  const [wanted, setWanted] = useState(AT_ONCE);
  const loaded = useLoad(
    name,
    () => listed(list, wanted),
    () => EVERY_MS,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: a longer list is fetched at once
  useEffect(() => {
    if (wanted > AT_ONCE) loaded.reload();
  }, [wanted]);
  return { ...loaded, showMore: () => setWanted((now) => now + AT_ONCE) };
}

function Older({ what, onMore }: { what: string; onMore: () => void }) {
  return (
    <button type="button" class="button" onClick={onMore}>
      Show older {what}
    </button>
  );
}

function JobList({ jobs }: { jobs: readonly JobRead[] }) {
  if (jobs.length === 0) return <Empty title="No jobs yet">Open a design and start its first job there.</Empty>;
  return (
    <ul class="cards">
      {jobs.map((job) => (
        <li key={job.id} class="card">
          <Link to={jobPath(job.id)} class="card-link">
            {job.name || job.design_name}
          </Link>
          <StateBadge state={job.state} />
          <p class="card-facts muted">
            {job.name ? `${job.design_name} · ` : ""}
            {job.method} · {duration(job.seconds)} · {ago(job.created_at)}
          </p>
          {job.best_costs && (
            <p class="card-number num">
              {cost(job.best_costs.proxy_cost)}
              {job.start_costs && <Delta from={job.start_costs.proxy_cost} to={job.best_costs.proxy_cost} />}
            </p>
          )}
          {!isFinal(job.state) && (
            <ProgressBar share={job.progress} label={`Progress of ${job.name || job.design_name}`} />
          )}
        </li>
      ))}
    </ul>
  );
}

function Delta({ from, to }: { from: number; to: number }) {
  const { percent: text, better } = change(from, to);
  return <span class={better === null ? "muted" : better ? "good" : "bad"}> {text}</span>;
}

function DesignList({ designs }: { designs: readonly DesignRead[] }) {
  if (designs.length === 0)
    return <Empty title="No designs yet">Upload a netlist above. Samples of three sizes come with the program.</Empty>;
  return (
    <ul class="cards">
      {designs.map((design) => (
        <li key={design.id} class="card">
          <Link to={designPath(design.id)} class="card-link">
            {design.name}
          </Link>
          {design.state !== "ready" && (
            <span class={`badge ${design.state === "failed" ? "badge-bad" : "badge-busy"}`}>
              {design.state === "failed" ? "cannot be used" : "reading"}
            </span>
          )}
          <p class="card-facts muted">
            {design.counts
              ? `${count(design.counts.hard_macros)} hard · ${count(design.counts.soft_macros)} soft · ${count(design.counts.nets)} nets · `
              : ""}
            {ago(design.created_at)}
          </p>
          {design.canvas && <p class="card-number num muted">{percent(design.canvas.utilisation, 0)} used</p>}
        </li>
      ))}
    </ul>
  );
}
