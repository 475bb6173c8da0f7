/** What can be asked of a job: choices with their explanations, limits, and the check before sending. Pure. */
import type { JobCreate, Method } from "../api/types";

export interface MethodChoice {
  readonly value: Method;
  readonly label: string;
  readonly what: string;
}

export const METHODS: readonly MethodChoice[] = [
  {
    value: "auto",
    label: "Learning and search",
    what: "A global start, an exact search, and agents that learn meanwhile. The best choice.",
  },
  {
    value: "search",
    label: "Search only",
    what: "Exact local search from the start: moves, swaps and flips.",
  },
  {
    value: "analytic",
    label: "Global, then search",
    what: "Gradient placement of all macros, from the start and from scratch, then the exact search.",
  },
  {
    value: "rl",
    label: "Mostly learning",
    what: "Agents place macros one by one and learn from the cost; one search improves what they find.",
  },
  { value: "anneal", label: "Annealing", what: "Simulated annealing with the exact cost. A yardstick." },
];

export const TIMES: readonly { readonly seconds: number; readonly label: string }[] = [
  { seconds: 60, label: "1 min" },
  { seconds: 300, label: "5 min" },
  { seconds: 1800, label: "30 min" },
  { seconds: 7200, label: "2 h" },
];

/** Limits of `JobCreate` in backend/schemas.py. */
export const LIMITS = { seconds: [1, 7 * 86_400], seed: [0, 2 ** 31 - 1], workers: [1, 64] } as const;
export const DEFAULTS = {
  method: "auto",
  seconds: "60",
  seed: "0",
  workers: "2",
  name: "",
  constraints: "",
  fromScratch: false,
  placeCells: false,
} as const;

export interface FormValues {
  readonly method: Method;
  readonly seconds: string;
  readonly seed: string;
  readonly workers: string;
  readonly name: string;
  /** JSON, docs/constraints.md; empty = none. */
  readonly constraints: string;
  readonly fromScratch: boolean;
  readonly placeCells: boolean;
}

export type FieldErrors = Partial<Record<"seconds" | "seed" | "workers" | "name" | "constraints", string>>;

/** What is wrong with each field, in words; an empty object = nothing. */
export function checkForm(values: FormValues): FieldErrors {
  const errors: FieldErrors = {};
  const number = (field: "seconds" | "seed" | "workers", whole: boolean, unit: string) => {
    const [low, high] = LIMITS[field];
    const text = values[field].trim();
    const value = Number(text);
    if (text === "" || !Number.isFinite(value)) errors[field] = "Enter a number.";
    else if (whole && !Number.isInteger(value)) errors[field] = "Enter a whole number.";
    else if (value < low || value > high)
      errors[field] = `Enter ${low} to ${high.toLocaleString("en")}${unit}; this is ${value.toLocaleString("en")}.`;
  };
  number("seconds", false, " seconds");
  number("seed", true, "");
  number("workers", true, " processes");
  if (values.name.length > 200) errors.name = "At most 200 characters.";
  const wrong = constraintsProblem(values.constraints);
  if (wrong) errors.constraints = wrong;
  return errors;
}

/** What the page can see of a constraints text by itself; whether the design can have them is the service's to say. */
export function constraintsProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return null;
    return 'Enter a JSON object, such as {"version": 1, "macro_spacing_um": 2}.';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

/** The request that a form without errors stands for. */
export const toJob = (designId: string, values: FormValues): JobCreate => ({
  design_id: designId,
  method: values.method,
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  workers: Number(values.workers),
  from_scratch: values.fromScratch,
  place_cells: values.placeCells,
  name: values.name.trim() || null,
  constraints: values.constraints.trim() === "" ? null : JSON.parse(values.constraints),
});
