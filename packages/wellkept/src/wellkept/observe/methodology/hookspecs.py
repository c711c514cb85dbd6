"""The hooks that a plugin can implement, and the `hookimpl` marker to do so."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from wellkept.observe.methodology.protocol import Methodology

GROUP = "wellkept"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class Hooks:
    """All plugin hooks."""

    @hookspec
    def wellkept_methodologies(self) -> Iterable[Methodology]:  # type: ignore[empty-body]
        """The methodologies that this plugin adds."""
