"""Resolution shared by languages with declared packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.graph.parse.language import ImportTarget, package_target
from wellkept.graph.parse.resolver_context import stem

if TYPE_CHECKING:
    from wellkept.graph.parse.file_facts import ExportedNames
    from wellkept.graph.parse.resolver_context import ResolverContext


class PackageResolver:
    """Resolves packages of one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def package_files(self, target: ImportTarget, context: ResolverContext) -> tuple[str, ...]:
        """The files of a package."""
        return context.package(self._language, target.package)

    def implicit_scope(
        self, path: str, names: ExportedNames, context: ResolverContext
    ) -> tuple[ImportTarget, ...]:
        """A file sees its own package."""
        del path, context
        return (package_target(self._language, names.package),) if names.package else ()

    def companion_files(self, path: str, context: ResolverContext) -> tuple[str, ...]:
        """Other files of the package, where classes may continue."""
        file = context.tree_index.files.get(path)
        if file is None or not file.module:
            return ()
        return tuple(p for p in context.package(self._language, file.module) if p != path)

    def defining_file(self, package: str, name: str, context: ResolverContext) -> str | None:
        """The file of a package that defines a name; a file of that name first."""
        files = context.package(self._language, package)
        for path in sorted(files, key=lambda p: (stem(p) != name, p)):
            names = context.names(path)
            if names is not None and name in names.symbols:
                return path
        return None
