/** The layout's colours, read from the page's design tokens (styles/tokens.css), so that canvas and page change theme together. */
import { tokenReader } from "../ui/colour";

export interface LayoutTheme {
  readonly outside: string;
  readonly inside: string;
  readonly border: string;
  readonly grid: string;
  readonly hard: readonly string[];
  readonly hardEdge: string;
  readonly soft: string;
  readonly softEdge: string;
  readonly port: string;
  readonly fixed: string;
  readonly blockage: string;
  readonly net: string;
  readonly label: string;
  readonly mark: string;
  readonly pin: string;
  readonly halo: string;
  readonly die: string;
  readonly font: string;
}

/** Number of --layout-hard-… tokens; banks beyond it start again from the first. */
export const BANK_COLOURS = 8;

export function readTheme(host: HTMLElement): LayoutTheme {
  const colour = tokenReader(host);
  const token = (name: string) => colour(`--layout-${name}`);
  return {
    outside: token("outside"),
    inside: token("inside"),
    border: token("border"),
    grid: token("grid"),
    hard: Array.from({ length: BANK_COLOURS }, (_, i) => token(`hard-${i}`)),
    hardEdge: token("hard-edge"),
    soft: token("soft"),
    softEdge: token("soft-edge"),
    port: token("port"),
    fixed: token("fixed"),
    blockage: token("blockage"),
    net: token("net"),
    label: token("label"),
    mark: token("mark"),
    pin: token("pin"),
    halo: token("halo"),
    die: token("die"),
    font: getComputedStyle(host).getPropertyValue("--font-mono").trim() || "monospace",
  };
}
