/** Grouping of messages that differ only in names and numbers, so that 800 of a kind take one line. Pure. */
export interface MessageGroup {
  readonly key: string;
  /** The first message, without its count. */
  readonly text: string;
  /** How often it was met: messages of one kind, each as often as it says itself. */
  readonly times: number;
  /** What else is known of it: the first thing that it was about, the other messages of its kind. */
  readonly others: readonly string[];
}

/** "text (first: where; x 1,234)", "text (first: where)" or "text (x 1,234)", as the readers of files count equal warnings. */
const COUNTED = /^(.*) \((?:first: (.*?))?(?:; )?(?:x ([\d,]+))?\)$/s;

/** In order of first appearance. Quoted names and numbers count as equal. */
export function groupMessages(messages: readonly string[]): MessageGroup[] {
  const groups = new Map<string, { text: string; times: number; others: string[] }>();
  for (const message of messages) {
    const { text, first, times } = counted(message);
    const key = text.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "‹name›").replace(/[-−+]?\d[\d.,]*(e[-+]?\d+)?/gi, "#");
    const group = groups.get(key);
    if (!group) groups.set(key, { text, times, others: first ? [`first: ${first}`] : [] });
    else {
      group.times += times;
      group.others.push(message);
    }
  }
  return [...groups].map(([key, group]) => ({ key, ...group }));
}

function counted(message: string): { text: string; first: string | null; times: number } {
  const [, text, first, times] = COUNTED.exec(message) ?? [];
  if (text === undefined || (first === undefined && times === undefined))
    return { text: message, first: null, times: 1 };
  return { text, first: first ?? null, times: times ? Number(times.replaceAll(",", "")) : 1 };
}
