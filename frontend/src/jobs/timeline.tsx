/** What happened, newest first. */
import { useState } from "preact/hooks";
import type { EventRead, PlacementRead } from "../api/types";
import { clock, cost } from "../ui/format";

const FIRST = 12;

export function Timeline({ events }: { events: readonly EventRead[] }) {
  const [all, setAll] = useState(false);
  const newest = [...events].reverse();
  const shown = all ? newest : newest.slice(0, FIRST);
  return (
    <section class="panel late" aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      {events.length === 0 && <p class="muted">Nothing has happened yet.</p>}
      <ol class="timeline">
        {shown.map((event) => {
          const { text, tone } = say(event);
          return (
            <li key={event.id} class={tone}>
              <time class="num muted" dateTime={event.at}>
                {clock(event.at)}
              </time>
              <span>{text}</span>
            </li>
          );
        })}
      </ol>
      {newest.length > FIRST && (
        <button type="button" class="button button-small" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${newest.length}`}
        </button>
      )}
    </section>
  );
}

/** An event in words. */
export function say(event: EventRead): { text: string; tone: string } {
  const { data } = event;
  switch (event.kind) {
    case "state": {
      const state = String(data["state"] ?? "");
      const extra = [data["stage"], data["cause"]].filter((part) => typeof part === "string" && part !== "").join(": ");
      const tone = state === "failed" ? "tone-bad" : state === "done" ? "tone-good" : "tone-state";
      return { text: extra ? `${state} – ${extra}` : state, tone };
    }
    case "placement": {
      const placement = data as unknown as PlacementRead;
      const value = placement.costs ? ` with proxy cost ${cost(placement.costs.proxy_cost)}` : "";
      return { text: `placement${value}`, tone: "tone-good" };
    }
    case "log": {
      const role = typeof data["role"] === "string" && data["role"] ? `${data["role"]}: ` : "";
      const level = data["level"];
      return {
        text: `${role}${String(data["message"] ?? "")}`,
        tone: level === "error" ? "tone-bad" : level === "warning" ? "tone-warn" : "",
      };
    }
    default:
      return { text: event.kind, tone: "" };
  }
}
