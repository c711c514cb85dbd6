from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.text.similarity import TextRelation, compare

pytestmark = pytest.mark.feature("A4")


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Deploys go to staging first.", "deploys go to staging first", TextRelation.SAME),
        ("Always run tests", "Always run tests before pushing", TextRelation.REFINES),
        ("Always run tests before pushing", "Always run tests", TextRelation.COVERED),
        (
            "Deploy script retries three times",
            "Deploy scripts retry three times",
            TextRelation.PARAPHRASE,
        ),
        (
            "Postgres runs on port 5434 in dev",
            "In dev, Postgres is running on port 5434",
            TextRelation.PARAPHRASE,
        ),
        (
            "The staging database listens on port 5433",
            "The staging db listens at port 5433",
            TextRelation.PARAPHRASE,
        ),
        (
            "Deploys go through staging first",
            "Deployments go through staging first",
            TextRelation.PARAPHRASE,
        ),
        ("The prod db is small", "The dev db is small", TextRelation.DIFFERENT),
        (
            "Use pnpm to install packages",
            "Packages: install with pnpm, use it",
            TextRelation.PARAPHRASE,
        ),
    ],
)
def test_repetitions_are_told_from_extensions(old: str, new: str, verdict: TextRelation) -> None:
    assert compare(old, new) is verdict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use npm", "Use pnpm"),
        ("The database is Postgres", "The database is MySQL"),
        ("The API listens on port 8080", "The API listens on port 9090"),
        ("Commit to main", "Never commit to main"),
        ("数据库是 PostgreSQL", "数据库是 MySQL"),
        ("提交到 main", "不提交到 main"),
        ("Use pnpm, not npm", "Use npm, not pnpm"),
        ("Node 18 is required", "Node 20 is required"),
        ("Max 3 retries", "Max 5 retries"),
        ("Tabs are four wide in Go and two in C", "Tabs are two wide in Go and four in C"),
    ],
)
def test_a_new_value_or_a_negation_contradicts(old: str, new: str) -> None:
    assert compare(old, new) is TextRelation.CONTRADICTS
    assert compare(new, old) is TextRelation.CONTRADICTS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use tabs for Go", "Use tabs for Python"),
        ("Frontend tests live in web/tests", "Backend tests live in api/tests"),
        ("Tests run on port 8080", "The API runs on port 9090"),
        ("Run make test before pushing", "Run make test before committing"),
        ("Step 1 of the release runs migrations", "Step 2 of the release runs migrations"),
        ("First open note 0", "First open note 1"),
        ("Worker 1 runs the mail queue", "Worker 2 runs the mail queue"),
        ("Build number 1 needs the flag zeta1", "Build number 2 needs the flag zeta2"),
    ],
)
def test_parallel_facts_neither_merge_nor_contradict(old: str, new: str) -> None:
    assert compare(old, new) is TextRelation.DIFFERENT


@given(st.text(min_size=1, max_size=80))
def test_a_statement_is_the_same_as_itself(statement: str) -> None:
    assert compare(statement, statement) is TextRelation.SAME
