/**
 * One call at a time. Asked again while one is under way, it runs once more afterwards: so there is always one that began after
 * the last asking, and never a queue. Failures are left to the next asking.
 */
export function coalesce(work: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const run = async () => {
    running = true;
    do {
      again = false;
      await work().catch(() => undefined);
    } while (again);
    running = false;
  };
  return () => {
    if (running) again = true;
    else void run();
  };
}
