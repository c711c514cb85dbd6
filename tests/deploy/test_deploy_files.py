"""The container, compose and Kubernetes files, by the linters of their formats.

The images cannot be pulled here: that they build is not tried, only that the files are sound and
that what they call exists.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from wellkept.api.cli.root import root

pytestmark = pytest.mark.feature("T5")

DEPLOY = Path(__file__).parents[2] / "deploy"


def beside_python(name: str) -> str:
    """A program of the environment that runs the tests."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found is not None, f"{name} is missing: make .venv again with scripts/setup dev"
    return found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))


def test_the_container_file_is_sound() -> None:
    done = run(beside_python("hadolint"), str(DEPLOY / "Containerfile"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_container_linter_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "Containerfile"
    bad.write_text("FROM debian\nRUN apt-get install git\n", "utf-8")
    assert run(beside_python("hadolint"), str(bad)).returncode != 0


def test_the_compose_file_fits_its_schema(tmp_path: Path) -> None:
    words = (beside_python("check-jsonschema"), "--builtin-schema", "vendor.compose-spec")
    done = run(*words, str(DEPLOY / "compose.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    bad = tmp_path / "compose.yaml"
    bad.write_text("services:\n  one:\n    imagee: x\n", "utf-8")
    assert run(*words, str(bad)).returncode != 0


def test_the_kubernetes_objects_fit_their_schemas() -> None:
    import kubernetes_validate

    known = documents()
    assert {one["kind"] for one in known} == {"Deployment", "Service", "PodDisruptionBudget"}
    for one in known:
        kubernetes_validate.validate(one, "1.33", strict=True)
    known[0]["spec"]["replicas"] = "two"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(known[0], "1.33", strict=True)


def commands() -> list[list[str]]:
    """How each file starts the server."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    pod = documents()[0]["spec"]["template"]["spec"]["containers"][0]
    container = (DEPLOY / "Containerfile").read_text("utf-8").splitlines()[-1]
    return [
        compose["services"]["server"]["command"],
        pod["args"],
        yaml.safe_load(container.removeprefix("CMD ")),
    ]


@pytest.mark.parametrize("words", commands(), ids=["compose", "kubernetes", "container"])
def test_the_server_is_started_with_options_that_it_has(words: list[str]) -> None:
    context = root.make_context("wellkept", list(words), resilient_parsing=True)
    name, command, rest = root.resolve_command(context, list(words))
    assert (name, command is not None) == ("serve", True)
    assert command is not None
    parsed = command.make_context("serve", rest, parent=context)
    assert parsed.params["host"] == "0.0.0.0"
    assert parsed.params["log_format"] == "json"


def test_probes_ask_for_paths_that_are_open_by_a_name_that_is_known() -> None:
    from wellkept.api.http.app import OPEN_PATHS
    from wellkept.api.server.auth import LOOPBACK_HOSTS

    pod = documents()[0]["spec"]["template"]["spec"]["containers"][0]
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = pod[kind]["httpGet"]
        assert asked["path"] in OPEN_PATHS
        assert asked["httpHeaders"][0]["value"] in LOOPBACK_HOSTS
