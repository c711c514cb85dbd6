"""A memory is told at a prompt only when it is about what the prompt says."""

from __future__ import annotations

import pytest

from tests.memory.test_context import HERE, teach
from wellkept.context.build import build_context
from wellkept.context.moments import ContextRequest, Moment
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine

pytestmark = pytest.mark.feature("B9")


def _told(engine: Engine, prompt: str) -> list[str]:
    request = ContextRequest(project=HERE, moment=Moment.PROMPT, query=prompt)
    return [item.memory.content for item in build_context(engine, request).items]


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("why does the payment webhook give up", "The payment webhook retries five times"),
        ("rename parse_ledger please", "parse_ledger keeps its own cache of rows and totals"),
        ("how do I run make build here", "`make build` fails until `make clean` is run"),
        ("look at src/pay.py again", "Amounts are in cents there, see src/pay.py for the rest"),
        ("simplify internal/tariff/round.go", "Ask Femke before any change in `internal/tariff`"),
        ("почему падает сборка мобильного приложения", "Сборка мобильного приложения падает"),
        ("结账页面的税率", "结账页面的税率来自配置"),
    ],
)
def test_something_specific_in_common(engine: Engine, prompt: str, memory: str) -> None:
    teach(engine, memory)
    assert _told(engine, prompt) == [memory]


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("couple of comments to be addressed I think", "Can a user link several wallets? Yes"),
        ("yeah lets do some cleaning of the code", "The code of the importer streams rows"),
        ("fix the test and run the build please", "The importer build needs one more test user"),
        ("add a page for users", "Users with 2.0 plans see the old billing page until renewal"),
        ("is this thread safe?", "The tokenizer is thread safe; the parser is not"),
        ("revert that", "Failed edits (`git checkout`, `stash`, `revert`) are left out"),
    ],
)
def test_words_of_everyday_work_are_not_enough(engine: Engine, prompt: str, memory: str) -> None:
    teach(engine, memory)
    assert _told(engine, prompt) == []


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("how do we deploy past the canary?", True),
        ("how do we paint a house", False),
        ("commit it now please", False),
    ],
)
def test_a_question_about_us_is_answered_with_the_best_hit(
    engine: Engine, prompt: str, told: bool
) -> None:
    rule = "Deploy with `make ship`; it waits for the canary"
    teach(engine, rule, type=MemoryType.CONVENTION)
    teach(engine, "Money is stored in integer cents, never as a float")
    assert _told(engine, prompt) == ([rule] if told else [])


def test_a_long_prompt_that_shares_one_word_is_not_about_a_memory(engine: Engine) -> None:
    letters = "abcdefghijklmnopqrst"
    plan = "Implement the plan: " + " ".join(f"word{a}{b}" for a in letters for b in "wxyz")
    known = "The gateway keeps invoices, refunds, archives, ledgers, wordax"
    teach(engine, known)
    assert _told(engine, f"{plan} gateway") == []
    assert _told(engine, f"{plan} gateway invoices refunds ledgers") == [known]


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
