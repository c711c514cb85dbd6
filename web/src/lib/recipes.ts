/** Recipes: memories that hold the steps of a kind of task. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get } from "./api";
import type { Memory } from "./memory";
import { useProject } from "./queries";

export interface Step {
  description: string;
  file: string;
}

export interface Recipe {
  task: string;
  steps: Step[];
  succeeded: number;
  failed: number;
}

/** The payload of a recipe as this page needs it; a broken one has no steps. */
export function recipeOf(memory: Pick<Memory, "content" | "payload">): Recipe {
  const payload = (memory.payload ?? {}) as Record<string, unknown>;
  const steps = Array.isArray(payload["steps"]) ? (payload["steps"] as Record<string, unknown>[]) : [];
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return {
    task: text(payload["task_pattern"]) || memory.content,
    steps: steps.map((one) => ({ description: text(one["description"]), file: text(one["canonical_file"]) })),
    succeeded: Number(payload["success_count"] ?? 0),
    failed: Number(payload["failure_count"] ?? 0),
  };
}

export function useRecipes() {
  const project = useProject();
  return useQuery({
    queryKey: ["memories", "recipes", project],
    queryFn: ({ signal }) => get("/api/list", { query: { types: ["workflow_recipe"], limit: 100 }, signal }),
    placeholderData: keepPreviousData,
  });
}
