"""Every verb runs its examples on the four surfaces, and all answer the same."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner

import wellkept
from tests.server.http_serving import served
from tests.server.mcp_client import talking
from wellkept.api.cli import door
from wellkept.api.cli.root import run
from wellkept.api.mcp.handlers import Handlers, ServerLocation, ServerOptions
from wellkept.api.mcp.toolsets import parse_toolsets
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.verbs.as_json import plain
from wellkept.api.verbs.check import exact, read
from wellkept.api.verbs.command import command_of
from wellkept.api.verbs.generate import all_verbs
from wellkept.api.verbs.params import all_params, params_of
from wellkept.core.changes import PutSession
from wellkept.core.errors import UsageError
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.verbs import Effect, Verb

pytestmark = pytest.mark.feature("A3", "C5", "H6")
VERBS = [verb for _, verb in all_verbs()]
EXAMPLES = [(verb, example) for verb in VERBS for example in verb.examples]


@pytest.mark.parametrize("verb", VERBS, ids=lambda one: one.words)
def test_a_verb_has_examples_help_and_a_preview_where_it_removes(verb: Verb) -> None:
    assert verb.examples
    assert verb.summary.endswith(".")
    assert all(one.arg.help for one in all_params(verb))
    names = [one.name for one in params_of(verb.function)]
    assert len(names) == len(set(names))
    assert not {"project", "as_json", "quiet", "yes"} & {one.name for one in all_params(verb)}
    assert verb.effect is not Effect.REMOVES or "dry_run" in names
    assert command_of(verb.words).help


def test_a_verb_is_declared_in_few_lines() -> None:
    lines = [len(inspect.getsource(one.function).splitlines()) for one in VERBS]
    assert max(lines) <= 118
    assert sum(lines) / len(lines) <= 38


# -- Four surfaces --------------------------------------------------------------------------------

_VARIES = re.compile(
    r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?"  # moments
    r"|[0-9a-f]{8}-[0-9a-f-]{27}|(?<=m:)[0-9a-z]{8}|^[0-9a-z]{8}$"  # ids
)
_MEASURED = ("_bytes", "_ms", "seconds")


class Place:
    """A folder with a little of everything, and a home; as it was for each surface."""

    def __init__(self, root: Path) -> None:
        self.work, self.home, self._ready = root / "work", root / "home", root / "ready"
        self.environment = {
            "WELLKEPT_HOME": str(self.home),
            "WELLKEPT_EMBEDDING_PROVIDER": "none",
            "HOME": str(root / "person"),
        }
        self.work.mkdir()
        (self.work / "pool.py").write_text("def run_migrations():\n    pass\n")
        (self.work / "other.py").write_text("x = 1\n")
        with self.opened(self.work, "other") as wk:
            wk.remember("What the other project knows")
        with self.opened(self.work) as wk:
            wk.graph.build(workers=1)
            kept = wk.remember("How migrations are run: numbered, by hand", type="decision")
            self.id = kept.memory.id
            at = wk.engine.clock()
            session = SessionRecord(
                id="s-1", client="cli", project=wk.project, started_at=at, last_event_at=at
            )
            wk.engine.store.apply([PutSession(session)])
            wk.skill.new("tidy", description="Tidies up.")
            wk.graph.note("decision", "one-writer")
            wk.admin.backup(str(self.work / "kept.db"))
        for one in (self.work, self.home):
            shutil.copytree(one, self._ready / one.name)

    def opened(self, folder: Path, project: str | None = None) -> wellkept.Wellkept:
        return wellkept.open(cwd=folder, project=project, environment=self.environment)

    def again(self) -> OpenProjects:
        """As it was at first. The folder stays: a project knows it by more than its name."""
        for one in (self.work, self.home):
            for inner in one.iterdir():
                shutil.rmtree(inner) if inner.is_dir() else inner.unlink()
            shutil.copytree(self._ready / one.name, one, dirs_exist_ok=True)
        return OpenProjects(self.opened, folder=self.work)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("verbs"))


@pytest.fixture
def place(made: Place, home: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.work)
    return made


def _masked(answer: object, name: str = "") -> object:
    """An answer without what differs each time."""
    match answer:
        case dict():
            inner = cast("dict[str, object]", answer)
            return {key: _masked(value, key) for key, value in inner.items()}
        case list():
            return [_masked(one) for one in cast("list[object]", answer)]
        case str():
            return _VARIES.sub("*", answer)
        case float() | int():
            return 0 if name.endswith(_MEASURED) else round(answer, 4)
        case _:
            return answer


def _typed(verb: Verb, given: dict[str, Any]) -> list[str]:
    """An example as a person would type it."""
    options, words = ["--json"], list[str]()
    for one in command_of(verb.words).params:
        values = given.get(one.name or "", [])
        for value in cast("list[object]", values if isinstance(values, list) else [values]):
            if isinstance(one, click.Argument):
                words.append(str(value))
            else:
                is_flag = isinstance(one, click.Option) and one.is_flag
                options += [one.opts[0]] if is_flag else [one.opts[0], str(value)]
    if place := door.MOVED.get(verb.words):
        return [*place.removesuffix(" ID").split(), *words, *options]
    return [*verb.words.split(), *options, *words]


@pytest.mark.parametrize(("verb", "example"), EXAMPLES, ids=lambda one: getattr(one, "words", ""))
def test_an_example_is_answered_alike_by_library_command_http_and_mcp(
    verb: Verb, example: dict[str, Any], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    given = json.loads(
        json.dumps(dict(example)).replace("{id}", place.id).replace("{session}", "s-1")
    )
    place.again()
    with place.opened(place.work) as wk:
        library: Any = plain(verb.function(wk, **{**given, **verb.at_terminal}))
    place.again()
    capsys.readouterr()
    assert run(_typed(verb, given)) in (0, 1)
    assert _masked(json.loads(capsys.readouterr().out)) == _masked(library)
    with served(place.again()) as web:
        words = verb.words.replace(" ", "/")
        posted = web.post(words, **given)
        assert verb.effect is not Effect.READS or _masked(web.get(words, **given)) == _masked(
            posted
        )
    # Who changes something over HTTP or MCP is not the person at the terminal, and the answer says so.
    same = _masked if verb.effect is Effect.READS else sorted
    assert same(posted) == same(library)
    if verb.toolset:
        options = ServerOptions(toolsets=parse_toolsets("all"), structured=True)
        handlers = Handlers(place.again(), ServerLocation(folder=place.work), options)
        with talking(handlers) as talk:
            told = talk.result(verb.tool, **given).structured_content
        assert same(told) == same(library)


def test_the_checker_names_every_problem_at_once() -> None:
    (recall,) = (verb for verb in VERBS if verb.words == "recall")
    with pytest.raises(UsageError) as refused:
        read(recall, {"query": "x", "limit": 0, "mode": "fast", "limt": 3})
    said = refused.value.message
    assert "limit: expected 1 or more" in said
    assert "mode: 'fast' is none of hybrid, words, vectors" in said
    assert "limt is unknown (did you mean limit?)" in said
    with pytest.raises(UsageError, match="limit: expected a whole number, not str"):
        exact(recall, ("x",), {"limit": "3"})
    assert read(recall, {"q": "x", "limit": "3", "filePath": "a.py"})[0] == {
        "query": "x",
        "limit": 3,
        "files": ("a.py",),
    }


def test_every_option_is_shown_by_help_all() -> None:
    shown = CliRunner().invoke(command_of("recall"), ["--help-all"]).output
    assert "--as-of" in shown
    assert "--as-of" not in CliRunner().invoke(command_of("recall"), ["--help"]).output
