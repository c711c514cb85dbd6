"""The table of finding codes: severity and meaning of each.

`docs/guides/skills.md` shows this table; a test keeps both the same. An error breaks a rule of the
format, so other readers may refuse the document; a warning is probably a mistake. Wellkept uses a
skill with findings as far as possible.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from wellkept.core.skills import SkillFinding
from wellkept.core.types import Severity

_E, _W = Severity.ERROR, Severity.WARNING

CODES: Final = MappingProxyType(
    {
        # The file
        "encoding": (_E, "the file is not UTF-8, or holds NUL"),
        "too-large": (_E, "the file is larger than 1 MiB; the skill is not loaded"),
        "unreadable": (_E, "a file or folder cannot be read"),
        "vanished": (_W, "a file was removed during the scan"),
        "outside": (_E, "a link leads outside the allowed folder; not followed"),
        "loop": (_W, "a link leads to a folder that was scanned already; not followed"),
        "too-many": (_W, "a source is larger than the scan limit; the rest is skipped"),
        # The layout
        "fence": (_E, "the front matter is not closed by a `---` line"),
        "fence-late": (_E, "the front matter does not start on the first line"),
        "head-missing": (_E, "SKILL.md has no front matter"),
        "head-size": (_E, "the front matter is longer than 64 KiB; it is not read"),
        # YAML
        "yaml-bracket": (_E, "a value starts with a bracket that does not close; read as text"),
        "yaml-colon": (_E, "unquoted text contains a colon and a space; read as text"),
        "yaml-deep": (_E, "more than 16 levels; what is deeper is ignored"),
        "yaml-escape": (_E, "an unknown escape; read as it stands"),
        "yaml-indent": (_E, "a line has the wrong indentation"),
        "yaml-no-key": (_E, "a line is not `key: value`; it is ignored"),
        "yaml-quote": (_E, "a value starts with a quote that does not close; read as text"),
        "yaml-reference": (_E, "an anchor, alias or tag; never followed"),
        "yaml-reserved": (_E, "unquoted text starts with a reserved character; read as text"),
        "yaml-tab": (_E, "a line is indented with a tab"),
        "yaml-twice": (_E, "a key occurs twice in one mapping; the last one counts"),
        # Fields
        "field-kind": (_E, "a field has the wrong type, such as a list for a text; ignored"),
        "field-twice": (_W, "a field occurs in two spellings; the last one counts"),
        "field-unknown": (_W, "an unknown field; preserved"),
        "field-value": (_W, "an invalid value; ignored"),
        "not-portable": (_W, "with --strict: a field outside the Agent Skills specification"),
        "name-missing": (_E, "no name; the folder or file name is used"),
        "name-form": (_E, "not 1-64 lower-case letters, digits and single inner hyphens"),
        "name-folder": (_E, "the name differs from the folder name"),
        "description-missing": (_E, "no description; the first heading or line is used"),
        "description-long": (_E, "more than 1,024 characters"),
        "compatibility-long": (_E, "empty, or more than 500 characters"),
        "metadata-text": (_E, "metadata that is not a mapping from text to text"),
        "metadata-number": (_W, "unquoted metadata that some readers parse as a number"),
        "priority-range": (_W, "a priority outside the range of its source; the nearest is used"),
        "path-unsafe": (_E, "a path that is absolute or leads outside the skill; ignored"),
        "path-missing": (_W, "a path to a missing file; ignored"),
        "body-empty": (_W, "nothing below the front matter"),
        "body-long": (_W, "more than 500 lines or about 5,000 tokens"),
        # Hooks
        "hook-command": (_E, "a hook without a command; ignored"),
        "hook-event": (_W, "a hook for an unknown event; ignored"),
        "hook-matcher": (_E, "a matcher that is not a regular expression; the hook is ignored"),
        "hook-type": (_W, "a hook that is not a command; ignored"),
        # SKILL.toml
        "toml-broken": (_E, "SKILL.toml cannot be read; ignored"),
        "toml-colour": (_E, "brand_color is not #RRGGBB; ignored"),
        "toml-long": (_E, "a text in SKILL.toml is too long; ignored"),
        "toml-unknown": (_W, "an unknown key in SKILL.toml; ignored"),
        # Sources
        "alias-taken": (_W, "an alias is the name or alias of another skill"),
        "clash": (_W, "several skills have this name; the highest priority wins"),
        "source-broken": (_E, "a file that lists skills cannot be read"),
        "source-missing": (_W, "a listed source or skill is missing"),
        "remote-waiting": (_W, "a remote skill that was not fetched yet"),
        "remote-changed": (_E, "the stored copy of a remote skill differs from the accepted one"),
    }
)
"""Code -> severity and meaning."""


def finding(code: str, message: str, *, line: int | None = None) -> SkillFinding:
    """A finding with the severity of its code."""
    return SkillFinding(CODES[code][0], code, message, line)
