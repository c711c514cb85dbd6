"""Rules that take the place of others, and rules that stay side by side."""

from __future__ import annotations

import pytest

from wellkept.core.clock import whole_ms
from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember
from wellkept.text.contradictions.supersedes import supersedes

pytestmark = pytest.mark.feature("A4")
HERE = "name:here"

OPPOSED = [
    ("Always use npm", "Always use pnpm"),
    ("Always print the query plan", "Never print the query plan"),
    ("Use tabs for indentation", "We use spaces"),
    ("Use npm to install packages", "We moved to pnpm"),
    ("Always use npm", "We switched to pnpm last month, npm is no longer used"),
    ("links go to the API host", "links go to the docs host, not the API host"),
    ("the staging database is on port 5432", "the staging database is on port 5433"),
    ("We use Jest for tests", "We moved to Vitest, Jest is gone"),
    ("commit messages are in English", "commit messages are in German"),
    ("Tests go in tests/", "tests go in spec/, not in tests/"),
    ("We use Redux", "we don't use Redux here"),
    ("Prefer double quotes", "Use single quotes"),
    ("the linter is flake8", "the linter is ruff, we got rid of flake8"),
    ("immer npm verwenden", "wir verwenden hier kein npm"),
    ("on utilise npm", "on n'utilise pas npm ici"),
    ("usamos npm", "aquí no usamos npm"),
    ("我们用 npm", "我们这里不用 npm"),
    ("npm を使います", "ここでは npm は使いません"),
]
APART = [
    ("Use npm for the web app", "Use pnpm for the api"),
    ("Always use tabs in Go files", "Always use spaces in Python files"),
    ("We never squash here", "We never commit to main"),
    ("tests go in tests/", "fixtures go in spec/data, not in tests/"),
    ("Use pnpm", "Use TypeScript"),
    ("we don't use lodash here", "we don't use moment here"),
    ("The API listens on 8080", "The worker listens on 7070"),
    ("Answer in German", "Write commit messages in English"),
    ("Use Jest for unit tests", "Use Playwright for e2e tests"),
    ("Use Docker for the database", "there is no docker on the CI runner"),
    ("deploy from main", "branch off main and not the current branch"),
    ("secrets live in vault", "secrets must never be committed"),
    ("Use UTC in the API", "Use local time in the UI"),
]


def taught(content: str) -> MemoryDraft:
    return MemoryDraft(content=content, type=MemoryType.CONVENTION, source=Source.USER_TAUGHT)


def left(engine: Engine) -> list[str]:
    return sorted(m.content for m in engine.store.iterate(Filter(project=HERE)))


@pytest.mark.parametrize(("old", "new"), OPPOSED)
def test_a_contradicting_rule_closes_the_older_with_and_without_an_embedder(
    engine: Engine, wordless: Engine, old: str, new: str
) -> None:
    for one in (engine, wordless):
        remember(one, taught(old), project=HERE)
        done = remember(one, taught(new), project=HERE)
        assert done.outcome is RememberOutcome.SUPERSEDED
        assert done.previous is not None
        assert done.previous.content == old
        assert left(one) == [new]


@pytest.mark.parametrize(("old", "new"), APART)
def test_rules_about_different_subjects_stay(wordless: Engine, old: str, new: str) -> None:
    assert not supersedes(old, new)
    remember(wordless, taught(old), project=HERE)
    assert remember(wordless, taught(new), project=HERE).outcome is RememberOutcome.INSERTED
    assert left(wordless) == sorted([old, new])


def test_every_rule_that_is_contradicted_is_closed(wordless: Engine) -> None:
    for old in ("Always use npm", "Use npm to install packages", "Never force push"):
        remember(wordless, taught(old), project=HERE)
    remember(wordless, taught("We moved to pnpm, npm is gone"), project=HERE)
    assert left(wordless) == ["Never force push", "We moved to pnpm, npm is gone"]


def test_an_older_rule_that_arrives_later_does_not_close_the_newer(wordless: Engine) -> None:
    now = whole_ms(wordless.clock())
    remember(wordless, taught("Always use pnpm"), project=HERE)
    old = MemoryDraft(
        content="Always use npm",
        type=MemoryType.CONVENTION,
        source=Source.USER_TAUGHT,
        valid_from=now.replace(year=now.year - 1),
    )
    done = remember(wordless, old, project=HERE)
    assert left(wordless) == ["Always use pnpm"]
    assert done.memory.valid_to is not None
