"""Prompts of servers as skills: which prompt a skill is, and its arguments.

A person types `/server:prompt first second` or `/server:prompt name=value`; the last argument takes
what is left.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from wellkept.core.errors import UsageError
from wellkept.core.ports.skills import PromptDefinition
from wellkept.skills.documents.spec_rules import usable_name


def prompt_of(skill: str, prompts: Iterable[PromptDefinition]) -> PromptDefinition | None:
    """The prompt that became a skill of this name."""
    return next((one for one in prompts if usable_name(f"{one.server}:{one.name}") == skill), None)


def prompt_arguments(prompt: PromptDefinition, typed: str) -> Mapping[str, str]:
    """What was typed after a skill's name, by argument; UsageError when one is missing."""
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    loose: list[str] = []
    for word in _words(typed):
        name, separator, value = word.partition("=")
        if separator and name in names and name not in given:
            given[name] = value
        else:
            loose.append(word)
    free = [name for name in names if name not in given]
    for name in free[:-1]:
        if loose:
            given[name] = loose.pop(0)
    if free and loose:
        given[free[-1]] = " ".join(loose)
    missing = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if missing:
        raise UsageError(
            f"/{prompt.server}:{prompt.name} needs {', '.join(missing)}.",
            hint=f"Write: /{prompt.server}:{prompt.name} {' '.join(f'<{name}>' for name in names)}",
        )
    return given


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:  # an apostrophe in plain text
        return typed.split()
