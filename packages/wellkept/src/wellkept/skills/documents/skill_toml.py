"""Reads SKILL.toml: how a skill is displayed. Icons must be inside its assets folder.

A value that breaks a rule is left out, with a finding; the others count.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from wellkept.core.records import replace
from wellkept.core.skills import SkillFinding, SkillInterface
from wellkept.core.text import clean
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.safe_paths import path_inside

FILE_NAME: Final = "SKILL.toml"
ASSETS: Final = "assets"
MAX_TOML_BYTES: Final = 64 << 10
LIMITS: Final = MappingProxyType(
    {"display_name": 64, "short_description": 1024, "default_prompt": 256, "brand_color": 7}
)
"""The longest text of each field, in characters."""
_ICONS: Final = ("icon_small", "icon_large")
_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")


def read_interface(
    data: bytes, *, folder: Path
) -> tuple[SkillInterface | None, tuple[SkillFinding, ...]]:
    """The contents of SKILL.toml in a skill's folder, and what is wrong with it."""
    reader = _Reader(data, folder)
    shown = reader.read()
    path = folder / FILE_NAME
    return shown, tuple(replace(found, path=path) for found in reader.findings)


class _Reader:
    def __init__(self, data: bytes, folder: Path) -> None:
        self.findings: list[SkillFinding] = []
        self._folder = folder
        self._data = data
        self._text = data.decode("utf-8", errors="replace")

    def read(self) -> SkillInterface | None:
        table = self._table()
        if table is None:
            return None
        texts = {name: self._within(name, table) for name in LIMITS}
        colour = texts["brand_color"]
        if colour is not None and not _COLOUR.fullmatch(colour):
            self._report("toml-colour", f"brand_color is #RRGGBB, not {colour!r}.", "brand_color")
            texts["brand_color"] = None
        icons = {name: self._icon(name, table) for name in _ICONS}
        for name in sorted(set(table) - set(LIMITS) - set(_ICONS)):
            self._report("toml-unknown", f"{name[:40]!r} is unknown.", name)
        return SkillInterface(
            display_name=texts["display_name"],
            short_description=texts["short_description"],
            icon_small=icons["icon_small"],
            icon_large=icons["icon_large"],
            brand_color=texts["brand_color"],
            default_prompt=texts["default_prompt"],
        )

    def _table(self) -> Mapping[str, object] | None:
        """The table [interface]; None when there is none or the file is broken."""
        if len(self._data) > MAX_TOML_BYTES:
            self._report("toml-broken", f"It is larger than {MAX_TOML_BYTES:,} bytes.")
            return None
        try:
            whole = tomllib.loads(self._data.decode("utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            self._report("toml-broken", f"It cannot be read: {str(error)[:120]}.")
            return None
        table = whole.get("interface")
        if not isinstance(table, dict):
            self._report("toml-broken", "There is no table [interface].")
            return None
        return cast("Mapping[str, object]", table)

    def _text_of(self, name: str, table: Mapping[str, object]) -> str | None:
        value = table.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            self._report("field-kind", f"{name} must be a text.", name)
            return None
        return clean(value.strip())

    def _within(self, name: str, table: Mapping[str, object]) -> str | None:
        text = self._text_of(name, table)
        if text is not None and len(text) > LIMITS[name]:
            message = f"{name} has {len(text):,} characters; at most {LIMITS[name]:,} are allowed."
            self._report("toml-long", message, name)
            return None
        return text

    def _icon(self, name: str, table: Mapping[str, object]) -> Path | None:
        """A file in the assets folder; the name of the folder may be left out."""
        text = self._text_of(name, table)
        if text is None:
            return None
        short = text.removeprefix("./").removeprefix(f"{ASSETS}/")
        path = path_inside(self._folder / ASSETS, short)
        if path is None or path_inside(self._folder, f"{ASSETS}/{short}") is None:
            self._report("path-unsafe", f"{name} must be a file inside {ASSETS}/.", name)
            return None
        if not path.is_file():
            self._report("path-missing", f"There is no file {ASSETS}/{short[:60]}.", name)
            return None
        return path

    def _report(self, code: str, message: str, key: str | None = None) -> None:
        found = re.search(rf"^\s*{re.escape(key)}\s*=", self._text, re.MULTILINE) if key else None
        line = 1 + self._text.count("\n", 0, found.end()) if found else None
        self.findings.append(finding(code, f"{FILE_NAME}: {message}", line=line))
