"""Who knows which part, and which files change most: from the commits of the last years.

People are named as git names them; robots are left out. Nothing else about them is kept.

Commit messages with a body are records of their own, never reworded; bumps, merges and releases
tell nothing and are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType
from wellkept.graph.history.git_log import Commit
from wellkept.graph.index.file_kind import FileKind, file_kind
from wellkept.project.repository.project_files import ProjectFiles, Statement
from wellkept.text.events.commit_messages import commit_points, says_something, without_trailers
from wellkept.text.secrets.redaction import redact

RECENT_COMMITS = 1_000
_ROBOTS = re.compile(
    r"\bbot\b|\[bot\]|dependabot|renovate|github[- ]actions|autofix|snyk|greenkeeper|\bclaude\b"
    r"|copilot|\bcodex\b|cursor ?agent",
    re.I,
)
_OWNERS_FILES = ("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_MAINTAINERS = r"(?:docs/)?(?:MAINTAINERS|OWNERS|AUTHORS)(?:\.(?:md|txt|rst))?"
_MAX_AREAS = 14
_MIN_COMMITS = 4
_HOT = 12


@record(kw_only=True)
class FilePast:
    """What the commits say about one file: how often it changed, and who changed it."""

    changes: int
    authors: Counter[str]
    last: str


def is_person(name: str) -> bool:
    """Whether a commit's author is a person, as far as the name tells."""
    return bool(name.strip()) and _ROBOTS.search(name) is None


def file_pasts(commits: Sequence[Commit]) -> dict[str, FilePast]:
    """The past of each file, from commits that are given newest first."""
    changes: Counter[str] = Counter()
    authors: defaultdict[str, Counter[str]] = defaultdict(Counter)
    last: dict[str, str] = {}
    for commit in commits:
        if commit.is_merge or commit.is_bulk:
            continue
        for path in commit.files:
            changes[path] += 1
            if is_person(commit.author):
                authors[path][commit.author] += 1
            if path not in last and commit.at is not None:
                last[path] = commit.at.date().isoformat()
    return {
        path: FilePast(changes=count, authors=authors[path], last=last.get(path, ""))
        for path, count in changes.items()
    }


def people_statements(
    files: ProjectFiles, commits: Sequence[Commit], pasts: dict[str, FilePast]
) -> Iterator[Statement]:
    """Maintainers, who knows which area, and hot spots."""
    yield from _owners_file(files)
    yield from _committers(commits)
    yield from _areas(files, pasts)
    yield from _hot_spots(files, pasts)


def who(authors: Counter[str], *, most: int = 3) -> str:
    """The main authors with their shares: "Ada (60 %), Grace (30 %)"."""
    total = sum(authors.values())
    return ", ".join(f"{name} ({count / total:.0%})" for name, count in authors.most_common(most))


def _owners_file(files: ProjectFiles) -> Iterator[Statement]:
    name = files.first(*_OWNERS_FILES)
    if name:
        rules = [line.split("#")[0].split() for line in files.text(name).splitlines()]
        told = [f"{rule[0]}: {' '.join(rule[1:])}" for rule in rules if len(rule) > 1]
        if told:
            yield Statement(
                key=f"owners:{name}",
                text=f"Who must review, by {name}: {'; '.join(told[:20])}.",
                read_from=name,
                importance=0.5,
                tags=("people",),
                files=(name,),
            )
    for path in files.matching(_MAINTAINERS, limit=2):
        lines = [
            re.sub(r"<[^>]*>|\([^)]*\)|[*#_`]|^\s*[-+]\s*", "", line).strip()
            for line in files.text(path).splitlines()
        ]
        told = [line for line in lines if line and not set(line) <= set("=-~")][:15]
        if told:
            yield Statement(
                key=f"owners:{path}",
                text=f"Maintainers and authors named in {path}: {'; '.join(told)[:500]}.",
                read_from=path,
                importance=0.45,
                tags=("people",),
                files=(path,),
            )


def _committers(commits: Sequence[Commit]) -> Iterator[Statement]:
    counts = [
        Counter(one.author for one in part if is_person(one.author) and not one.is_merge)
        for part in (commits[:RECENT_COMMITS], commits)
    ]
    recent, every = counts
    if not recent:
        return
    text = (
        "Who knows the code best, who maintains it, its main authors and contributors, who wrote"
        " most of it and who worked on it lately, by git history: of the last"
        f" {sum(recent.values())} commits by people most are by {who(recent, most=5)}"
    )
    if len(commits) > RECENT_COMMITS:
        text += f"; of all {sum(every.values())} read, by {who(every, most=5)}"
    yield Statement(
        key="people:all", text=f"{text}.", read_from="git log", importance=0.5, tags=("people",)
    )


def _areas(files: ProjectFiles, pasts: dict[str, FilePast]) -> Iterator[Statement]:
    areas: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path, past in pasts.items():
        folder = "/".join(path.split("/")[:-1][:2])
        if folder and files.has(path):
            areas[folder].update(past.authors)
    busy = sorted(areas, key=lambda one: -sum(areas[one].values()))
    for folder in [one for one in busy if sum(areas[one].values()) >= _MIN_COMMITS][:_MAX_AREAS]:
        yield Statement(
            key=f"people:{folder}",
            text=f"Who knows about {folder}/ best: most of it was written by {who(areas[folder])}.",
            read_from="git log",
            importance=0.35,
            tags=("people",),
            module=folder,
        )


def _hot_spots(files: ProjectFiles, pasts: dict[str, FilePast]) -> Iterator[Statement]:
    code = [p for p in pasts if files.has(p) and file_kind(p) is FileKind.CODE]
    busy = sorted(code, key=lambda path: (-pasts[path].changes, path))[:_HOT]
    told = [
        f"{path} ({pasts[path].changes})" for path in busy if pasts[path].changes >= _MIN_COMMITS
    ]
    if len(told) >= 3:
        yield Statement(
            key="hot-spots",
            text=f"Hot spots: the code files that change most often (commits): {', '.join(told)}.",
            read_from="git log",
            importance=0.45,
            tags=("hot-spots",),
            files=tuple(busy),
        )


MAX_COMMITS = 4_000
MIN_BODY_CHARS = 30
MAX_CHARS = 6_000
_DECIDES = re.compile(
    r"^(?:\w+(?:\([^)]*\))?!?: *|\[[^\]]+\] *)?(?:drop|deprecate|replace|switch|migrate|adopt"
    r"|rename|rewrite|redesign|rework|disallow|forbid|prefer|stop|require|default|split|extract"
    r"|introduce|get rid of|use \S+ instead|move (?:from|to)|remove (?:support|dependency|the)"
    r"|no longer)|^\w+(?:\([^)]*\))?!:",
    re.IGNORECASE,
)
_REVERT = re.compile(r"^\W*(?:\w+(?:\([^)]*\))?: *)?reverts?\b(?!.{0,4}\brevert)", re.IGNORECASE)
_NOISE = re.compile(
    r"\b(?:dependabot|renovate|release notes|update dependenc\w*)\b|^v?\d+\.\d+|\bdeps?\b", re.I
)


def history_statements(commits: Sequence[Commit]) -> Iterator[Statement]:
    """The records of commits that are given newest first."""
    kept = 0
    for commit in commits:
        subject, _, body = commit.message.strip().partition("\n")
        if kept >= MAX_COMMITS or _NOISE.search(subject) or not says_something(subject, body):
            continue
        told = sum(map(len, commit_points(body)))
        is_revert = _REVERT.match(subject) is not None
        decides = is_revert or _DECIDES.match(subject) is not None
        if told < MIN_BODY_CHARS and (commit.is_merge or not decides):
            continue
        kept += 1
        # As a whole: parts of a secret look like nothing.
        whole = replace(commit, message=redact(commit.message).text)
        yield _statement(whole, tags=("commit", "revert") if is_revert else ("commit",))


def _statement(commit: Commit, *, tags: tuple[str, ...]) -> Statement:
    return Statement(
        key=f"commit:{commit.sha}",
        text=without_trailers(commit.message)[:MAX_CHARS],
        read_from=commit.sha,
        type=MemoryType.EPISODE,
        importance=0.4,
        tags=tags,
        files=() if commit.is_bulk else commit.files[:5],
        commit=commit.sha,
        author=commit.author or None,
        at=commit.at,
    )
