/** State that comes from the service. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  readonly data: T | null;
  readonly error: unknown;
  reload(): void;
}

/**
 * Loads once, again on `reload`, and again after as many ms as `every` says for the data loaded last (null = no more). Data stay
 * on the screen when a later load fails. `key` names what is loaded: another key forgets the data of the last.
 */
export function useLoad<T>(
  key: string,
  load: () => Promise<T>,
  every: (data: T | null) => number | null = () => null,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: unknown }>({ key, data: null, error: null });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ load, every });
  latest.current = { load, every };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what reload changes
  useEffect(() => {
    let alive = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: T | null = null;
    const run = async () => {
      try {
        last = await latest.current.load();
        if (alive) setState({ key, data: last, error: null });
      } catch (error) {
        if (alive) setState((old) => ({ key, data: old.key === key ? old.data : null, error }));
      }
      const pause = latest.current.every(last);
      if (alive && pause !== null) timer = setTimeout(run, pause);
    };
    void run();
    return () => {
      alive = false;
      clearTimeout(timer);
    };
  }, [key, turn]);

  const reload = useCallback(() => setTurn((value) => value + 1), []);
  return state.key === key ? { data: state.data, error: state.error, reload } : { data: null, error: null, reload };
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} – Placewright` : "Placewright";
  }, [title]);
}

/** The time, renewed every `everyMs`: for "in 4 s" and "5 min ago". */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
