/** Addresses: /, /designs/ID, /jobs/ID. The route is the whole state of "where", so a reload comes back to the same place. */
import { useEffect, useState } from "preact/hooks";

export type Route =
  | { readonly page: "home" }
  | { readonly page: "design"; readonly id: string }
  | { readonly page: "job"; readonly id: string }
  | { readonly page: "unknown"; readonly path: string };

export function parseRoute(path: string): Route {
  const parts = path.split("/").filter(Boolean);
  if (parts.length === 0) return { page: "home" };
  if (parts.length === 2 && parts[0] === "designs") return { page: "design", id: decode(parts[1]!) };
  if (parts.length === 2 && parts[0] === "jobs") return { page: "job", id: decode(parts[1]!) };
  return { page: "unknown", path };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray % in a typed address: no such id, and that is what will be said
  }
}

export const designPath = (id: string): string => `/designs/${encodeURIComponent(id)}`;
export const jobPath = (id: string): string => `/jobs/${encodeURIComponent(id)}`;

const CHANGED = "placewright:navigate";

export function navigate(path: string): void {
  history.pushState(null, "", path);
  window.dispatchEvent(new Event(CHANGED));
  window.scrollTo(0, 0);
}

export function useRoute(): Route {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const update = () => setPath(location.pathname);
    window.addEventListener("popstate", update);
    window.addEventListener(CHANGED, update);
    return () => {
      window.removeEventListener("popstate", update);
      window.removeEventListener(CHANGED, update);
    };
  }, []);
  return parseRoute(path);
}
