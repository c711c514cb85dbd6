"""Fourteen moments of real sessions: what should be said, and what must not.

`python -m bench.sessions --golden DIR`: DIR has a folder of Claude Code transcripts for each of the
repositories below. Those were published on the branch `entire/checkpoints/v1` of each repository;
`python -m bench.published_transcripts CLONE DIR/NAME` writes them out. They are not part of this
repository. A point is a fact that a rule can find; it counts as said when it stands in the pack of
the moment or in an earlier pack of the same session. What a model would have to find is left out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import finish, machine, table
from bench.session_replay import Asked, Replay
from wellkept.core.codec import Json
from wellkept.core.records import field, record


@record(kw_only=True)
class Golden:
    """One moment. `points` are patterns by name; `never` may not stand in its pack.

    `matching` finds the moment among those of its kind in the session: in the query or a file name.
    """

    name: str
    repository: str
    session: str
    moment: str
    matching: str = ""
    after: str = ""
    """Time of day, HH:MM, before which no moment matches."""
    points: dict[str, str] = field(default_factory=dict[str, str])
    never: tuple[str, ...] = ()
    silent: bool = False
    max_tokens: int = 120


_START_TOKENS = 400
MOMENTS = (
    Golden(
        name="S1", repository="cipher-box", session="e67c9434", moment="session",
        points={
            "last commit": "37280ae",
            "not pushed": r"(?i)not pushed|no push|unpushed|ahead",
            "uncommitted fix": r"shares\.service\.ts",
            "uncommitted test helper": r"web3auth-helpers\.ts",
            "commit keeps failing": r"(?i)git commit.*(?:fail|sign)|fail.*git commit",
            "last check": r"(?i)(?:jest|shares|test).*(?:passed|ok)|type-?check.*(?:passed|clean)",
            "test command": r"cd apps/api && npx jest --testPathPattern",
        },
        never=("no-gpg-sign", "often (?:read|edited)", "no-verify"), max_tokens=_START_TOKENS,
    ),
    Golden(
        name="S2", repository="cipher-box", session="f585e6e9", moment="session",
        points={
            "latest rounds": "8900057|0a579f6|6b9dbb7|e44f6fd",
            "user: still failing": r"(?i)still failing",
            "services on another host": r"DB_HOST=\S+ (?:REDIS_HOST=\S+ )?.*pnpm",
            "log of a failed run": r"gh run view .*--log-failed",
        },
        never=("Docker Desktop", "no-verify"), max_tokens=_START_TOKENS,
    ),
    Golden(
        name="S3", repository="context-evaluator", session="61d299fc", moment="session",
        points={
            "last commit": "0f9bd26|lightweight",
            "not pushed": r"(?i)not pushed|no push|unpushed|ahead",
            "no rtk before bun": "rtk",
            "tabs in edits": r"(?i)\btabs?\b",
            "left-over clones": "tmp/clones",
        },
        never=("no-verify", "often (?:read|edited)"), max_tokens=_START_TOKENS,
    ),
    Golden(
        name="S4", repository="context-evaluator", session="3f059980", moment="session",
        points={
            "last work": r"(?i)macOS|signing|0\.4\.1",
            "release run failed": r"(?i)sign-macos|run.*failed|failed.*run",
            "no rtk before bun": "rtk",
        },
        never=("no-verify",), max_tokens=_START_TOKENS,
    ),
    Golden(name="S5", repository="CyberVPN", session="2488a3a9", moment="session", silent=True),
    Golden(
        name="S6", repository="cipher-box", session="14255944", moment="session",
        points={
            "last commit": "7992b41|900916e|186",
            "migration added": "AddSharesTables|shares",
            "no migrations by hand": r"(?i)migrations?.*(?:by hand|directly|server)",
            "markdown lint": r"(?i)markdown|MD0\d\d|\.md\b.*lint",
        },
        never=(r"(?i)also update FullSchema", "no-verify"), max_tokens=_START_TOKENS,
    ),
    Golden(
        name="P1", repository="context-evaluator", session="61d299fc", moment="prompt",
        matching=r"^commit$", points={"left-over clones": "tmp/clones"}, never=("no-verify",),
    ),
    Golden(
        name="P2", repository="cipher-box", session="8194e72d", moment="prompt",
        matching="coderabbit", points={"repository owner": "FSM1/cipher-box|FSM1"},
    ),
    Golden(
        name="P3", repository="cipher-box", session="d110ba2f", moment="prompt",
        matching=r"^6$", silent=True,
    ),
    Golden(
        name="F1", repository="cipher-box", session="14255944", moment="file",
        matching=r"todos/pending/.*\.md$", after="02:50",
        points={"markdown lint": r"(?i)markdown|MD0\d\d|fence|heading"},
    ),
    Golden(
        name="F2", repository="context-evaluator", session="3f059980", moment="file",
        matching=r"src/cli/index\.ts$", silent=True,
    ),
    Golden(
        name="X1", repository="context-evaluator", session="598cc9c4", moment="failure",
        matching="^rtk bun", points={"without the wrapper": r"`bun run test[^`]*`"},
        never=("Usage: rtk",),
    ),
    Golden(
        name="X2", repository="cipher-box", session="2b06e5ef", moment="failure",
        matching="cipherbox-official", points={"repository owner": "FSM1"},
        never=(r"(?i)json pars",),
    ),
    Golden(
        name="X3", repository="cipher-box", session="b8a609f7", moment="failure",
        matching="testPathPattern='shares'",
        points={"what runs the tests": r"npx jest --testPathPattern", "folder": "cd apps/api"},
    ),
)  # fmt: skip


@record(frozen=False)
class _Judged:
    golden: Golden
    asked: Asked | None = None
    said: tuple[str, ...] = ()
    harmful: tuple[str, ...] = ()

    @property
    def is_silent_as_wanted(self) -> bool:
        return self.golden.silent and self.asked is not None and not self.asked.text

    @property
    def missing(self) -> list[str]:
        return [name for name in self.golden.points if name not in self.said]


def run_golden(folder: Path, *, as_json: bool) -> None:
    """Replay each repository that is there, and print every moment."""
    judged: list[_Judged] = []
    for name in dict.fromkeys(one.repository for one in MOMENTS):
        moments = [one for one in MOMENTS if one.repository == name]
        if (folder / name).is_dir():
            with tempfile.TemporaryDirectory(prefix="wellkept-golden-") as home:
                judged += judge(folder / name, Path(home), moments)
        else:
            judged += [_Judged(one) for one in moments]
    _print(judged, as_json=as_json)


def judge(folder: Path, home: Path, moments: Sequence[Golden]) -> Iterator[_Judged]:
    """Replay one repository and judge its moments."""
    wanted = {one.session for one in moments}
    found: dict[str, _Judged] = {one.name: _Judged(one) for one in moments}
    heard: dict[str, str] = {}
    with Replay(folder, home) as replay:
        for asked in replay.run(ask_if=lambda session: session.id[:8] in wanted):
            session = asked.session.id[:8]
            heard[session] = f"{heard.get(session, '')}\n{asked.text}"
            for golden in moments:
                if found[golden.name].asked is None and _is_moment(golden, asked):
                    found[golden.name] = _judged(golden, asked, heard[session])
    yield from found.values()


def _is_moment(golden: Golden, asked: Asked) -> bool:
    if golden.session != asked.session.id[:8] or golden.moment != asked.moment:
        return False
    if golden.after and f"{asked.at:%H:%M}" < golden.after:
        return False
    texts = (asked.request.query, *asked.request.files)
    return any(re.search(golden.matching, text) for text in texts)


def _judged(golden: Golden, asked: Asked, heard: str) -> _Judged:
    said = tuple(name for name, pattern in golden.points.items() if re.search(pattern, heard))
    harmful = tuple(pattern for pattern in golden.never if re.search(pattern, asked.text))
    return _Judged(golden, asked, said, harmful)


def _print(judged: Sequence[_Judged], *, as_json: bool) -> None:
    rows: list[tuple[str, ...]] = []
    for one in judged:
        tokens = "not found" if one.asked is None else str(one.asked.tokens)
        if one.golden.silent:
            said = "silent" if one.is_silent_as_wanted else "NOT SILENT"
        else:
            said = f"{len(one.said)} of {len(one.golden.points)}"
        rows.append((one.golden.name, said, tokens, ", ".join(one.missing), "; ".join(one.harmful)))
    points = sum(len(one.golden.points) for one in judged)
    silent = [one for one in judged if one.golden.silent]
    result: dict[str, Json] = {
        "points_said": sum(len(one.said) for one in judged),
        "points": points,
        "silent_as_wanted": sum(one.is_silent_as_wanted for one in silent),
        "silent_moments": len(silent),
        "harmful": sum(len(one.harmful) for one in judged),
        "over_length": sum(
            one.asked is not None and one.asked.tokens > one.golden.max_tokens for one in judged
        ),
        "machine": machine(),
    }
    lines = table(("moment", "said", "tokens", "missing", "must not be said"), rows)
    finish("golden", result, as_json=as_json, lines=lines)
