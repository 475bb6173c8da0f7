/** Says that the live line is down, what happens meanwhile, and offers to try at once. */
import type { Connection } from "../api/live";
import { useNow } from "../ui/hooks";
import { Icon } from "../ui/icon";

interface Props {
  readonly connection: Connection;
  readonly retryAt: number | null;
  readonly onRetry: () => void;
}

export function ConnectionBanner({ connection, retryAt, onRetry }: Props) {
  return (
    <div role="status" aria-live="polite">
      {connection === "lost" && (
        <div class="notice notice-warn connection-lost">
          <Icon name="plug" />
          <div class="notice-body">
            <p class="notice-title">Connection to the service lost</p>
            <p>
              The job itself goes on. What you see may be old until the line is back. <Countdown retryAt={retryAt} />
            </p>
          </div>
          <button type="button" class="button button-small" onClick={onRetry}>
            Try now
          </button>
        </div>
      )}
    </div>
  );
}

function Countdown({ retryAt }: { retryAt: number | null }) {
  const now = useNow(500);
  const seconds = retryAt === null ? 0 : Math.ceil((retryAt - now) / 1000);
  return <span aria-live="off">{seconds > 0 ? `Next try in ${seconds} s.` : "Trying …"}</span>;
}
