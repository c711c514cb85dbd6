"""Statements that take the place of older ones, and those that only look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember
from wellkept.text.contradictions.cues import former_words
from wellkept.text.contradictions.statement import parse
from wellkept.text.contradictions.supersedes import supersedes

pytestmark = pytest.mark.feature("A4")
HERE = "name:here"

CHANGES = [
    ("Node 18 is required to build it.", "Node 22 is required to build it."),
    ("Note that Rust 1.64.0 or later is required.", "Note that Rust 1.70 or later is required."),
    ("go version should print go1.6 or higher.", "go version should print go1.8 or higher."),
    ("Two labels lower the reviews from 3 to 1.", "Two labels lower the reviews from 3 to 2."),
    ("We bill monthly.", "Billing is yearly only."),
    ("Max 5 devices per account.", "An account can have 12 devices."),
    ("Audit trails are kept for 14 days.", "We keep audit trails 60 days because of a client."),
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
    ("Crash reports go to Bugsnag.", "Crash reports go to Sentry since the October release."),
    ("Translations: locale/*.po", "Translations moved: src/i18n/*.json"),
    ("The cluster is shut down at night.", "The cluster isn't shut down at night any longer."),
    ("Reviewers must check the header.", "Reviewers needn't check the header any more."),
    ("The channel for incidents is #ops.", "The channel for incidents has a new name: #sev."),
    ("Topic orders has 6 partitions.", "Topic orders has been repartitioned to 24 partitions."),
    ("Pool size = 20", "Pool size = 50"),
    ("We are on Django 4.2.", "We've upgraded to Django 5.1."),
    ("Kubernetes 1.26 in all clusters.", "All clusters are on Kubernetes 1.30 now."),
    ("Releases are squash-merged.", "We are back to merge commits for releases."),
    ("The module for mail is mail_core.", "mail_core -> mailer"),
    ("Marta owns the search service.", "Kenji took over the search service."),
    ("Opt-in is on by default.", "Opt-in is off by default."),
    ("Write services in Kotlin.", "Services are to be written in Go from now on."),
    ("Never use async in the core.", "Async is allowed in the core now."),
    ("Jobs run against LocalStack.", "Jobs run against AWS now, LocalStack was too flaky."),
    ("The colour is #0055ff.", "The colour is #1144cc."),
    ("Logs are kept for a week.", "Logs are kept for a month."),
    ("The store is Pinecone.", "pgvector has taken the place of Pinecone as our store."),
    ("Der Hauptzweig heißt master.", "Der Hauptzweig heißt jetzt main."),
    ("Das Timeout beträgt 5 Sekunden.", "Das Timeout beträgt 15 Sekunden."),
    ("Der FTP-Export ist aktiv.", "Den FTP-Export gibt es nicht mehr."),
    ("Le gestionnaire est npm.", "pnpm remplace npm comme gestionnaire."),
    ("Los informes se guardan en /var/a.", "Los informes se movieron a /srv/a."),
    ("我们用 Jenkins 做持续集成。", "持续集成从 Jenkins 迁移到 GitHub Actions。"),
    ("テストには Jest を使っています。", "テストは Jest から Vitest に移行しました。"),
]
LOOK_ALIKE = [
    ("GET /users is paginated.", "GET /events is not paginated."),
    ("Step 2 is required.", "Step 3 is required."),
    ("Editors can read drafts.", "Editors can't delete drafts."),
    ("Import jobs run at 02:00.", "Export jobs run at 04:00."),
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
    ("All endpoints need a token.", "The endpoint /health needs no token."),
    ("Every table has a key.", "The table countries has no key."),
    ("Retry GET requests.", "Do not retry POST requests."),
    ("The mobile app caches images.", "The mobile app no longer caches videos."),
    ("Review is optional for docs changes.", "Review is mandatory for schema changes."),
    ("Tests run with Vitest.", "Tests run on GitLab CI now."),
    ("Python 3.12 is supported.", "Python 3.13 is supported now."),
    ("Hassan leads the data team.", "Ilse took over the mobile team."),
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


NEWS_IN_OTHER_WORDS = [
    ("Pods get 256Mi of memory.", "We doubled the memory of the pods: 512Mi."),
    ("We support dark mode only on iOS.", "Dark mode is supported on all platforms now."),
    ("The SDK has bindings for Python.", "We've added bindings for Ruby to the SDK."),
]


@pytest.mark.parametrize(("old", "new"), NEWS_IN_OTHER_WORDS)
def test_news_is_not_merged_into_what_it_may_change(engine: Engine, old: str, new: str) -> None:
    """Merged text is only evidence: the older statement would go on saying what no longer holds."""
    for text in (old, new):
        remember(engine, told(text), project=HERE)
    assert new in open_texts(engine)
