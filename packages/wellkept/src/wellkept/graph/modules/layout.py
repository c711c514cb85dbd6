"""Places modules on a plane by their dependencies: what depends on nothing at the bottom.

Layered: cycles are cut by a greedy order of who needs more than it gives, layers are longest paths,
and the order within a layer comes from the neighbours' mean. Invariant: the same modules and edges
always give the same places, in any order of input. Units are grid cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MAX_IN_ROW = 7
_SWEEPS = 8

Edges = Mapping[tuple[str, str], int]
"""Weight of each edge, from a module to one that it depends on."""


class Place(NamedTuple):
    """Column and row of a module, from the top left."""

    x: float
    y: float


def layout(names: Sequence[str], edges: Edges) -> dict[str, Place]:
    """The place of every module."""
    nodes = sorted(set(names))
    known = {pair: w for pair, w in edges.items() if set(pair) <= set(nodes) and pair[0] != pair[1]}
    acyclic = _acyclic(nodes, known)
    rows = _ordered(_layers(nodes, acyclic), acyclic)
    width = max((len(row) for row in rows), default=0)
    # Who is depended on stands below.
    return {
        name: Place(column + (width - len(row)) / 2, float(number))
        for number, row in enumerate(reversed(rows))
        for column, name in enumerate(row)
    }


def _acyclic(nodes: Sequence[str], edges: Edges) -> dict[tuple[str, str], int]:
    """The edges that go down in a greedy order: most used last."""
    balance = dict.fromkeys(nodes, 0)
    for (source, target), weight in edges.items():
        balance[source] += weight
        balance[target] -= weight
    rank = {
        name: number
        for number, name in enumerate(sorted(nodes, key=lambda name: (-balance[name], name)))
    }
    # Only edges that go down the order are kept, so that no cycle can be left.
    return {
        (source, target): weight
        for (source, target), weight in edges.items()
        if rank[source] < rank[target]
    }


def _layers(nodes: Sequence[str], edges: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Modules by their longest way down; the first layer depends on nothing."""
    below: dict[str, list[str]] = {name: [] for name in nodes}
    for source, target in sorted(edges):
        below[source].append(target)
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((deep(one) for one in below[name]), default=-1)
        return depth[name]

    layers: list[list[str]] = [[] for _ in range(max(map(deep, nodes), default=-1) + 1)]
    for name in nodes:
        layers[depth[name]].append(name)
    return layers


def _ordered(
    layers: Sequence[Sequence[str]], edges: Mapping[tuple[str, str], int]
) -> list[list[str]]:
    """Each layer in an order with few crossings; a wide one is broken into rows."""
    beside: dict[str, list[str]] = {name: [] for layer in layers for name in layer}
    for source, target in edges:
        beside[source].append(target)
        beside[target].append(source)
    rows = [list(layer) for layer in layers]
    for _ in range(_SWEEPS):
        place = {name: n / max(1, len(row)) for row in rows for n, name in enumerate(row)}
        for row in rows:
            mean = {
                name: sum(place[one] for one in beside[name]) / len(beside[name])
                if beside[name]
                else place[name]
                for name in row
            }
            row.sort(key=lambda name: (round(mean[name], 6), name))
            place |= {name: n / max(1, len(row)) for n, name in enumerate(row)}
    return [
        row[start : start + MAX_IN_ROW] for row in rows for start in range(0, len(row), MAX_IN_ROW)
    ]
