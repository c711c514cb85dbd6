"""The modules of a source tree as records: what they hold, do and need, and how code is written.

A module is a folder of source files, named as the graph names folders ("src/app/", "./").
Summaries and conventions say what they rest on. Knows nothing of where they are kept.
"""

from __future__ import annotations

from wellkept.core.records import record


@record
class ModuleLink:
    """Another module, and how many edges lead there or come from there."""

    folder: str
    edges: int


@record(kw_only=True)
class CodeModule:
    """One module. `purpose` is what its documents say of it, in their words."""

    folder: str
    name: str
    languages: tuple[str, ...]
    files: tuple[str, ...]
    lines: int
    is_test: bool
    depends_on: tuple[ModuleLink, ...] = ()
    used_by: tuple[ModuleLink, ...] = ()
    gives: tuple[str, ...] = ()
    """Its symbols that others use, the most used first."""
    entry_points: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Test files outside of it that use it directly."""
    purpose: str = ""
    read_from: tuple[str, ...] = ()
    """The files that `purpose` was taken from."""

    @property
    def summary(self) -> str:
        """One paragraph: what it is for, what it gives, what it stands on."""
        said = [self.purpose.rstrip()] if self.purpose else []
        if said and said[0][-1:] not in (".", "!", "?"):
            said[0] += "."
        parts = (
            ("Gives", self.gives),
            ("Starts at", self.entry_points[:3]),
            ("Depends on", tuple(link.folder for link in self.depends_on[:5])),
            ("Used by", tuple(link.folder for link in self.used_by[:5])),
        )
        said += [f"{title} {', '.join(names)}." for title, names in parts if names]
        plural = "s" * (len(self.files) != 1)
        holds = f"Holds {len(self.files)} file{plural} of {', '.join(self.languages)}."
        return " ".join(said) or holds


@record(kw_only=True)
class Convention:
    """How things are done in a tree. `key` names what it is about; one statement for each."""

    key: str
    text: str
    evidence: tuple[str, ...]
    """Paths that show it."""
