"""Edits of the project pages, and their files."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, cast

from wellkept.context.bulk import Edited
from wellkept.context.review import CorrectionReason, correct
from wellkept.project.pages import edited_content, renew_layout

if TYPE_CHECKING:
    from wellkept.api.views.parts import ProjectParts
    from wellkept.context.workspace import TellingMemory


def edit_page_line(
    parts: ProjectParts, name: str, text: str, *, if_updated_at: datetime | None = None
) -> Edited:
    """Correct the record behind a line."""
    content = edited_content(parts.get(name), text)
    done = correct(
        cast("TellingMemory", parts),
        name,
        CorrectionReason.INACCURATE,
        content=content,
        if_updated_at=if_updated_at,
    )
    renew_layout(parts.engine, parts.project)
    return done
