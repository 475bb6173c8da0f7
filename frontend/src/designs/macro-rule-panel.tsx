/** The height above which Bookshelf nodes are macros: a slider with the count that each height gives, and a way to read again. */
import { useState } from "preact/hooks";
import { uploadDesign } from "../api/upload";
import { designPath, navigate } from "../router";
import { count, measure } from "../ui/format";
import { Failure } from "../ui/parts";
import { macrosAbove, nearest, thresholds } from "./macro-rule";
import { Panel } from "./panels";
import { remember, sentForm } from "./sent-files";

interface Props {
  readonly designId: string;
  readonly used: number;
  readonly heights: readonly { readonly height: number; readonly nodes: number }[];
}

export function MacroRulePanel({ designId, used, heights }: Props) {
  const list = [...heights];
  const choices = thresholds(list);
  const first = nearest(choices, used);
  const [at, setAt] = useState(first);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const height = at === first ? used : choices[at]!;
  const macros = macrosAbove(list, height);
  const form = sentForm(designId);

  const readAgain = async () => {
    if (!form) return;
    setBusy(true);
    setError(null);
    try {
      const again = { ...form, macroHeight: String(height) };
      const design = await uploadDesign(again, () => {}).done;
      remember(design.id, again);
      navigate(designPath(design.id));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };

  return (
    <Panel id="macro-rule" title="Which nodes are macros">
      <label class="field">
        <span class="field-label">Nodes higher than {measure(height)} that are no terminals, in the files' units</span>
        <input
          type="range"
          min={0}
          max={choices.length - 1}
          step={1}
          value={at}
          aria-valuetext={`higher than ${measure(height)}: ${count(macros)} ${macros === 1 ? "macro" : "macros"}`}
          onInput={(event) => setAt(Number(event.currentTarget.value))}
        />
      </label>
      <p role="status">
        <strong class="num">{count(macros)}</strong> {macros === 1 ? "macro" : "macros"}
        {at === first ? <span class="muted">, as read</span> : <span class="muted">, if read again</span>}
      </p>
      {error != null && (
        <Failure title="The files could not be read again" error={error} onDismiss={() => setError(null)} />
      )}
      {form ? (
        <button type="button" class="button" disabled={busy || at === first} onClick={readAgain}>
          {busy ? "Sending …" : "Read again as a new design"}
        </button>
      ) : (
        <p class="muted small">To use another height, upload the files again and give it there.</p>
      )}
    </Panel>
  );
}
