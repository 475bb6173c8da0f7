/** The best placement's files. */
import { fileUrl } from "../api/client";
import type { JobRead, PlacementRead } from "../api/types";

type Format = PlacementRead["formats"][number];

export const FORMATS: Readonly<Record<Format, { readonly label: string; readonly what: string }>> = {
  plc: { label: ".plc", what: "Placement for Circuit Training" },
  pb: { label: ".pb.txt", what: "Netlist with these positions" },
  def: { label: ".def", what: "Your DEF with the macros placed" },
  tcl: { label: "Tcl", what: "Macro placement for OpenROAD" },
  pl: { label: ".pl", what: "Your Bookshelf places with the macros placed" },
  svg: { label: "SVG", what: "Picture, vector" },
  png: { label: "PNG", what: "Picture, pixels" },
  json: { label: "JSON", what: "Positions for scripts" },
  constraints: { label: "Constraints", what: "Rules that it was placed under" },
};

export function Downloads({ job, placements }: { job: JobRead; placements: readonly PlacementRead[] }) {
  const best = placements.find((placement) => placement.id === job.best_placement_id) ?? placements[0];
  return (
    <section class="panel" aria-labelledby="downloads-title">
      <h2 id="downloads-title">Download the best placement</h2>
      {best ? (
        <ul class="downloads">
          {best.formats.map((format) => (
            <li key={format}>
              <a class="button" href={fileUrl(best.id, format)} download data-format={format}>
                {FORMATS[format].label}
              </a>
              <span class="muted">{FORMATS[format].what}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">The first legal placement appears here, usually within seconds of the start.</p>
      )}
    </section>
  );
}
