/**
 * Parser of server-sent events: text pieces in, whole events out. Rules: HTML standard, "Server-sent events", section
 * "Interpreting an event stream". Pure; the connection is live.ts.
 */
export interface SseEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Feed it text as it comes; it keeps what is not yet a whole event. `retryMs` is the delay that the server asked for. */
export class SseParser {
  retryMs: number | null = null;
  private rest = "";
  private data: string[] = [];
  private event = "";
  private id: string | null = null;

  push(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    this.rest += text;
    // A CR at the very end may be half of a CRLF: wait for what follows.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") this.flush(events);
      else this.field(line);
    }
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return; // comment: keeps proxies from closing a silent connection
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }

  private flush(events: SseEvent[]): void {
    if (this.data.length > 0) events.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
    this.data = [];
    this.event = "";
    this.id = null;
  }
}
