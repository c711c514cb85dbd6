"""Memories in words, for people and models: on one line, or whole; a recipe as a memory.

Memory text is quoted, so that it cannot close the frame around injected text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from wellkept.core.codec import Json, record_to_json
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation, Prompt, RecipeStep, SessionSummary, WorkflowRecipe
from wellkept.core.records import replace
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.text import estimate_tokens, first_line

TITLE_CHARS = 80
# A memory up to this length is shown whole where others are shown by title.
_WHOLE_CHARS = 200
# The content of these types repeats their payload.
_SHOWN_BY_CONTENT = (Observation, Prompt, SessionSummary)
# Ids that mean nothing outside the store.
_INTERNAL = frozenset({"observation", "session", "merged"})


def title_of(memory: Memory) -> str:
    """Its citation, or the beginning of its text."""
    return memory.citation or first_line(memory.content, limit=TITLE_CHARS)


def brief_line(memory: Memory) -> str:
    """A memory as one line: a short one whole, of a longer one what reading it costs."""
    text, cost = memory.content.strip(), estimate_tokens(memory.content)
    whole = len(text) <= _WHOLE_CHARS and "\n" not in text
    kind = memory.payload.kind if isinstance(memory.payload, Observation) else ""
    stale = " (stale)" if memory.stale_at else ""
    more = "" if whole else f" (+{cost} tokens)"
    said = quoted(text if whole else title_of(memory))
    day = f"{memory.valid_from:%Y-%m-%d}"
    return f"{memory.short} {day} {kind or memory.type.value}{stale}: {said}{more}"


def whole_text(memory: Memory) -> str:
    """A memory as a head and its content."""
    evidence = [f"{one.kind.value} {one.ref}" for one in memory.evidence]
    facts = (
        ("key", memory.key or ""),
        ("files", ", ".join(memory.files)),
        ("tags", ", ".join(memory.tags)),
        ("evidence", "; ".join(one for one in evidence if one.split(" ")[0] not in _INTERNAL)),
        ("no longer believed since", f"{memory.valid_to:%Y-%m-%d}" if memory.valid_to else ""),
        ("superseded by", memory.superseded_by or ""),
    )
    known = [
        *(memory.type.value, f"{memory.valid_from:%Y-%m-%d}", memory.told_by),
        f"confidence {round(memory.confidence, 2):g}",
        *(["stale: its files are gone"] if memory.stale_at else []),
        *(f"{name}: {quoted(value)}" for name, value in facts if value),
    ]
    details = _details(memory)
    extra = [json.dumps(details, ensure_ascii=False)] if details else []
    head = f"[m:{memory.short}] {' | '.join(known)}"
    return "\n".join([head, quoted_lines(memory.content), *extra])


def _details(memory: Memory) -> dict[str, Json]:
    if memory.payload is None or isinstance(memory.payload, _SHOWN_BY_CONTENT):
        return {}
    return {name: value for name, value in record_to_json(memory.payload).items() if value}


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
