"""The sdist and the wheel: built, complete, and usable in an environment that has nothing else."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from scripts import dist

pytestmark = pytest.mark.feature("I3")


@pytest.mark.parametrize("name", [one for one in dist.DISTRIBUTIONS if one != "wellkept"])
def test_each_other_distribution_is_built_whole(name: str, tmp_path: Path) -> None:
    sdist, wheel = dist.build(tmp_path, name)
    assert dist.problems(sdist, wheel, needed=dist.DISTRIBUTIONS[name]) == []


def test_what_must_not_be_published_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "wellkept.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("wellkept/py.typed", "")
        archive.writestr("wellkept/tests/test_x.py", "")
    sdist = tmp_path / "wellkept.tar.gz"
    import tarfile

    with tarfile.open(sdist, "w:gz") as packed:
        packed.add(wheel, "wellkept-1/src/wellkept/py.typed")
    found = dist.problems(sdist, wheel, needed=(*dist.DISTRIBUTIONS["wellkept"], dist.PAGE))
    assert f"The wheel lacks {dist.PAGE}. Run `make page` first." in found
    assert "The wheel has wellkept/tests/test_x.py, which is not to be published." in found
    assert "The sdist lacks wellkept/clients/hook.py." in found


def test_all_distributions_have_one_version_and_one_licence() -> None:
    import wellkept

    assert wellkept.__version__ == dist.version()
    licence = (dist.ROOT / "LICENSE").read_bytes()
    for name in dist.DISTRIBUTIONS:
        project = dist.project(name)
        assert project["version"] == dist.version()
        assert (dist.ROOT / "packages" / name / "LICENSE").read_bytes() == licence
        extras = project.get("optional-dependencies", {})
        needs = [*project["dependencies"], *(one for group in extras.values() for one in group)]
        pins = [one for one in needs if one.startswith("wellkept") and "==" in one]
        assert {one.partition("==")[2] for one in pins} <= {dist.version()}
        assert not [
            one
            for one in needs
            if re.match(r"wellkept(-\w+)?(\[[^]]*\])?$", one) and not one.startswith(f"{name}[")
        ], "pin the distributions to each other"


def test_the_default_install_brings_no_models_of_the_edge() -> None:
    needs = {re.split(r"[^a-z0-9-]", one)[0] for one in dist.project()["dependencies"]}
    assert "msgspec" in needs
    assert not needs & {"fastapi", "mcp", "pydantic"}


def test_all_brings_every_distribution() -> None:
    extras = dist.project()["optional-dependencies"]
    (everything,) = extras["all"]
    parts = {part.strip() for part in everything.removeprefix("wellkept[").rstrip("]").split(",")}
    brought = {need.partition("==")[0] for part in parts for need in extras[part]}
    assert set(dist.DISTRIBUTIONS) - {"wellkept"} <= brought
