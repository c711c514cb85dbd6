"""Drafts a skill from a successful session, by rule.

A draft holds the contents of a SKILL.md as data. `render_document` writes the document and checks
it by reading it back. `skip_reason` says why a session gives no skill.
Knows nothing of storage, models or clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.session.steps import SessionStep
from wellkept.core.skills import Skill, SkillFormat
from wellkept.core.text import cjk_runs, content_words, first_line
from wellkept.skills.authoring.edit_fields import FieldValue, new_document
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.generation.document import (
    MAX_TITLE_CHARS,
    body_for,
    description_for,
    name_for,
    tags_for,
)
from wellkept.skills.generation.outcome import judge_session
from wellkept.skills.generation.procedure import Procedure, extract_procedure
from wellkept.skills.generation.session_history import SessionHistory, portable
from wellkept.skills.sources.stored import GENERATED_SOURCE

MIN_TOOL_CALLS: Final = 3
MIN_REQUEST_WORDS: Final = 2
MAX_CITED: Final = 40

Redactor: TypeAlias = Callable[[str], str]
"""Removes secrets from a text."""


@record(kw_only=True)
class SkillDraft:
    """A skill before it is written, and its origin."""

    name: str
    description: str
    body: str
    tags: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    observation_ids: tuple[str, ...] = ()
    commit_sha: str | None = None
    made_by: str = "rules"
    origin: str = "generated"


def skip_reason(history: SessionHistory) -> str | None:
    """Why nothing can be learned from a session; None when something can."""
    if history.is_open:
        return "it is still open"
    if history.tool_count < MIN_TOOL_CALLS:
        return f"it has {history.tool_count} tool calls, and {MIN_TOOL_CALLS} are needed"
    if not history.steps:
        return "its steps were not recorded"
    if not _says_what(history):
        return "its request does not say what was to be done"
    outcome = judge_session(history)
    if not outcome.is_success:
        return outcome.reason
    return (
        None
        if extract_procedure(history).has_several_steps
        else "it has no procedure of several steps"
    )


def _says_what(history: SessionHistory) -> bool:
    """Whether the request names a task: "14" or "commit" means nothing without its conversation.
    A session without a prompt is told by its files."""
    asked = [text for text in (history.title, *history.prompts[:1]) if text and text.strip()]
    enough = (
        len(content_words(text)) >= MIN_REQUEST_WORDS
        or sum(map(len, cjk_runs(text))) >= 2 * MIN_REQUEST_WORDS
        for text in asked
    )
    return not asked or any(enough)


def draft_skill(history: SessionHistory, *, taken: Collection[str], redact: Redactor) -> SkillDraft:
    """The skill from one session, with a name that is not taken."""
    redacted = redacted_history(history, redact=redact)
    steps = extract_procedure(redacted)
    title = title_of(redacted, steps)
    return compose_draft(
        title,
        steps,
        name=name_for(title, steps, taken=taken),
        requests=[first_line(prompt, limit=200) for prompt in redacted.prompts[:1]],
        histories=(redacted,),
    )


def compose_draft(
    title: str,
    steps: Procedure,
    *,
    name: str,
    requests: list[str],
    histories: tuple[SessionHistory, ...],
) -> SkillDraft:
    """A draft from a procedure and the sessions it was learned from."""
    observations = [one for history in histories for one in history.observation_ids]
    return SkillDraft(
        name=name,
        description=description_for(title, steps),
        body=body_for(title, requests, steps, sessions=len(histories)),
        tags=tags_for(steps),
        globs=tuple(pattern for pattern in steps.patterns if pattern.isprintable())[:20],
        session_ids=tuple(history.session_id for history in histories),
        observation_ids=tuple(dict.fromkeys(observations))[-MAX_CITED:],
        commit_sha=histories[-1].commit_sha,
        origin="generated" if len(histories) == 1 else "refined",
    )


def title_of(history: SessionHistory, steps: Procedure) -> str:
    """The request in few words; of a session without a prompt, where it worked."""
    for text in (history.title, *history.prompts[:1]):
        if text and (line := first_line(text, limit=MAX_TITLE_CHARS)):
            return line
    return f"Work on {', '.join(steps.patterns[:2])}" if steps.patterns else "Learned procedure"


def redacted_history(history: SessionHistory, *, redact: Redactor) -> SessionHistory:
    """The history without secrets and machine-specific paths."""

    def redacted(text: str) -> str:
        return portable(redact(text), roots=history.roots)

    def step(one: SessionStep) -> SessionStep:
        error = None if one.error is None else redacted(one.error)
        return replace(one, what=redacted(one.what), error=error)

    return replace(
        history,
        title=None if history.title is None else redacted(history.title),
        prompts=tuple(redacted(prompt) for prompt in history.prompts),
        steps=tuple(step(one) for one in history.steps),
        files_read=tuple(redacted(file) for file in history.files_read),
    )


def render_document(draft: SkillDraft) -> str:
    """The SKILL.md of a draft; UsageError when it does not validate."""
    fields: dict[str, FieldValue] = {"name": draft.name, "description": draft.description}
    if draft.tags:
        fields["tags"] = draft.tags
    if draft.globs:
        fields["globs"] = draft.globs
    fields["metadata"] = _provenance(draft)
    text = new_document(fields, body=draft.body)
    require_valid(text, name=draft.name)
    return text


def _provenance(draft: SkillDraft) -> Mapping[str, str]:
    """The origin of a skill, as metadata."""
    found = {
        "generated-by": "wellkept",
        "origin": draft.origin,
        "made-by": draft.made_by,
        "sessions": " ".join(draft.session_ids[-MAX_CITED:]),
        "observations": " ".join(draft.observation_ids[-MAX_CITED:]),
        "commit": draft.commit_sha or "",
    }
    return {key: value for key, value in found.items() if value}


def read_generated(text: str, *, name: str) -> Skill:
    """A generated document as a skill."""
    return read_skill(text.encode(), source=GENERATED_SOURCE, format=SkillFormat.FULL, name=name)


def require_valid(text: str, *, name: str) -> Skill:
    """The skill that a document describes; UsageError names its first error."""
    skill = read_generated(text, name=name)
    errors = [found for found in skill.findings if found.is_error]
    if errors or not skill.is_usable:
        reason = errors[0].message if errors else "It has no instructions."
        where = f" (line {errors[0].line})" if errors and errors[0].line else ""
        raise UsageError(f"The skill does not validate{where}: {reason}")
    return skill
