"""Generated skills in a JSONL export: one line each after the memories, under the key `skill`.

An imported skill is never trusted: it is redacted, follows its project, and waits for review here,
whatever its review elsewhere. A skill that already exists stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.generated_skills import GeneratedSkill, SkillOrigin, SkillReview
from wellkept.core.ids import is_full_id
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from datetime import datetime

MARK = "skill"
MAX_TEXT_CHARS = 1 << 20
IMPORTED_NOTE = "Came with an import; look at it with `wellkept skill review`."


def skill_to_json(skill: GeneratedSkill) -> dict[str, Json]:
    """A skill as the line of an export."""
    return {
        MARK: {
            "id": skill.id,
            "project": skill.project,
            "name": skill.name,
            "text": skill.text,
            "origin": skill.origin.value,
            "made_by": skill.made_by,
            "created_at": skill.created_at.isoformat(),
            "updated_at": skill.updated_at.isoformat(),
            "session_ids": list(skill.session_ids),
            "observation_ids": list(skill.observation_ids),
            "commit_sha": skill.commit_sha,
        }
    }


def skill_from_json(line: dict[str, Json]) -> GeneratedSkill:
    """The skill on a line, disabled and pending review; UsageError names what does not fit."""
    given = line[MARK]
    if not isinstance(given, dict):
        raise UsageError("a skill must be an object.")
    text, name = _text(given, "text"), _text(given, "name")
    if len(text) > MAX_TEXT_CHARS or redact(text).changed or redact(name).changed:
        raise UsageError(f"the skill {name[:64]!r} is too large or holds a secret.")
    made_by = given.get("made_by")
    return GeneratedSkill(
        id=_id(given),
        project=_text(given, "project"),
        name=name,
        text=text,
        created_at=_moment(given, "created_at"),
        updated_at=_moment(given, "updated_at"),
        origin=SkillOrigin.REFINED if given.get("origin") == "refined" else SkillOrigin.GENERATED,
        made_by=made_by if made_by in ("model", "person") else "rules",
        review=SkillReview.PENDING,
        note=IMPORTED_NOTE,
        session_ids=_texts(given, "session_ids"),
        observation_ids=_texts(given, "observation_ids"),
        commit_sha=_text(given, "commit_sha") if given.get("commit_sha") else None,
    )


def _text(given: dict[str, Json], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"the skill's {name} must be a text.")
    return value


def _texts(given: dict[str, Json], name: str) -> tuple[str, ...]:
    value = given.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(redact(item).text for item in items if isinstance(item, str))


def _id(given: dict[str, Json]) -> str:
    value = _text(given, "id")
    if not is_full_id(value):
        raise UsageError("the skill's id is not one.")
    return value


def _moment(given: dict[str, Json], name: str) -> datetime:
    return parse_moment(_text(given, name))
