"""The table of findings is complete and documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wellkept.skills.documents.finding_codes import CODES

pytestmark = pytest.mark.feature("F1")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "skills.md").read_text("utf-8")
ROWS = re.findall(r"^\| `([\w-]+)` \| (error|warning) \| (.+?) \|$", PAGE, re.MULTILINE)
SOURCES = "".join(
    path.read_text("utf-8")
    for path in (ROOT / "packages" / "wellkept" / "src" / "wellkept" / "skills").rglob("*.py")
    if path.name != "finding_codes.py"
)


def test_the_page_lists_every_code_with_its_severity_and_meaning() -> None:
    assert [(code, severity.value, text) for code, (severity, text) in CODES.items()] == ROWS


@pytest.mark.parametrize("code", CODES)
def test_no_code_is_listed_that_nobody_reports(code: str) -> None:
    # Quotes and brackets share the line that reports them.
    assert f'"{code}"' in SOURCES or code in ("yaml-quote", "yaml-bracket")
