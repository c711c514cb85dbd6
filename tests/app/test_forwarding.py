"""`wellkept.agent` and `wellkept.integrations` forward to the packages that they became."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator

import pytest

import wellkept_adapters.items
import wellkept_agent
import wellkept_agent.tools.base

pytestmark = pytest.mark.feature("A3")


@pytest.fixture(autouse=True)
def _as_before() -> Generator[None]:
    """Forget the aliases and their finders."""
    finders = list(sys.meta_path)
    yield
    sys.meta_path[:] = finders
    for name in [
        n for n in sys.modules if n.startswith(("wellkept.agent", "wellkept.integrations"))
    ]:
        del sys.modules[name]


def test_the_former_names_are_the_new_ones() -> None:
    with pytest.warns(DeprecationWarning, match=r"wellkept\.agent is now wellkept_agent"):
        from wellkept.agent import Agent

    assert Agent is wellkept_agent.Agent


@pytest.mark.parametrize(
    ("former", "module"),
    [
        ("wellkept.agent.tools.base", wellkept_agent.tools.base),
        ("wellkept.integrations.items", wellkept_adapters.items),
    ],
)
def test_a_former_submodule_is_the_new_one_and_keeps_its_own_name(
    former: str, module: object
) -> None:
    with pytest.warns(DeprecationWarning, match="is now"):
        found = importlib.import_module(former)
    assert found is module
    assert found.__spec__ is not None
    assert found.__spec__.name == found.__name__ != former


def test_a_module_that_never_was_is_refused() -> None:
    with (
        pytest.warns(DeprecationWarning, match="is now"),
        pytest.raises(ImportError, match="no_such_name"),
    ):
        importlib.import_module("wellkept.agent.no_such_name")
