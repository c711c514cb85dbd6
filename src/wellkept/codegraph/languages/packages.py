"""What languages with declared packages share: names by package, and packages as wholes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.codegraph.parse.language import ImportTarget, package_target
from wellkept.codegraph.parse.resolver_context import stem

if TYPE_CHECKING:
    from wellkept.codegraph.parse.file_facts import ExportedNames
    from wellkept.codegraph.parse.resolver_context import ResolverContext


class Packages:
    """The packages of one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def files_of(self, target: ImportTarget, outlook: ResolverContext) -> tuple[str, ...]:
        """The files of a package."""
        return outlook.package(self._language, target.package)

    def scope_of(
        self, path: str, names: ExportedNames, outlook: ResolverContext
    ) -> tuple[ImportTarget, ...]:
        """A file sees what its own package has."""
        del path, outlook
        return (package_target(self._language, names.package),) if names.package else ()

    def spread(self, path: str, outlook: ResolverContext) -> tuple[str, ...]:
        """Classes may go on in other files of the package."""
        file = outlook.layout.files.get(path)
        if file is None or not file.module:
            return ()
        return tuple(p for p in outlook.package(self._language, file.module) if p != path)

    def home_of(self, package: str, name: str, outlook: ResolverContext) -> str | None:
        """The file of a package that defines a name; the one called like it first."""
        files = outlook.package(self._language, package)
        for path in sorted(files, key=lambda p: (stem(p) != name, p)):
            names = outlook.names(path)
            if names is not None and name in names.symbols:
                return path
        return None
