"""Every verb runs its examples on the four surfaces, and all answer the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.server.http_serving import served_in
from tests.server.mcp_client import memories_in, talking_in
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


def _filled(example: dict[str, Any], name: str) -> dict[str, Any]:
    return json.loads(json.dumps(example).replace("{id}", name).replace("{session}", "s-1"))


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


@pytest.mark.parametrize(("verb", "example"), EXAMPLES, ids=lambda one: getattr(one, "words", ""))
def test_an_example_is_answered_alike_by_library_http_and_mcp(
    verb: Verb, example: dict[str, Any], tmp_path: Path
) -> None:
    if verb.effect is not Effect.READS:
        pytest.skip("changes what the next surface would see")
    (tmp_path / "pool.py").write_text("def run_migrations():\n    pass\n")
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.graph.build(workers=1)
        name = wk.remember("How migrations are run: numbered, by hand", type="decision").memory.id
        at = wk.engine.clock()
        session = SessionRecord(
            id="s-1", client="cli", project=wk.project, started_at=at, last_event_at=at
        )
        wk.engine.store.apply([PutSession(session)])
        given = _filled(example, name)
        library = plain(verb.function(wk, **given))
    memories.close()
    with served_in(tmp_path) as web:
        posted = web.post(verb.words.replace(" ", "/"), **given)
        assert web.get(verb.words.replace(" ", "/"), **given) == posted
    with talking_in(tmp_path) as talk:
        assert posted == library
        assert not verb.toolset or talk.call(verb.tool, **given) == library


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
