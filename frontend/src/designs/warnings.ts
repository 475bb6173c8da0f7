/** Grouping of messages that differ only in names and numbers, so that 800 of a kind take one line. Pure. */
export interface MessageGroup {
  readonly key: string;
  readonly messages: readonly string[];
}

/** In order of first appearance. Quoted names and numbers count as equal. */
export function groupMessages(messages: readonly string[]): MessageGroup[] {
  const groups = new Map<string, string[]>();
  for (const message of messages) {
    const key = message.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "‹name›").replace(/[-−+]?\d[\d.,]*(e[-+]?\d+)?/gi, "#");
    const group = groups.get(key);
    if (group) group.push(message);
    else groups.set(key, [message]);
  }
  return [...groups].map(([key, list]) => ({ key, messages: list }));
}
