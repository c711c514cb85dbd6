"""Skills out of sessions that went well: by rule, always as a document that validates.

A draft is everything a SKILL.md says, as data; `document` writes it down and reads it back, so
that what leaves here has no errors. Whether a session is good enough to learn from is decided in
`worth_learning`, with the reason for people.
Knows nothing of storage, models or clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.session_steps import SessionStep
from wellkept.core.skills import Skill, SkillFormat
from wellkept.core.text import first_line
from wellkept.skills.authoring.edit_fields import Value, new_document
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.generation.document import (
    MAX_TITLE_CHARS,
    body_for,
    description_for,
    name_for,
    tags_for,
)
from wellkept.skills.generation.outcome import judge
from wellkept.skills.generation.procedure import Procedure, procedure
from wellkept.skills.generation.session_story import SessionStory, portable
from wellkept.skills.sources.stored import GENERATED

MIN_TOOL_CALLS: Final = 3
MAX_CITED: Final = 40

Safe: TypeAlias = Callable[[str], str]
"""Takes secrets out of a text."""


@record(kw_only=True)
class SkillDraft:
    """A skill before it is written down, and what it can be traced to."""

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


def worth_learning(story: SessionStory) -> str | None:
    """Why nothing can be learned from a session; None when something can."""
    if story.is_open:
        return "it is still going on"
    if story.tool_count < MIN_TOOL_CALLS:
        return f"it has {story.tool_count} tool calls, and {MIN_TOOL_CALLS} are needed"
    if not story.trail:
        return "its steps were not kept"
    outcome = judge(story)
    if not outcome.is_success:
        return outcome.reason
    return None if procedure(story).is_telling else "it holds no procedure of several steps"


def draft_skill(story: SessionStory, *, taken: Collection[str], safe: Safe) -> SkillDraft:
    """The skill that one session gives, with a name that is not taken."""
    told = safe_story(story, safe=safe)
    steps = procedure(told)
    title = title_of(told, steps)
    return compose(
        title,
        steps,
        name=name_for(title, steps, taken=taken),
        requests=[first_line(prompt, limit=200) for prompt in told.prompts[:1]],
        stories=(told,),
    )


def compose(
    title: str,
    steps: Procedure,
    *,
    name: str,
    requests: list[str],
    stories: tuple[SessionStory, ...],
) -> SkillDraft:
    """A draft in words from a procedure and the stories that it was learned from."""
    observations = [one for story in stories for one in story.observation_ids]
    return SkillDraft(
        name=name,
        description=description_for(title, steps),
        body=body_for(title, requests, steps, sessions=len(stories)),
        tags=tags_for(steps),
        globs=tuple(pattern for pattern in steps.patterns if pattern.isprintable())[:20],
        session_ids=tuple(story.session_id for story in stories),
        observation_ids=tuple(dict.fromkeys(observations))[-MAX_CITED:],
        commit_sha=stories[-1].commit_sha,
        origin="generated" if len(stories) == 1 else "refined",
    )


def title_of(story: SessionStory, steps: Procedure) -> str:
    """What was asked for, in few words; of a session without a prompt, where it worked."""
    for text in (story.title, *story.prompts[:1]):
        if text and (line := first_line(text, limit=MAX_TITLE_CHARS)):
            return line
    return f"Work on {', '.join(steps.patterns[:2])}" if steps.patterns else "Learned procedure"


def safe_story(story: SessionStory, *, safe: Safe) -> SessionStory:
    """The story without secrets and without what holds only on one machine."""

    def told(text: str) -> str:
        return portable(safe(text), roots=story.roots)

    def step(one: SessionStep) -> SessionStep:
        error = None if one.error is None else told(one.error)
        return replace(one, what=told(one.what), error=error)

    return replace(
        story,
        title=None if story.title is None else told(story.title),
        prompts=tuple(told(prompt) for prompt in story.prompts),
        trail=tuple(step(one) for one in story.trail),
        files_read=tuple(told(file) for file in story.files_read),
    )


def document(draft: SkillDraft) -> str:
    """The SKILL.md of a draft; UsageError should it not validate."""
    fields: dict[str, Value] = {"name": draft.name, "description": draft.description}
    if draft.tags:
        fields["tags"] = draft.tags
    if draft.globs:
        fields["globs"] = draft.globs
    fields["metadata"] = provenance(draft)
    text = new_document(fields, body=draft.body)
    require_valid(text, name=draft.name)
    return text


def provenance(draft: SkillDraft) -> Mapping[str, str]:
    """Where a skill comes from, as metadata."""
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
    """A kept document as a skill."""
    return read_skill(text.encode(), source=GENERATED, format=SkillFormat.FULL, name=name)


def require_valid(text: str, *, name: str) -> Skill:
    """The skill that a document describes; UsageError names the first error in it."""
    skill = read_generated(text, name=name)
    errors = [found for found in skill.findings if found.is_error]
    if errors or not skill.is_usable:
        reason = errors[0].message if errors else "It holds no instructions."
        where = f" (line {errors[0].line})" if errors and errors[0].line else ""
        raise UsageError(f"The skill does not validate{where}: {reason}")
    return skill
