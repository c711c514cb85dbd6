/** Recipes: the steps that a kind of task takes here, learned from sessions or written by a person. */
import { Pencil, Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useActions } from "@/lib/actions";
import { overlay } from "@/lib/overlay";
import { recipeOf, useRecipes } from "@/lib/recipes";
import { href } from "@/lib/router";
import { Button, Empty, Failure, Skeleton, Statement } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { MemoryHead } from "@/parts/memory-line";
import type { Memory } from "@/lib/memory";

export default function Recipes() {
  const { t } = useTranslation();
  const found = useRecipes();
  const add = <Button kind="main" icon={<Plus size={15} aria-hidden />} onClick={() => overlay.set({ kind: "recipe" })}>{t("recipes.add")}</Button>;
  return (
    <div className="mx-auto max-w-[860px] px-7 py-7 max-tabs:px-4">
      <div className="flex items-center gap-4"><h1 className="flex-1 font-serif text-verdict font-medium">{t("nav.recipes")}</h1>{found.data && found.data.items.length > 0 && add}</div>
      {found.isPending && <Skeleton />}
      {found.error && <div className="mt-4"><Failure error={found.error} onRetry={() => void found.refetch()} /></div>}
      {found.data?.items.length === 0 && <Empty title={t("recipes.none")} actions={add}><p>{t("recipes.noneWhy")}</p></Empty>}
      <ul className="mt-4">{found.data?.items.map((one) => <li key={one.id}><Boundary of={one.id}><RecipeCard memory={one} /></Boundary></li>)}</ul>
    </div>
  );
}

function RecipeCard({ memory }: { memory: Memory }) {
  const { t } = useTranslation();
  const actions = useActions();
  const recipe = recipeOf(memory);
  const gone = actions.goneOf(memory.id);
  if (gone) return <div className="flex min-h-[80px] items-center gap-3 border-t border-dashed border-edge"><span className="flex-1 text-ink2">{gone.text}</span><Button onClick={gone.undo}>{t("action.undo")}</Button></div>;
  return (
    <article className="border-t border-line py-4">
      <MemoryHead of={{ type: memory.type, source: memory.source, session_id: memory.session_id, at: memory.created_at }} confidence={memory.confidence} />
      <div className="mt-2 flex items-start gap-3">
        <h2 className="min-w-0 flex-1 font-serif text-card leading-snug font-medium"><a href={href("memories", memory.id)} className="hover:underline"><Statement text={recipe.task} /></a></h2>
        <Button icon={<Pencil size={14} aria-hidden />} onClick={() => overlay.set({ kind: "recipe", memory })}>{t("action.edit")}</Button>
        <Button kind="danger" onClick={() => actions.remove([memory])}>{t("action.delete")}</Button>
      </div>
      <ol className="mt-2 list-decimal space-y-1 pl-5 text-list">
        {recipe.steps.map((step, index) => <li key={index}><Statement text={step.description} />{step.file && !step.description.includes(step.file) && <a href={href("map", step.file)} className="ml-2 font-mono text-small text-ink2 hover:underline">{step.file}</a>}</li>)}
      </ol>
      <p className="mt-2 text-small text-ink2">{recipe.succeeded + recipe.failed > 0 ? t("recipes.counts", { worked: recipe.succeeded, failed: recipe.failed }) : t("recipes.untried")}{memory.stale_at && <b className="pl-2 font-semibold text-warn">{t("memories.stale")}</b>}</p>
    </article>
  );
}
