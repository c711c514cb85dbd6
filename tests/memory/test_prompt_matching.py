"""A memory is told at a prompt only when it is about what the prompt says."""

from __future__ import annotations

import pytest

from tests.memory.test_context import HERE, teach
from wellkept.context.build import ContextRequest, Moment, build_context
from wellkept.context.matching import Prompt
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine

pytestmark = pytest.mark.feature("B9")


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("why does the payment webhook give up", "The payment webhook retries five times"),
        ("rename parse_ledger please", "parse_ledger keeps its own cache of rows and totals"),
        ("how do I run make build here", "`make build` fails until `make clean` is run"),
        ("look at src/pay.py again", "Amounts are in cents there, see src/pay.py for the rest"),
        ("почему падает сборка мобильного приложения", "Сборка мобильного приложения падает"),
        ("结账页面的税率", "结账页面的税率来自配置"),
    ],
)
def test_something_specific_in_common(engine: Engine, prompt: str, memory: str) -> None:
    known = engine.store.get([teach(engine, memory)])[0]
    assert Prompt.of(prompt).is_about(known)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("couple of comments to be addressed I think", "Can a user link several wallets? Yes"),
        ("yeah lets do some cleaning of the code", "The code of the importer streams rows"),
        ("fix the test and run the build please", "Fix: the build needs a new test user to run"),
        ("add a page for users", "Users with 2.0 plans see the old billing page until renewal"),
    ],
)
def test_words_of_everyday_work_are_not_enough(engine: Engine, prompt: str, memory: str) -> None:
    known = engine.store.get([teach(engine, memory)])[0]
    assert not Prompt.of(prompt).is_about(known)


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("how do we deploy?", True),
        ("deploy: should we do it now?", True),
        ("deploy it", False),
        ("we deploy now", False),
        ("how does one deploy?", False),
        ("how do we paint a house", False),
    ],
)
def test_a_question_about_us_is_answered_with_the_best_hit(
    engine: Engine, prompt: str, told: bool
) -> None:
    rule = "Deploy with `make ship`; it waits for the smoke tests of the canary and a green light"
    teach(engine, rule, type=MemoryType.CONVENTION)
    teach(engine, "Money is stored in integer cents, never as a float")
    request = ContextRequest(project=HERE, moment=Moment.PROMPT, query=prompt)
    told_now = [item.memory.content for item in build_context(engine, request).items]
    assert told_now == ([rule] if told else [])


def test_a_long_prompt_must_cover_half_of_a_memory(engine: Engine) -> None:
    letters = "abcdefghijklmnopqrst"
    plan = "Implement the plan: " + " ".join(f"word{a}{b}" for a in letters for b in "wxyz")
    known = engine.store.get(
        [teach(engine, "The gateway keeps invoices, refunds, archives, ledgers, wordax")]
    )[0]
    assert not Prompt.of(f"{plan} gateway").is_about(known)
    assert Prompt.of(f"{plan} gateway invoices refunds ledgers").is_about(known)


def test_habits_and_records_of_the_browser_are_not_told_at_a_prompt(engine: Engine) -> None:
    teach(engine, "`pay.py` and `tax.py` go together", type=MemoryType.CAUSAL_DEPENDENCY)
    teach(engine, "The pay.py page needs a second", type=MemoryType.E2E_OBSERVATION)
    rule = teach(engine, "Keep pay.py free of imports", type=MemoryType.CONVENTION)
    request = ContextRequest(
        project=HERE, moment=Moment.PROMPT, query="what goes into pay.py and tax.py now"
    )
    assert [item.memory.id for item in build_context(engine, request).items] == [rule]


def test_a_failure_brings_warnings_only(engine: Engine) -> None:
    teach(engine, "The payment gateway times out after three retries", type=MemoryType.DECISION)
    trap = teach(engine, "The payment gateway refuses a fourth retry", type=MemoryType.GOTCHA)
    request = ContextRequest(
        project=HERE, moment=Moment.FAILURE, query="make pay\npayment gateway refuses retry"
    )
    assert [item.memory.id for item in build_context(engine, request).items] == [trap]


def test_a_quiet_request_gathers_nothing(engine: Engine) -> None:
    teach(engine, "Always use pnpm", type=MemoryType.PREFERENCE)
    for moment in (Moment.PROMPT, Moment.SESSION):
        request = ContextRequest(project=HERE, moment=moment, query="pnpm", quiet=True)
        assert build_context(engine, request).used_tokens == 0
