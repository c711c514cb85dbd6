"""Statements that take the place of older ones, and those that only look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source
from wellkept.memory.changes.cues import former_words
from wellkept.memory.changes.statement import parse
from wellkept.memory.changes.supersedes import supersedes
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember

pytestmark = pytest.mark.feature("A4")
HERE = "name:here"

CHANGES = [
    ("On-call alerts go through PagerDuty.", "On-call moved from PagerDuty to Grafana OnCall."),
    ("Error tracking is done with Rollbar.", "Error tracking has been moved over to Sentry."),
    ("We support Internet Explorer 11.", "We dropped support for Internet Explorer 11."),
    ("The user table is named accounts.", "We renamed the accounts table to users."),
    ("The deploy script is scripts/ship.sh.", "scripts/ship.sh is now scripts/release.sh."),
    ("Marco is the release manager.", "The release manager is now Ingrid."),
    ("Dana owns the billing service.", "The billing service is now owned by Priya."),
    ("Sessions expire after 24 hours.", "Sessions now expire after one week."),
    ("The upload limit is 5 MB.", "The upload limit was raised to 25 MB."),
    ("The backend needs Python 3.11.", "The backend needs Python 3.13."),
    ("Deploys happen on Fridays.", "Deploys happen on Tuesdays."),
    ("Validate input with Joi.", "For validating input we use Zod instead."),
    ("The legacy endpoint is open to partners.", "The legacy endpoint has been shut down."),
    ("Integration tests need Docker.", "Integration tests do not need Docker; they use SQLite."),
    ("The minimum version is macOS 12.", "We fixed a bug; the minimum version is now macOS 13."),
    ("Les tests tournent sur Jenkins.", "Les tests tournent maintenant sur GitLab CI."),
    ("Das Ticketsystem ist Jira.", "Wir sind beim Ticketsystem von Jira auf Linear umgestiegen."),
    ("El paquete se llama nucleo.", "El paquete nucleo se renombró a base."),
    ("我们用 Jenkins 做持续集成。", "持续集成从 Jenkins 迁移到 GitHub Actions。"),
    ("テストには Jest を使っています。", "テストは Jest から Vitest に移行しました。"),
]
LOOK_ALIKE = [
    ("Build number 1 needs the flag zeta1.", "Build number 2 needs the flag zeta2."),
    ("Release 2.3 shipped in March.", "Release 2.4 shipped in May."),
    ("The auth service listens on port 8001.", "The billing service listens on port 8002."),
    ("Metrics are collected with Datadog.", "Logging moved from Datadog to Loki."),
    ("The staging cluster runs 1.27.", "The production cluster was upgraded from 1.27 to 1.29."),
    ("The API accepts JSON.", "The API additionally accepts MessagePack."),
    ("Baselight supports macOS 14.", "Baselight now supports macOS 15."),
    ("The importer reads CSV files.", "The importer now logs every skipped row."),
    ("The minimum password length is 12.", "The maximum password length is 128."),
    ("The build is slow.", "The build is flaky."),
    ("Alice prefers short messages.", "Bob prefers long messages."),
    ("Smart Connections is kept for notes.", "Smart Connections is no longer used for retrieval."),
    ("The ready event fires once.", "The ready event has been renamed to clientReady."),
    ("Logs are JSON; never log bodies.", "We log JSON and do not log bodies."),
    ("测试环境使用 MySQL。", "生产环境使用 PostgreSQL。"),
    ("ステージングの DB は stage です。", "本番の DB は prod です。"),
]


def told(content: str) -> MemoryDraft:
    return MemoryDraft(content=content, type=MemoryType.FACT, source=Source.USER_TAUGHT)


def open_texts(engine: Engine) -> list[str]:
    return sorted(m.content for m in engine.store.iterate(Filter(project=HERE)))


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_change_closes_what_it_changes_with_and_without_vectors(
    engine: Engine, wordless: Engine, old: str, new: str
) -> None:
    for one in (engine, wordless):
        remember(one, told(old), project=HERE)
        assert remember(one, told(new), project=HERE).outcome is RememberOutcome.SUPERSEDED
        assert open_texts(one) == [new]


@pytest.mark.parametrize(("old", "new"), LOOK_ALIKE)
def test_what_only_looks_alike_stays_open(
    engine: Engine, wordless: Engine, old: str, new: str
) -> None:
    for one in (engine, wordless):
        remember(one, told(old), project=HERE)
        done = remember(one, told(new), project=HERE)
        assert done.outcome is not RememberOutcome.SUPERSEDED


def test_a_change_finds_the_old_statement_by_what_it_names_as_former(wordless: Engine) -> None:
    for number in range(40):
        remember(wordless, told(f"Room {number} of the office has a screen."), project=HERE)
    remember(wordless, told("The queue of the office is RabbitMQ."), project=HERE)
    new = "We replaced RabbitMQ with NATS as the queue of the office."
    assert former_words(new) == ["rabbitmq"]
    assert remember(wordless, told(new), project=HERE).outcome is RememberOutcome.SUPERSEDED


def test_a_statement_is_parted_at_its_verb() -> None:
    said = parse("Integration tests need Docker running.")
    assert (said.subject, said.verb) == (("integration", "test"), "need")
    assert parse("The timeout is 30 seconds.").measure == "time"
    assert parse("Worker 3 handles images.").subject_numbers == ("3",)
    assert parse("Rate limit: 250 requests per minute.").subject == ("rat", "limit")


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_compared(old: str, new: str) -> None:
    assert supersedes(old, old) is False
    assert supersedes(old, new) in (True, False)
