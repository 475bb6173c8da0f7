/** The frame of every page: header, skip link, sign-in before all else, then the page of the route. */
import { useEffect, useRef, useState } from "preact/hooks";
import { DesignScreen } from "./designs/design-screen";
import { HomeScreen } from "./designs/home-screen";
import { JobScreen } from "./jobs/job-screen";
import { type Route, useRoute } from "./router";
import { useSession } from "./session";
import { SignIn } from "./sign-in";
import { NotFound } from "./ui/not-found";
import { Link, Loading } from "./ui/parts";
import { ThemeSwitch } from "./ui/theme-switch";

export function App() {
  const { session, signIn } = useSession();
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const [first, setFirst] = useState(true);
  const place = JSON.stringify(route);

  // After a change of page the focus goes to the new page's content, as it would after a page load.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the place changes, and only then
  useEffect(() => {
    if (first) setFirst(false);
    else main.current?.focus({ preventScroll: true });
  }, [place]);

  return (
    <>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <header class="top">
        <div class="top-inner">
          <Link to="/" class="brand">
            <img src="/icon.svg" alt="" width="26" height="26" />
            Placewright
          </Link>
          <nav aria-label="Main">
            <Link to="/">Designs and jobs</Link>
            <a href="/api/v1/openapi.json">API</a>
          </nav>
          <ThemeSwitch />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {session.state === "in" && <Page route={route} />}
        {session.state === "entering" && <Loading what="your session" />}
        {session.state === "out" && <SignIn error={session.error} onSignIn={signIn} />}
      </main>
    </>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "home":
      return <HomeScreen />;
    case "design":
      return <DesignScreen key={route.id} designId={route.id} />;
    case "job":
      return <JobScreen key={route.id} jobId={route.id} />;
    case "unknown":
      return <NotFound what="page" detail={`There is no page at ${route.path}.`} />;
  }
}
