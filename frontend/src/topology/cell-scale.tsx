/** How many actors a cell is to have: a number, one less, one more, and the button that asks for it. */
import { useState } from "preact/hooks";
import { Icon } from "../ui/icon";
import { actorsOf, MAX_ACTORS } from "./topology";

interface Props {
  readonly cell: string;
  readonly actors: number; // wanted now
  readonly onScale: (actors: number) => void;
}

export function CellScale({ cell, actors, onScale }: Props) {
  // null = as it is: then a change by someone else shows at once.
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? String(actors);
  const read = actorsOf(text);
  const error = "error" in read ? read.error : null;
  const step = (by: number) =>
    setDraft(String(Math.min(MAX_ACTORS, Math.max(0, (error ? actors : Number(text)) + by))));
  const id = `actors-${cell}`;
  return (
    <form
      class="scale"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if ("error" in read || read.actors === actors) return;
        onScale(read.actors);
        setDraft(null);
      }}
    >
      <label class="field-label" for={id}>
        Actors<span class="visually-hidden"> of cell {cell}</span>
      </label>
      <button type="button" class="icon-button" aria-label={`One actor fewer in cell ${cell}`} onClick={() => step(-1)}>
        <Icon name="minus" />
      </button>
      <input
        id={id}
        type="number"
        inputMode="numeric"
        min={0}
        max={MAX_ACTORS}
        value={text}
        aria-invalid={error !== null}
        aria-describedby={error ? `${id}-help` : undefined}
        onInput={(event) => setDraft(event.currentTarget.value)}
      />
      <button type="button" class="icon-button" aria-label={`One actor more in cell ${cell}`} onClick={() => step(1)}>
        <Icon name="plus" />
      </button>
      <button
        type="submit"
        class="button button-small"
        disabled={error !== null || Number(text) === actors}
        aria-label={`Scale cell ${cell}`}
      >
        Scale
      </button>
      {error && (
        <span id={`${id}-help`} class="help help-error" role="alert">
          {error}
        </span>
      )}
    </form>
  );
}
