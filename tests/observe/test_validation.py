"""What proves work when nothing came after the last edit (D3)."""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import Work, pad_of, take
from wellkept.core.session.scratchpad import ScratchpadStatus
from wellkept.memory.engine import Engine
from wellkept.observe.learning.promote import PromotionRules, promote

pytestmark = pytest.mark.feature("D3")


def test_a_few_closing_edits_do_not_undo_what_was_proved_before(engine: Engine) -> None:
    w = Work()
    edits = [w.change(f"src/{n}.py") for n in range(8)]
    take(engine, [w.prompt("Go"), *edits, w.tests_pass(), w.change("CHANGELOG.md"), w.end()])
    report = promote(engine, w.session_id, rules=PromotionRules())
    assert report is not None
    assert report.validation.by.endswith(", before the last 1 of 9 edits")


@pytest.mark.parametrize(("before", "after", "fails"), [(4, 3, False), (8, 1, True), (0, 2, False)])
def test_more_than_a_few_edits_or_a_failure_before_them_leave_it_open(
    engine: Engine, before: int, after: int, fails: bool
) -> None:
    w = Work()
    first = [w.change(f"src/{n}.py") for n in range(before)]
    proof = w.tests_fail() if fails else w.tests_pass()
    later = [w.change(f"doc/{n}.md") for n in range(after)]
    take(engine, [w.prompt("Go"), *first, proof, *later, w.end()])
    assert promote(engine, w.session_id, rules=PromotionRules()) is None
    assert pad_of(engine, w.session_id).state is ScratchpadStatus.WAITING
