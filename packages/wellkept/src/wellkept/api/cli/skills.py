"""What is asked or read on a terminal before `skill edit`, `skill review` and `skill validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wellkept.api.cli import output
from wellkept.core.errors import UsageError


def skill_edit(wk: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The new text of the skill's document from the editor, when nothing else is to be changed."""
    if given.keys() & {"set", "unset", "body", "text"}:
        return given
    return {**given, "text": _edited(wk.skills.document(given["name"]), "--set or --body")}


def skill_validate(wk: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Targets that are no names of skills are files or folders."""
    targets: tuple[str, ...] = given.get("targets", ())
    known = wk.skills.index()
    return {**given, "targets": [one if known.get(one) else Path(one) for one in targets]}


def skill_review(wk: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The new text of a generated skill from the editor, when it is to be edited."""
    if given.get("answer") != "edit" or "text" in given or not given.get("name"):
        return given
    return {**given, "text": _edited(wk.skills.library.get(given["name"]).text, "--text")}


def _edited(text: str, alternative: str) -> str:
    output.require_editor(alternative=alternative)
    try:
        return click.edit(text, extension=".md") or text
    except click.ClickException as error:
        raise UsageError(
            f"The editor failed: {error.message}.", hint=f"Set EDITOR, or pass {alternative}."
        ) from None
