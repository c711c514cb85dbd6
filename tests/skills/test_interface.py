"""SKILL.toml: limits, colours, and icons that stay where they belong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.skills.documents.skill_toml import read_interface

pytestmark = pytest.mark.feature("F6")

WHOLE = """[interface]
display_name = "Git Commit Helper"
short_description = "Makes commits"
icon_small = "icon-small.png"
icon_large = "./assets/icons/large.png"
brand_color = "#4A90d9"
default_prompt = "Commit my changes"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "commit"
    (skill / "assets" / "icons").mkdir(parents=True)
    (skill / "assets" / "icon-small.png").write_bytes(b"png")
    (skill / "assets" / "icons" / "large.png").write_bytes(b"png")
    (skill / "secret.png").write_bytes(b"png")
    (tmp_path / "outside.png").write_bytes(b"png")
    return skill


def test_every_field_is_read(folder: Path) -> None:
    shown, findings = read_interface(WHOLE.encode(), folder=folder)
    assert findings == ()
    assert shown is not None
    assert (shown.display_name, shown.short_description) == ("Git Commit Helper", "Makes commits")
    assert shown.icon_small == folder / "assets" / "icon-small.png"
    assert shown.icon_large == folder / "assets" / "icons" / "large.png"
    assert (shown.brand_color, shown.default_prompt) == ("#4A90d9", "Commit my changes")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f'display_name = "{"x" * 65}"', "toml-long"),
        (f'short_description = "{"x" * 1025}"', "toml-long"),
        (f'default_prompt = "{"x" * 257}"', "toml-long"),
        ('brand_color = "#12345"', "toml-colour"),
        ('brand_color = "red"', "toml-colour"),
        ('brand_color = "#GG0000"', "toml-colour"),
        ("brand_color = 5", "field-kind"),
        ('display_name = "  "', "field-kind"),
        ('icon_small = "../secret.png"', "path-unsafe"),
        ('icon_small = "/etc/passwd"', "path-unsafe"),
        ('icon_small = "C:\\\\x.png"', "path-unsafe"),
        ('icon_small = "a/../../secret.png"', "path-unsafe"),
        ('icon_small = "..\\\\secret.png"', "path-unsafe"),
        ('icon_small = "leak.png"', "path-unsafe"),
        ('icon_small = "missing.png"', "path-missing"),
        ('colour = "x"', "toml-unknown"),
    ],
)
def test_a_value_that_breaks_a_rule_is_left_out_with_its_line(
    folder: Path, line: str, code: str
) -> None:
    (folder / "assets" / "leak.png").symlink_to(folder.parent / "outside.png")
    text = f'[interface]\n# first\n{line}\nshort_description = "stays"\n'
    if "short_description" in line:
        text = f"[interface]\n# first\n{line}\n"
    shown, findings = read_interface(text.encode(), folder=folder)
    assert [(f.code, f.line) for f in findings] == [(code, 3)]
    assert findings[0].path == folder / "SKILL.toml"
    assert shown is not None
    assert shown.icon_small is None
    assert shown.brand_color is None
    assert shown.short_description in ("stays", None)


@pytest.mark.parametrize(
    "data",
    [b"not toml [", b"", b'title = "x"', b"interface = 3", b"\xff\xfe", b"x = " + b"[" * 9_000,
     b"[interface]\n" + b"#" * 70_000],
)  # fmt: skip
def test_a_broken_file_is_one_finding(folder: Path, data: bytes) -> None:
    shown, findings = read_interface(data, folder=folder)
    assert shown is None
    assert [f.code for f in findings] == ["toml-broken"]


@given(st.binary(max_size=120))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    read_interface(data, folder=Path("nowhere"))
    read_interface(b"[interface]\nicon_small=" + data, folder=Path("nowhere"))
