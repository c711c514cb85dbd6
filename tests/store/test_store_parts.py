"""Parts of the SQLite store that are imported at their first call."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

from wellkept.store import open_store
from wellkept.store.sqlite.store import LATER, SqliteStore

pytestmark = pytest.mark.feature("B1")


def test_the_table_names_every_public_method_of_the_parts() -> None:
    for part, methods in LATER.items():
        module, _, kind = part.partition(":")
        whole = import_module(f"wellkept.store.{module}")
        later = set(getattr(whole, kind).__mro__) - set(SqliteStore.__mro__)
        found = [cast("dict[str, object]", vars(one)).items() for one in later]
        public = {
            name for named in found for name, one in named if name[0] != "_" and callable(one)
        }
        assert public == set(methods.split()), part


def test_an_unknown_method_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(open_store(tmp_path / "store.db"), "nonsense")  # noqa: B009


def test_a_question_imports_none_of_them(tmp_path: Path) -> None:
    open_store(tmp_path / "store.db").close()
    ask = (
        "import sys; from pathlib import Path; from wellkept.core.query import Filter;"
        "from wellkept.store import open_store;"
        "store = open_store(Path(sys.argv[1]));"
        "store.search_fulltext(['deploy'], Filter(project='one'), limit=3); store.close();"
        "print(*(name for name in sys.modules if name.startswith('wellkept.store')))"
    )
    command = [sys.executable, "-c", ask, str(tmp_path / "store.db")]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "wellkept.store.sqlite.store" in loaded
    later = {f"wellkept.store.{part.partition(':')[0]}" for part in LATER}
    assert later.isdisjoint(loaded)
