"""Plugins that do not keep to what they promise."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.app.plugins import hookimpl
from holdfast.observe.methodology.builtin import NATIVE


class Twice:
    """Brings a methodology that is there already."""

    @hookimpl
    def holdfast_methodologies(self) -> Iterable[object]:
        return [NATIVE]


class Odd:
    """Brings something else."""

    @hookimpl
    def holdfast_methodologies(self) -> Iterable[object]:
        return ["waterfall"]


class Failing:
    """Fails when it is asked."""

    @hookimpl
    def holdfast_methodologies(self) -> Iterable[object]:
        return [1 / 0]


twice, odd, failing = Twice(), Odd(), Failing()
