"""Operations for agents at work: workflow recipes and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from wellkept.api.operations import argument_names, inputs, memory, outputs
from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output
from wellkept.context.packing import quoted
from wellkept.core.errors import UsageError
from wellkept.core.ids import short_id
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.records import replace
from wellkept.core.text import counted
from wellkept.core.types import MemoryType, Source, parse_type

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.observe.observer.recipes import FoundRecipe


class RecipeInput(Input):
    """What is to be done."""

    synonyms: ClassVar[Mapping[str, str]] = argument_names.TASK

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


class SaveRecipeInput(Input):
    """A recipe in a person's words: a new one, or new steps for one that is there."""

    id: str = Field(default="", description="The recipe to change. Empty: a new one.")
    task: str = Field(min_length=1, max_length=400, description="Which tasks it is for.")
    steps: list[RecipeStepOutput] = Field(min_length=1, max_length=50)


def save_recipe(wk: Wellkept, request: SaveRecipeInput) -> outputs.RememberOutput:
    """Keep a recipe that a person wrote; what changed stays in its history."""
    steps = tuple(
        RecipeStep(description=one.description, canonical_file=one.file or None)
        for one in request.steps
    )
    files = list(dict.fromkeys(one.file for one in request.steps if one.file))
    told = "; ".join(f"{n}. {one.description}" for n, one in enumerate(steps, start=1))
    content = f"{request.task}: {told}"
    if request.id:
        old = wk.get(request.id)
        if not isinstance(old.payload, WorkflowRecipe):
            raise UsageError(f"{old.short} is not a recipe.")
        payload = replace(old.payload, task_pattern=request.task, steps=steps)
        new = wk.edit(old.id, content=content, payload=payload, files=files, user_verified=True)
        return outputs.RememberOutput(
            id=new.short, outcome="changed", reason="", previous=old.short
        )
    kept = wk.remember(
        content,
        type=MemoryType.WORKFLOW_RECIPE,
        payload=WorkflowRecipe(task_pattern=request.task, steps=steps),
        files=files,
        source=Source.USER_TAUGHT,
        merge_similar=False,
    )
    return memory.stored(kept)


def remember_this(wk: Wellkept, request: inputs.RememberInput) -> outputs.RememberOutput:
    """Note something for this session, to be kept once its work has held up; what has a key, what
    comes from no known session, and what somebody says a person said, is kept at once."""
    session = _open_session(wk, request.session)
    claimed = request.said_by_person or request.about_person
    if session is None or request.key or claimed:
        return memory.store(wk, request)
    note = wk.observer.note(
        session, request.content, type=parse_type(request.type), files=request.files
    )
    if note is None:
        return memory.store(wk, request)
    reason = "told to this session at once; kept for later ones when its work has held up"
    return outputs.RememberOutput(id=short_id(note.id), outcome="noted", reason=reason)


def _open_session(wk: Wellkept, name: str) -> SessionRecord | None:
    session = wk.engine.store.get_session(name) if name.strip() else None
    same_project = session is not None and session.project == wk.project
    return session if session is not None and same_project and session.is_open else None
