/** Small parts that several pages use: links, failures in words, progress, empty states, confirmations. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, messageOf } from "../api/client";
import { navigate } from "../router";
import { Icon } from "./icon";

export function Link({ to, class: className, children }: { to: string; class?: string; children: ComponentChildren }) {
  const onClick = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a href={to} class={className} onClick={onClick}>
      {children}
    </a>
  );
}

interface FailureProps {
  readonly title: string;
  readonly error: unknown;
  /** What to do next, in words. */
  readonly hint?: ComponentChildren;
  readonly onRetry?: (() => void) | undefined;
  readonly onDismiss?: (() => void) | undefined;
}

/** A failure, in full: what was tried, the service's words, wrong fields, what to do next. Stays until dismissed. */
export function Failure({ title, error, hint, onRetry, onDismiss }: FailureProps) {
  const problem = error instanceof ApiError ? error.problem : null;
  const status = error instanceof ApiError && error.status > 0 ? error.status : null;
  return (
    <div class="notice notice-bad" role="alert">
      <Icon name="warning" />
      <div class="notice-body">
        <p class="notice-title">{title}</p>
        <pre class="message">{messageOf(error)}</pre>
        {problem?.errors && problem.errors.length > 0 && (
          <ul class="message-list">
            {problem.errors.map((entry) => (
              <li key={JSON.stringify(entry)}>
                <code>{fieldError(entry)}</code>
              </li>
            ))}
          </ul>
        )}
        {hint && <p class="muted">{hint}</p>}
        {(onRetry || status) && (
          <p class="notice-foot">
            {onRetry && (
              <button type="button" class="button button-small" onClick={onRetry}>
                Try again
              </button>
            )}
            {status && <span class="muted">{problem ? `${problem.title} (${status})` : `Status ${status}`}</span>}
          </p>
        )}
      </div>
      {onDismiss && (
        <button type="button" class="icon-button" onClick={onDismiss} aria-label="Dismiss this message">
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}

/** One entry of a problem's `errors`: "seconds: Input should be …". */
function fieldError(entry: Record<string, unknown>): string {
  const where = Array.isArray(entry["loc"]) ? entry["loc"].filter((part) => part !== "body").join(".") : entry["field"];
  const what = entry["msg"] ?? entry["detail"] ?? entry["message"];
  if (typeof what !== "string") return JSON.stringify(entry);
  return where ? `${String(where)}: ${what}` : what;
}

export function ProgressBar({ share, label }: { share: number | null; label: string }) {
  const percent = share === null ? undefined : Math.round(share * 100);
  return (
    <div
      class={`progress${share === null ? " progress-unknown" : ""}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <span style={{ width: share === null ? "30%" : `${share * 100}%` }} />
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading {what} …
    </p>
  );
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p class="muted">{children}</p>
    </div>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly yes: string;
  readonly no: string;
  readonly onClose: (confirmed: boolean) => void;
}

/** A question before something that cannot be undone. The browser's own modal dialog keeps focus inside and closes on Escape. */
export function Confirm({ title, children, yes, no, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="confirm-title" onClose={() => onClose(false)}>
      <h2 id="confirm-title">{title}</h2>
      <div class="dialog-body">{children}</div>
      <div class="button-row">
        <button type="button" class="button" onClick={() => onClose(false)}>
          {no}
        </button>
        <button type="button" class="button button-danger" onClick={() => onClose(true)}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
