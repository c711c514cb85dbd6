"""The sdist and the wheel: built, complete, and usable in an environment that has nothing else."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from scripts import dist, try_wheel

pytestmark = pytest.mark.feature("I3")

PAGE_IS_BUILT = (dist.ROOT / "packages" / "wellkept" / "src" / dist.PAGE).exists()


def test_a_newcomer_installs_the_wheel_and_takes_the_tour(tmp_path: Path) -> None:
    sdist, wheel = dist.build(tmp_path / "dist")
    assert dist.problems(sdist, wheel, page=PAGE_IS_BUILT) == []

    programs = try_wheel.install(wheel, tmp_path / "venv")
    printed = try_wheel.try_out(programs, tmp_path)

    assert dist.version() in printed["version"]
    assert "make test" in printed["tour"]
    assert "Fruit is weighed in grams" in printed["recall"]
    assert "grams" in printed["hook"]
    answers = [json.loads(line) for line in printed["mcp"].splitlines()]
    (listed,) = [one["result"]["tools"] for one in answers if one.get("id") == 2]
    assert "memory_search" in {tool["name"] for tool in listed}


def test_what_must_not_be_published_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "wellkept.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("wellkept/py.typed", "")
        archive.writestr("wellkept/tests/test_x.py", "")
    sdist = tmp_path / "wellkept.tar.gz"
    import tarfile

    with tarfile.open(sdist, "w:gz") as packed:
        packed.add(wheel, "wellkept-1/packages/wellkept/src/wellkept/py.typed")
    found = dist.problems(sdist, wheel, page=True)
    assert f"The wheel lacks {dist.PAGE}. Run `make page` first." in found
    assert "The wheel has wellkept/tests/test_x.py, which is not to be published." in found
    assert "The sdist lacks wellkept/clients/hook.py." in found


def test_the_version_is_said_once() -> None:
    import wellkept

    assert wellkept.__version__ == dist.version()
