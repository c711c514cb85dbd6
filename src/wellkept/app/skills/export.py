"""Where clients look for the skills of a project, and which skills are worth putting there.

Nothing is written into anybody's repository unless it is asked for; this module only says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from wellkept.app.settings.paths import expanded
from wellkept.core.skills import SkillKind

if TYPE_CHECKING:
    from wellkept.app.skills.api import Skills

CLIENT_FOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": ".claude/skills",
        "codex": ".agents/skills",
        "cursor": ".agents/skills",
        "gemini": ".agents/skills",
        "opencode": ".opencode/skills",
    }
)
"""Client -> the folder below the project's that it reads skills from."""


def export_folder(root: Path, to: str) -> Path:
    """The folder that a client or a path means; `./codex` is a folder, `codex` the client."""
    return root / CLIENT_FOLDERS[to] if to in CLIENT_FOLDERS else expanded(to)


def skills_to_export(
    skills: Skills, folder: Path, *, generated: bool = False, detected: bool = False
) -> list[str]:
    """Skills that are switched on and were made from sessions, or that the project calls for;
    without those that lie in that folder already."""
    made = [skill for skill in skills.list(source=SkillKind.GENERATED) if skill.enabled]
    chosen = made if generated else []
    if detected:
        chosen = [*chosen, *(one.skill for one in skills.detect().found)]
    return [skill.name for skill in chosen if skill.source.root != folder]
