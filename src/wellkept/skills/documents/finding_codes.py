"""Every kind of finding: its code, how bad it is, and what it means.

`docs/skills.md` shows this table; a test holds the two together. An error breaks a rule of the
format, so that other readers may refuse the document; a warning is probably not what was meant.
Wellkept uses a skill with findings as far as it makes sense.
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
        "vanished": (_W, "a file was removed while the folder was looked through"),
        "outside": (_E, "a link leads out of the folder that skills may come from; not followed"),
        "loop": (_W, "a link leads back to a folder above it; not followed again"),
        "too-many": (_W, "a source holds more than is looked through; the rest is left out"),
        # The layout
        "fence": (_E, "the front matter is not closed by a `---` line"),
        "fence-late": (_E, "the front matter does not begin on the first line"),
        "head-missing": (_E, "SKILL.md has no front matter"),
        "head-size": (_E, "the front matter is longer than 64 KiB; it is not read"),
        # YAML
        "yaml-bracket": (_E, "a value begins with a bracket that does not close; taken as text"),
        "yaml-colon": (_E, "unquoted text holds a colon and a space; taken as text"),
        "yaml-deep": (_E, "more than 16 levels; what is deeper is ignored"),
        "yaml-escape": (_E, "an escape that does not exist; taken as it stands"),
        "yaml-indent": (_E, "a line is set in further, or less far, than it may be"),
        "yaml-no-key": (_E, "a line is not `key: value`; it is ignored"),
        "yaml-quote": (_E, "a value begins with a quote that does not close; taken as text"),
        "yaml-reference": (_E, "an anchor, alias or tag; never followed"),
        "yaml-reserved": (_E, "unquoted text begins with a reserved character; taken as text"),
        "yaml-tab": (_E, "a line is set in with a tab"),
        "yaml-twice": (_E, "a key stands twice in one mapping; the last one counts"),
        # Fields
        "field-kind": (_E, "a field has the wrong shape: a list for a text, say; ignored"),
        "field-twice": (_W, "a field is given in two spellings; the last one counts"),
        "field-unknown": (_W, "a field that neither the formats nor Wellkept know; kept"),
        "field-value": (_W, "a value that the field does not know; ignored"),
        "not-portable": (_W, "with --strict: a field outside the Agent Skills specification"),
        "name-missing": (_E, "no name; the folder or the file gives it"),
        "name-form": (_E, "not 1-64 lower-case letters, digits and single inner hyphens"),
        "name-folder": (_E, "the name is not that of the folder"),
        "description-missing": (_E, "no description; the first heading or line stands in"),
        "description-long": (_E, "more than 1,024 characters"),
        "compatibility-long": (_E, "empty, or more than 500 characters"),
        "metadata-text": (_E, "metadata that is not a mapping from text to text"),
        "metadata-number": (_W, "unquoted metadata that some readers take for a number"),
        "priority-range": (_W, "a priority outside the range of its source; the nearest is used"),
        "path-unsafe": (_E, "a path that is absolute or leads out of the skill; ignored"),
        "path-missing": (_W, "a path to a file that is not there; ignored"),
        "body-empty": (_W, "nothing below the front matter"),
        "body-long": (_W, "more than 500 lines or about 5,000 tokens"),
        # Hooks
        "hook-command": (_E, "a hook without a command; ignored"),
        "hook-event": (_W, "a hook for an event that skills do not have; ignored"),
        "hook-matcher": (_E, "a matcher that is no regular expression; the hook is ignored"),
        "hook-type": (_W, "a hook that is no command; ignored"),
        # SKILL.toml
        "toml-broken": (_E, "SKILL.toml cannot be read; ignored"),
        "toml-colour": (_E, "brand_color is not #RRGGBB; ignored"),
        "toml-long": (_E, "a text in SKILL.toml is too long; ignored"),
        "toml-unknown": (_W, "SKILL.toml says something that is not known; ignored"),
        # Sources
        "alias-taken": (_W, "an alias is the name, or an earlier alias, of another skill"),
        "clash": (_W, "several skills have this name; the highest priority wins"),
        "source-broken": (_E, "a file that lists skills cannot be read"),
        "source-missing": (_W, "a listed source or skill is not there"),
        "remote-waiting": (_W, "a remote skill that nobody has fetched yet"),
        "remote-changed": (_E, "the kept copy of a remote skill is not what was agreed to"),
    }
)
"""Code -> severity and meaning."""


def finding(code: str, message: str, *, line: int | None = None) -> SkillFinding:
    """A finding with the severity that its code has."""
    return SkillFinding(CODES[code][0], code, message, line)
