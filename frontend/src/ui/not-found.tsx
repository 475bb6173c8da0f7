/** The page for an address or an id that names nothing. */
import { useTitle } from "./hooks";
import { Link } from "./parts";

export function NotFound({ what, detail }: { what: string; detail: string }) {
  useTitle(`No such ${what}`);
  return (
    <div class="page page-narrow">
      <h1>No such {what}</h1>
      <p>{detail}</p>
      <p>
        <Link to="/" class="button">
          Go to designs and jobs
        </Link>
      </p>
    </div>
  );
}
