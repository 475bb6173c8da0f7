/** Light, dark, or as the system says. Kept in the browser. */
import { useEffect, useState } from "preact/hooks";

type Choice = "system" | "light" | "dark";
const KEY = "placewright-theme";
/** Sent to the window when the choice changes, for drawings that read colours once. */
export const THEME_CHANGED = "placewright:theme";

function stored(): Choice {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export function ThemeSwitch() {
  const [choice, setChoice] = useState<Choice>(stored);
  useEffect(() => {
    if (choice === "system") {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem(KEY);
    } else {
      document.documentElement.dataset["theme"] = choice;
      localStorage.setItem(KEY, choice);
    }
    window.dispatchEvent(new Event(THEME_CHANGED));
  }, [choice]);
  return (
    <label class="theme-switch">
      <span class="visually-hidden">Colours</span>
      <select value={choice} onChange={(event) => setChoice(event.currentTarget.value as Choice)}>
        <option value="system">System colours</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
