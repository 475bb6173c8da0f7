/** Numbers, times and sizes as people read them. Pure. */

/** Four significant digits, enough to see one optimiser step: 0.8563. */
export const cost = (value: number): string => value.toFixed(4);

export const count = (value: number): string => Math.round(value).toLocaleString("en");

/** Lengths: whole microns from 100 on, else up to three decimals. */
export function microns(value: number): string {
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 3;
  return `${Number(value.toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits })} µm`;
}

export const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;

/** With its sign, and a real minus: −0.0213. */
export function signed(value: number, digits = 4): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return `±${text}`;
  return `${value < 0 ? "−" : "+"}${text}`;
}

export function change(from: number, to: number): { difference: string; percent: string; better: boolean | null } {
  const delta = to - from;
  const share = from === 0 ? 0 : delta / from;
  return {
    difference: signed(delta),
    percent: `${signed(share * 100, 1)} %`,
    better: Number(delta.toFixed(4)) === 0 ? null : delta < 0,
  };
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}

/** Seconds as 45 s, 1 min, 3 min 05 s, 2 h 10 min, 3 d 04 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const [size, unit, part, smaller] =
    s < 3600 ? [60, "min", 1, "s"] : s < 86_400 ? [3600, "h", 60, "min"] : [86_400, "d", 3600, "h"];
  const rest = Math.floor((s % size) / part);
  return `${Math.floor(s / size)} ${unit}${rest > 0 ? ` ${two(rest)} ${smaller}` : ""}`;
}

/** "just now", "5 min ago", then the date. */
export function ago(iso: string, now = Date.now()): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(iso).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

export const clock = (iso: string): string => new Date(iso).toLocaleTimeString("en-GB");

/** Rates and other measurements: three significant digits. */
export function measure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return count(value);
  return Number(value.toPrecision(3)).toString();
}
