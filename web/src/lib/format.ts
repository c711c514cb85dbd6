/** Numbers and moments in the language of the page. An unmeasured number is a dash, never 0. */
import i18n from "i18next";

const DAY_MS = 86_400_000;

/** The browser's own variant of the language, so that dates look as at home. */
function language(): string {
  const code = i18n.language || "en";
  return navigator.languages.find((one) => one.startsWith(code)) ?? code;
}

export const NONE = "–";

type Measured = number | null | undefined;

export function number(value: Measured): string {
  return value === null || value === undefined ? NONE : new Intl.NumberFormat(language()).format(value);
}

export function compact(value: Measured): string {
  if (value === null || value === undefined) return NONE;
  return new Intl.NumberFormat(language(), { notation: "compact", maximumSignificantDigits: 3 }).format(value);
}

export function percent(value: Measured): string {
  if (value === null || value === undefined) return NONE;
  return new Intl.NumberFormat(language(), { style: "percent", maximumFractionDigits: 0 }).format(value);
}

export function score(value: Measured, digits = 2): string {
  if (value === null || value === undefined) return NONE;
  return new Intl.NumberFormat(language(), { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

export function bytes(value: Measured): string {
  if (value === null || value === undefined) return NONE;
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(value) / Math.log(1024)));
  return new Intl.NumberFormat(language(), {
    style: "unit",
    unit: units[step] ?? "byte",
    unitDisplay: "short",
    maximumFractionDigits: step ? 1 : 0,
  }).format(value / 1024 ** step);
}

type Moment = string | number | Date;

export function day(at: Moment): string {
  const date = new Date(at);
  const thisYear = date.getFullYear() === new Date().getFullYear();
  return new Intl.DateTimeFormat(language(), { day: "numeric", month: "short", ...(thisYear ? {} : { year: "numeric" }) }).format(date);
}

export function longDay(at: Moment): string {
  return new Intl.DateTimeFormat(language(), { weekday: "long", day: "numeric", month: "short" }).format(new Date(at));
}

export function clock(at: Moment): string {
  return new Intl.DateTimeFormat(language(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(at));
}

export function exact(at: Moment): string {
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(at));
}

/** How long ago, as short as it can be said: "2 min", "3 h", "Fri", "21 Oct". */
export function ago(at: Moment, now = Date.now()): string {
  const then = new Date(at).getTime();
  const passed = now - then;
  if (passed < 45_000) return i18n.t("time.now");
  if (passed < 3_600_000) return i18n.t("time.minutes", { count: Math.max(1, Math.round(passed / 60_000)) });
  if (passed < DAY_MS / 2) return i18n.t("time.hours", { count: Math.round(passed / 3_600_000) });
  if (isSameDay(then, now)) return i18n.t("time.today");
  if (passed < 6 * DAY_MS) return new Intl.DateTimeFormat(language(), { weekday: "short" }).format(then);
  return day(then);
}

export function isSameDay(one: Moment, other: Moment): boolean {
  return new Date(one).toDateString() === new Date(other).toDateString();
}

export function duration(fromAt: Moment, toAt: Moment): string {
  const minutes = Math.max(0, Math.round((new Date(toAt).getTime() - new Date(fromAt).getTime()) / 60_000));
  if (minutes < 1) return i18n.t("time.underMinute");
  if (minutes < 120) return i18n.t("time.minutes", { count: minutes });
  return i18n.t("time.hours", { count: Math.round(minutes / 60) });
}
