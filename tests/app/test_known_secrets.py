"""What .env files and credential stores hold is recognised, and nothing of it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept.core.settings.model import Settings
from wellkept.text.secrets.known_values import use_known

pytestmark = pytest.mark.feature("A10")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    use_known(None)


class Machine:
    """A home with credential stores, and a project with .env files."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.data = folder / "data"
        (self.work / ".git").mkdir(parents=True)
        self.home.mkdir()

    def open(self, settings: Settings | None = None) -> wellkept.Wellkept:
        return wellkept.open(
            self.data / "memory.db",
            project="demo",
            cwd=self.work / "src" if (self.work / "src").exists() else self.work,
            embedder="none",
            settings=settings or Settings(),
            environment={"HOME": str(self.home)},
        )

    def told(self, text: str, settings: Settings | None = None) -> str:
        with self.open(settings) as wk:
            return wk.remember(text).memory.content

    def on_disk(self) -> bytes:
        return b"".join(p.read_bytes() for p in self.data.rglob("*") if p.is_file())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("work/.env", "DB_PASSWORD=river-4711\n"),
        ("work/.env.local", "export DB_PASSWORD='river-4711'\n"),
        ("work/api/.env", "SECRET_KEY=river-4711\n"),
        ("work/prod.tfvars", 'db_password = "river-4711"\n'),
        ("work/.env", "DATABASE_URL=postgres://app:river-4711@db/x\n"),
        ("home/.netrc", "machine a.local login ci password river-4711\n"),
        ("home/.npmrc", "//npm.local/:_password=river-4711\n"),
        ("home/.aws/credentials", "[default]\naws_secret_access_key = river-4711\n"),
        ("home/.pypirc", "[pypi]\nusername = a\npassword = river-4711\n"),
        ("home/.pgpass", "db:5432:shop:app:river-4711\n"),
        ("home/.git-credentials", "https://ci:river-4711@git.local\n"),
        ("home/.my.cnf", "[client]\npassword=river-4711\n"),
        ("home/.kube/config", "users:\n- user:\n    password: river-4711\n"),
        ("home/.docker/config.json", '{"auths": {"r": {"password": "river-4711"}}}'),
    ],
)
def test_a_value_of_a_credential_file_is_recognised_anywhere(
    machine: Machine, tmp_path: Path, name: str, text: str
) -> None:
    put(tmp_path / name, text)
    assert "river-4711" not in machine.told("The log says river-4711 was refused by the server")
    assert b"river-4711" not in machine.on_disk()


@pytest.mark.parametrize(
    "line",
    [
        "DB_PASSWORD=postgres", "PASSWORD=development", "SECRET=changeme", "DB_HOST=db.example.org",
        "API_SECRET=https://a.example.org/x", "PORT=5432", "ADMIN_PASSWORD=admin", "TOKEN=token",
        "PASSWORD=$OTHER", "SECRET_FILE=/run/secrets/a1b2c3d4",
    ],
)  # fmt: skip
def test_ordinary_words_and_addresses_are_never_taken_for_secrets(
    machine: Machine, line: str
) -> None:
    put(machine.work / ".env", f"{line}\n")
    word = line.partition("=")[2]
    text = f"We use {word} here and {word} there"
    assert machine.told(text) == text


def test_a_template_of_an_env_file_holds_no_secrets(machine: Machine) -> None:
    put(machine.work / ".env.example", "DB_PASSWORD=river-4711\n")
    assert "river-4711" in machine.told("Say river-4711 and go on")


def test_a_file_is_read_again_when_it_changed_and_old_values_stay_known(machine: Machine) -> None:
    put(machine.work / ".env", "DB_PASSWORD=river-4711\n")
    machine.told("Something to begin with")
    put(machine.work / ".env", "DB_PASSWORD=quartz-22071\n")
    shown = machine.told("First river-4711, then quartz-22071 was used")
    assert "river-4711" not in shown
    assert "quartz-22071" not in shown


def test_a_setting_turns_it_off(machine: Machine) -> None:
    put(machine.work / ".env", "DB_PASSWORD=river-4711\n")
    off = Settings(secrets_known_values="off")
    assert "river-4711" in machine.told("Say river-4711 and go on", off)
    assert not (machine.data / "memory.known").exists()


def test_what_is_kept_is_the_owners_alone(machine: Machine) -> None:
    put(machine.work / ".env", "DB_PASSWORD=river-4711\n")
    machine.told("Something to begin with")
    kept = sorted(path.name for path in machine.data.glob("memory.known*"))
    assert kept == ["memory.known", "memory.known-files"]
    assert all((machine.data / name).stat().st_mode & 0o077 == 0 for name in kept)


def test_files_that_are_huge_linked_in_a_loop_or_pipes_are_left_alone(machine: Machine) -> None:
    put(machine.work / ".env.big", "A_PASSWORD=river-4711\n" * 50_000)
    (machine.work / ".env.loop").symlink_to(machine.work / ".env.loop")
    os.mkfifo(machine.work / ".env.pipe")
    (machine.work / ".env.folder").mkdir()
    assert "river-4711" in machine.told("Say river-4711 and go on")
