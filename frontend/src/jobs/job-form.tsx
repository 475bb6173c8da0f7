/** The form that starts a job of a design. */
import { useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Method } from "../api/types";
import { jobPath, navigate } from "../router";
import { duration } from "../ui/format";
import { Icon } from "../ui/icon";
import { Failure } from "../ui/parts";
import { checkForm, DEFAULTS, type FormValues, METHODS, TIMES, toJob } from "./job-spec";

export function JobForm({ designId }: { designId: string }) {
  const [values, setValues] = useState<FormValues>(DEFAULTS);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const keyFor = useRequestKey();
  const errors = tried ? checkForm(values) : {};
  const set = (change: Partial<FormValues>) => setValues((old) => ({ ...old, ...change }));
  const method = METHODS.find((choice) => choice.value === values.method)!;

  const submit = async (event: Event) => {
    event.preventDefault();
    setTried(true);
    const wrong = Object.keys(checkForm(values))[0];
    if (wrong) {
      document.getElementById(`job-${wrong}`)?.focus();
      return;
    }
    setBusy(true);
    setError(null);
    try {
      const job = await api.createJob(toJob(designId, values), keyFor(values));
      navigate(jobPath(job.id));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };

  return (
    <form class="form" onSubmit={submit} noValidate>
      <div class="field">
        <label class="field-label" for="job-seconds">
          Time, seconds
        </label>
        <div class="time-row">
          <input
            id="job-seconds"
            type="number"
            inputMode="decimal"
            min={1}
            value={values.seconds}
            aria-invalid={errors.seconds !== undefined}
            aria-describedby="job-seconds-help"
            onInput={(event) => set({ seconds: event.currentTarget.value })}
          />
          <div class="chips" role="group" aria-label="Common times">
            {TIMES.map((time) => (
              <button
                key={time.seconds}
                type="button"
                class="chip"
                aria-pressed={Number(values.seconds) === time.seconds}
                onClick={() => set({ seconds: String(time.seconds) })}
              >
                {time.label}
              </button>
            ))}
          </div>
        </div>
        <Help id="job-seconds-help" error={errors.seconds}>
          {Number(values.seconds) >= 60 ? `${duration(Number(values.seconds))}. ` : ""}The best placement so far can be
          downloaded at any time.
        </Help>
      </div>
      <label class="field">
        <span class="field-label">Method</span>
        <select value={values.method} onChange={(event) => set({ method: event.currentTarget.value as Method })}>
          {METHODS.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
        <span class="help">{method.what}</span>
      </label>
      <div class="field-pair">
        <div class="field">
          <label class="field-label" for="job-workers">
            Workers
          </label>
          <input
            id="job-workers"
            type="number"
            min={1}
            max={64}
            value={values.workers}
            aria-invalid={errors.workers !== undefined}
            aria-describedby="job-workers-help"
            onInput={(event) => set({ workers: event.currentTarget.value })}
          />
          <Help id="job-workers-help" error={errors.workers}>
            Processes that search or act; about one a core.
          </Help>
        </div>
        <div class="field">
          <label class="field-label" for="job-seed">
            Seed
          </label>
          <input
            id="job-seed"
            type="number"
            min={0}
            value={values.seed}
            aria-invalid={errors.seed !== undefined}
            aria-describedby="job-seed-help"
            onInput={(event) => set({ seed: event.currentTarget.value })}
          />
          <Help id="job-seed-help" error={errors.seed}>
            Another seed takes other chances.
          </Help>
        </div>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={values.fromScratch}
          onChange={(event) => set({ fromScratch: event.currentTarget.checked })}
        />{" "}
        From scratch: ignore the given positions of all that may move
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={values.placeCells}
          onChange={(event) => set({ placeCells: event.currentTarget.checked })}
        />{" "}
        Place the standard cells, too: roughly, after the macros (flat designs of LEF/DEF or Bookshelf)
      </label>
      <div class="field">
        <label class="field-label" for="job-name">
          Name <span class="muted">(optional)</span>
        </label>
        <input
          id="job-name"
          value={values.name}
          aria-invalid={errors.name !== undefined}
          aria-describedby="job-name-help"
          onInput={(event) => set({ name: event.currentTarget.value })}
        />
        <Help id="job-name-help" error={errors.name} />
      </div>
      <ConstraintsField
        text={values.constraints}
        error={errors.constraints}
        onText={(constraints) => set({ constraints })}
      />
      {error != null && <Failure title="The job was not started" error={error} onDismiss={() => setError(null)} />}
      <button type="submit" class="button button-primary button-wide" disabled={busy}>
        <Icon name="play" /> {busy ? "Starting …" : "Start job"}
      </button>
    </form>
  );
}

/** Rules of this job alone: typed, pasted or taken from a file. */
function ConstraintsField({
  text,
  error,
  onText,
}: {
  text: string;
  error: string | undefined;
  onText: (text: string) => void;
}) {
  return (
    <details class="field" open={error !== undefined || undefined}>
      <summary class="field-label">
        Constraints <span class="muted">(optional)</span>
      </summary>
      <label class="field-label" for="job-constraints">
        JSON: halos, regions, spacings, places; on top of the design's own
      </label>
      <textarea
        id="job-constraints"
        class="code-input"
        rows={6}
        spellcheck={false}
        placeholder={'{"version": 1, "macro_spacing_um": 2}'}
        value={text}
        aria-invalid={error !== undefined}
        aria-describedby="job-constraints-help"
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <Help id="job-constraints-help" error={error} />
      <label class="field-label" for="job-constraints-file">
        Or take them from a file
      </label>
      <input
        id="job-constraints-file"
        type="file"
        accept=".json"
        onChange={async (event) => {
          const file = event.currentTarget.files?.[0];
          if (file) onText(await file.text());
        }}
      />
    </details>
  );
}

/** One key for the same form sent again, as after a lost answer: it must not start two jobs. */
function useRequestKey(): (values: FormValues) => string {
  const last = useRef({ values: "", key: "" });
  return (values) => {
    const text = JSON.stringify(values);
    if (last.current.values !== text) {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      last.current = { values: text, key: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
    }
    return last.current.key;
  };
}

function Help({ id, error, children }: { id: string; error: string | undefined; children?: preact.ComponentChildren }) {
  return (
    <span id={id} class={error ? "help help-error" : "help"} role={error ? "alert" : undefined}>
      {error ?? children}
    </span>
  );
}
