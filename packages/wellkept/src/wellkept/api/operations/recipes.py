"""The operation for agents at work: workflow recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import counted
from wellkept.memory import arguments

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.observe.observer.prefetch import FoundRecipe


class RecipeInput(Input):
    """What is to be done."""

    synonyms: ClassVar[Mapping[str, str]] = arguments.TASK

    task: str = Field(min_length=1, max_length=4_000, description="The task in a sentence or two.")
    limit: int = Field(default=2, ge=1, le=10)


class RecipeStepOutput(Model):
    """One step of a recipe."""

    description: str
    file: str = ""


class RecipeOutput(Model):
    """A recipe that fits."""

    id: str
    task: str
    steps: list[RecipeStepOutput]
    succeeded: int
    failed: int
    last_validated: str = ""
    confidence: float
    stale: str = Field(default="", description="Why not to rely on it as it is.")

    @classmethod
    def of(cls, found: FoundRecipe) -> RecipeOutput:
        """The same as the library gives it."""
        recipe = found.recipe
        return cls(
            id=found.memory.short,
            task=quoted(recipe.task_pattern),
            steps=[
                RecipeStepOutput(
                    description=quoted(step.description), file=step.canonical_file or ""
                )
                for step in recipe.steps
            ],
            succeeded=recipe.success_count,
            failed=recipe.failure_count,
            last_validated=(recipe.last_validated_at or "")[:10],
            confidence=round(found.memory.confidence, 2),
            stale=found.stale_reason or "",
        )

    def lines(self) -> list[str]:
        """The recipe as text."""
        failed = f", failed {self.failed}" if self.failed else ""
        counts = f"worked {counted(self.succeeded, 'time')}{failed}"
        head = f"[m:{self.id}] {self.task} ({counts})"
        warning = [f"may be out of date: {self.stale}"] if self.stale else []
        steps = [
            f"  {n}. {step.description}{f' ({step.file})' if step.file else ''}"
            for n, step in enumerate(self.steps, start=1)
        ]
        return [head, *warning, *steps]


class RecipesOutput(Output):
    """What such work took here before."""

    recipes: list[RecipeOutput] = Field(default_factory=list[RecipeOutput])

    def text(self) -> str:
        if not self.recipes:
            return "No recipe fits. One is learned when the same steps worked in three sessions."
        return "\n".join(line for recipe in self.recipes for line in recipe.lines())


def get_workflow_recipe(wk: Wellkept, request: RecipeInput) -> RecipesOutput:
    """The recipes that fit a task, best first."""
    found = wk.observer.recipes(request.task, limit=request.limit)
    return RecipesOutput(recipes=[RecipeOutput.of(one) for one in found])
