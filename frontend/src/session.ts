/**
 * Signing in. The service prints an address that ends in `#token=…`: the part after # never reaches a server log. The token is
 * exchanged for an HttpOnly cookie and removed from the address at once.
 */
import { useEffect, useState } from "preact/hooks";
import { api, onUnauthorised } from "./api/client";

export type Session =
  | { readonly state: "entering" }
  | { readonly state: "in" }
  | { readonly state: "out"; readonly error: unknown };

export function tokenOf(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, "")).get("token");
}

export function useSession(): { session: Session; signIn: (token: string) => Promise<void> } {
  const [session, setSession] = useState<Session>(() => ({ state: tokenOf(location.hash) ? "entering" : "in" }));

  const signIn = async (token: string) => {
    try {
      await api.signIn(token.trim());
      setSession({ state: "in" });
    } catch (error) {
      setSession({ state: "out", error });
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, with the address the page was opened at
  useEffect(() => {
    const enter = () => {
      const token = tokenOf(location.hash);
      if (!token) return;
      history.replaceState(null, "", location.pathname);
      setSession({ state: "entering" });
      void signIn(token);
    };
    enter();
    // A new address pasted into an open page changes only the part after #.
    window.addEventListener("hashchange", enter);
    const stop = onUnauthorised(() => setSession((old) => (old.state === "out" ? old : { state: "out", error: null })));
    return () => {
      stop();
      window.removeEventListener("hashchange", enter);
    };
  }, []);

  return { session, signIn };
}
