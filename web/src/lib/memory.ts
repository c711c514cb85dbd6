/** The vocabulary of memories: badges of types, words of sources, names that are shown. */
import type { Schema } from "./api";

export type Memory = Schema["Memory"];
export type MemoryType = Schema["MemoryType"];
export type Source = Schema["Source"];

export const BADGES = ["PREF", "CONV", "PATN", "WARN", "FACT"] as const;
export type Badge = (typeof BADGES)[number];

const BY_BADGE: Record<Badge, readonly MemoryType[]> = {
  PREF: ["preference"],
  CONV: ["convention", "requirement"],
  PATN: ["pattern", "workflow", "prefetch_pattern", "causal_dependency", "workflow_recipe"],
  WARN: ["correction", "gotcha", "error_pattern", "e2e_observation", "dead_end"],
  FACT: [
    "fact", "decision", "module_insight", "work_state", "task_calibration", "work_unit_outcome",
    "context_cost", "timeline", "episode", "observation", "prompt",
  ],
};

const BADGE_OF = new Map<string, Badge>(
  BADGES.flatMap((badge) => BY_BADGE[badge].map((type): [string, Badge] => [type, badge])),
);

export function badgeOf(type: string): Badge {
  return BADGE_OF.get(type) ?? "FACT";
}

export function typesOf(badge: Badge): readonly MemoryType[] {
  return BY_BADGE[badge];
}

/** The record of what happened rather than of what was learned; Sessions shows it, and totals leave it out. */
export const DIARY: ReadonlySet<string> = new Set(["timeline", "observation", "prompt"]);

/** What a person can teach, in the order of the badges. */
export const TEACHABLE = ["preference", "convention", "pattern", "gotcha", "fact", "decision", "requirement", "workflow"] as const satisfies readonly MemoryType[];

/** Confidence as one to five dots, as the server's filter counts them: one below 0.2, five from 0.8 on. */
export function dotsOf(confidence: number): number {
  return Math.max(1, Math.min(5, Math.floor(confidence * 5 + 1e-9) + 1));
}

/** A session is shown by the end of its id: ids of one client often begin alike. */
export function shortSession(id: string): string {
  const plain = id.slice(id.lastIndexOf(":") + 1);
  return plain.length > 12 ? plain.slice(-8) : plain;
}

/** A file by the end of its path, when it is not given within the project. */
export function shortPath(path: string): string {
  const parts = path.split(/[\\/]/);
  return /^([\\/]|[a-z]:)/i.test(path) && parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : path;
}
