"""The next session before it happens: the exact pack, what was left out, and silence explained."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from wellkept.context.moment import context_for
from wellkept.context.preview import judged
from wellkept.core.errors import UsageError
from wellkept.core.session.hook_context import HookContextRequest
from wellkept.core.settings.model import Settings

pytestmark = pytest.mark.feature("H9")


@pytest.fixture
def wk(tmp_path: Path) -> wellkept.Wellkept:
    (tmp_path / "shop").mkdir()
    opened = wellkept.open(cwd=tmp_path / "shop", settings=Settings(embedding_provider="none"))
    opened.remember("Always round half up, never to even.", type="rule", source="user_taught")
    opened.remember(
        "A cancelled stay is credited twice when the button is pressed twice.", type="trap"
    )
    return opened


def test_the_preview_is_the_text_that_a_hook_gives_and_counts_as_no_use(wk: wellkept.Wellkept):
    request = HookContextRequest(client="claude-code", session="s", moment="session")
    given = context_for(wk, request, frozenset(), quiet=False)
    seen = wk.preview(client="claude-code")
    assert seen.exact == given.text
    assert seen.lines == len(given.ids) == sum(len(one.lines) for one in seen.sections)
    assert all(line.exact in given.text for one in seen.sections for line in one.lines)
    assert wk.list().items[0].access_count == 0
    assert wk.injected.totals().lines == 0


def test_a_line_says_where_it_comes_from(wk: wellkept.Wellkept):
    (line,) = [one for section in wk.preview().sections for one in section.lines]
    assert (line.source.kind, line.kind) == ("person", "quote")


def test_what_does_not_fit_is_left_out_with_the_budget_that_it_needs(wk: wellkept.Wellkept):
    wk.remember(
        "Migrations are numbered and never edited after they were merged.",
        type="rule",
        source="user_taught",
    )
    whole = wk.preview().used_tokens
    less = wk.preview(budget_tokens=whole - 1)
    (left,) = less.left_out
    assert (left.why, left.fits_at is not None) == ("no room", True)
    assert wk.preview(budget_tokens=left.fits_at).lines == 2


def test_silence_names_the_nearest_memory_its_probability_and_the_words_they_share(
    wk: wellkept.Wellkept,
):
    seen = wk.preview("The logo is on the invoice twice, remove one of them.", moment="prompt")
    assert seen.lines == 0
    nearest = seen.nearest[0]
    assert nearest.probability < seen.threshold
    assert "credited twice" in nearest.text
    assert "logo" in nearest.missing


def test_a_notice_of_the_client_is_silence_whatever_is_known(wk: wellkept.Wellkept):
    seen = wk.preview("<system-reminder>round half up</system-reminder>", moment="prompt")
    assert (seen.lines, bool(seen.silence)) == (0, True)


def test_a_muted_line_is_left_out_until_it_is_told_again(wk: wellkept.Wellkept):
    rule = wk.list(types=["convention"]).items[0]
    wk.mute(rule.short)
    seen = wk.preview()
    assert (seen.lines, [one.why for one in seen.left_out]) == (0, ["silent"])
    wk.mute(rule.short, muted=False)
    assert wk.preview().lines == 1


def test_what_a_person_says_about_silence_is_kept_as_an_example(wk: wellkept.Wellkept):
    trap = wk.list(types=["gotcha"]).items[0]
    wk.judge_silence("Credit it again", probability=0.31)
    wk.judge_silence("Credit it again", should_give=trap.short, probability=0.31)
    (kept,) = judged(wk.engine.store, wk.project)
    assert (kept.should_give, kept.probability) == (trap.id, 0.31)
    assert wk.preview("Credit it again", moment="prompt").lines == 0
    with pytest.raises(UsageError):
        wk.judge_silence("  ")
