"""A recipe in a person's words: its task and steps as the text, files and payload of a memory."""

from __future__ import annotations

from collections.abc import Iterable

from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.records import replace


def recipe_text(task: str, steps: Iterable[RecipeStep]) -> str:
    """The content of a recipe."""
    told = "; ".join(f"{n}. {one.description}" for n, one in enumerate(steps, start=1))
    return f"{task}: {told}"


def recipe_files(steps: Iterable[RecipeStep]) -> list[str]:
    """The files that its steps change, each once."""
    return list(dict.fromkeys(one.canonical_file for one in steps if one.canonical_file))


def recipe_payload(
    task: str, steps: Iterable[RecipeStep], *, of: WorkflowRecipe | None = None
) -> WorkflowRecipe:
    """The payload; with `of`, that recipe with new steps, and how it fared so far."""
    made = WorkflowRecipe(task_pattern=task, steps=tuple(steps))
    return made if of is None else replace(of, task_pattern=task, steps=made.steps)
