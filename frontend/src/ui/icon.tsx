/** Small line icons, drawn on a 16 × 16 grid. Decoration only: the control beside or around them carries the name. */
const PATHS = {
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  expand: "M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4",
  upload: "M8 11V3M4.5 6.5 8 3l3.5 3.5M3 13h10",
  download: "M8 3v8M4.5 7.5 8 11l3.5-3.5M3 13h10",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  warning: "M8 2.5 14.5 13.5h-13zM8 7v3M8 11.8v.2",
  play: "M5 3l8 5-8 5z",
  stop: "M4 4h8v8H4z",
  chevron: "M6 3l5 5-5 5",
  plug: "M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
