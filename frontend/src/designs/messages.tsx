/** Warnings and problems of a design, equal kinds together: "text × 1,234". */
import { count } from "../ui/format";
import { Icon } from "../ui/icon";
import { groupMessages, type MessageGroup } from "./warnings";

interface Props {
  readonly title: string;
  readonly messages: readonly string[];
  readonly foot?: string;
}

export function Messages({ title, messages, foot }: Props) {
  if (messages.length === 0) return null;
  const groups = groupMessages(messages);
  return (
    <section class="notice notice-warn" aria-label={title}>
      <Icon name="warning" />
      <div class="notice-body">
        <p class="notice-title">
          {title}{" "}
          <span class="muted">
            ({groups.length === 1 ? "1 kind" : `${count(groups.length)} kinds`},{" "}
            {count(groups.reduce((sum, { times }) => sum + times, 0))} in all)
          </span>
        </p>
        <ul class="message-list">
          {groups.map((group) => (
            <li key={group.key}>
              <Group group={group} />
            </li>
          ))}
        </ul>
        {foot && <p class="muted">{foot}</p>}
      </div>
    </section>
  );
}

function Group({ group }: { group: MessageGroup }) {
  const { text, times, others } = group;
  const said = (
    <>
      <code>{text}</code>
      {times > 1 && <span class="times num"> × {count(times)}</span>}
    </>
  );
  if (others.length === 0) return said;
  return (
    <details>
      <summary>{said}</summary>
      <ul class="message-list">
        {others.map((other) => (
          <li key={other}>
            <code>{other}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
