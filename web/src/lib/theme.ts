/** Light, dark or the system's choice; charts read resolved colours. */
import { useEffect, useState } from "react";
import { makeSetting } from "./store";

export const themeSetting = makeSetting<"auto" | "light" | "dark">("theme", "auto", ["auto", "light", "dark"]);

export function startTheme(): void {
  const apply = () => {
    const theme = themeSetting.get();
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  };
  themeSetting.subscribe(apply);
  apply();
}

/** A token as a colour that canvas understands. */
export function colour(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--color-${token})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** A number that changes when the theme does, so that charts are drawn anew. */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const bump = () => setVersion((before) => before + 1);
    const stop = themeSetting.subscribe(bump);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", bump);
    return () => {
      stop();
      dark.removeEventListener("change", bump);
    };
  }, []);
  return version;
}
