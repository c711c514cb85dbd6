"""The hooks of skills: which of them an event calls for, whether they may run, and what came of it.

A hook runs when its skill is in use in the session, the person agreed to exactly this skill in this
folder, and its matcher fits the tool; one that runs once does so once for each session. Invariants:
without a yes nothing of a skill is run, not even its matcher; a hook that fails, hangs or floods is
reported and breaks nothing. Exit code 2, or a JSON answer that says so, blocks, as in Claude Code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final, cast

from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.skills import HookRunLog, HookTrust
from wellkept.core.records import record
from wellkept.core.skills import HookEvent, Skill, SkillHook, SkillIndex
from wellkept.core.text import shorten
from wellkept.skills.hooks.process import HookRun, filtered_environment, run_command
from wellkept.skills.hooks.trust import fingerprint

TIMEOUT_S: Final = 60.0
MAX_TIMEOUT_S: Final = 600.0
MAX_STDIN_BYTES: Final = 1 << 20
MAX_TOOL_CHARS: Final = 200
MAX_SESSIONS: Final = 1_000
"""Of how many sessions a process remembers what is in use; the longest unused one goes first."""
BLOCKING_EXIT_CODE: Final = 2
_REASON_CHARS: Final = 2_000


class HookState(StrEnum):
    """Whether a hook may run."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    """Somebody agreed, and the skill was changed since."""
    NEW = "new"
    UNREADABLE = "unreadable"
    """Its files are too many, too large or cannot be read, so nobody can agree to them."""


class HookStatus(StrEnum):
    """What came of a hook."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    NOT_TRUSTED = "not_trusted"


@record
class ListedHook:
    """A hook as people look at it."""

    skill: Skill
    hook: SkillHook
    state: HookState
    fingerprint: str | None
    """What was looked at; give it to `trust`, so that nothing else is agreed to."""


@record(kw_only=True)
class HookResult:
    """What came of one hook; `message` says it in words."""

    skill: str
    hook: SkillHook
    status: HookStatus
    message: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    is_cut: bool = False


@record
class HookReport:
    """What came of an event. Blocked means: before a tool, do not run it; after one, tell the
    model; at a stop, go on."""

    results: tuple[HookResult, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether any hook said no."""
        return any(one.status is HookStatus.BLOCKED for one in self.results)

    @property
    def reason(self) -> str:
        """Why it is blocked; empty when it is not."""
        return "\n".join(one.message for one in self.results if one.status is HookStatus.BLOCKED)

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should hear of: hooks that failed, or that nobody agreed to."""
        fine = (HookStatus.DONE, HookStatus.BLOCKED)
        return tuple(one.message for one in self.results if one.status not in fine)


@record(kw_only=True)
class _HookCall:
    """One event, as hooks are told of it."""

    event: HookEvent
    tool: str
    tool_input: Json
    tool_response: Json
    session: str


class SkillHooks:
    """The hooks of a project's skills."""

    def __init__(
        self,
        *,
        index: Callable[[], SkillIndex],
        root: Path,
        trust: HookTrust,
        ran: HookRunLog,
        environment: Mapping[str, str],
    ) -> None:
        self._index = index
        self._root = root
        self._trust = trust
        self._ran = ran
        self._environment = environment
        self._in_use: dict[str, dict[str, None]] = {}
        self._using = Lock()

    # -- Trust ------------------------------------------------------------------------------------

    def list(self) -> list[ListedHook]:
        """Every hook of the skills here, with whether it may run."""
        agreed = self._trust.trusted(self._root)
        prints = {skill.key: fingerprint(skill) for skill in self._index() if skill.hooks}
        return [
            ListedHook(
                skill, hook, _state(prints[skill.key], agreed.get(skill.key)), prints[skill.key]
            )
            for skill in self._index()
            for hook in skill.hooks
        ]

    def trust(self, *names: str, seen: Iterable[ListedHook] | None = None) -> list[Skill]:
        """Agree to the hooks of these skills as they are now; without names, of all skills.

        With `seen`, a skill that is not as it was when it was looked at raises ConflictError.
        """
        chosen = self._with_hooks(names)
        prints = {skill.key: fingerprint(skill) for skill in chosen}
        looked_at = None if seen is None else {one.skill.key: one.fingerprint for one in seen}
        for skill in chosen:
            _require_same(skill, prints[skill.key], looked_at)
        for skill in chosen:
            self._trust.trust(self._root, skill.key, prints[skill.key])
        return chosen

    def distrust(self, *names: str) -> list[Skill]:
        """Take a yes back; without names, every one in this folder."""
        chosen = self._with_hooks(names) if names else []
        keys = [skill.key for skill in chosen] or [*self._trust.trusted(self._root)]
        for key in keys:
            self._trust.trust(self._root, key, None)
        return chosen

    def _with_hooks(self, names: Sequence[str]) -> list[Skill]:
        index = self._index()
        if not names:
            return [skill for skill in index if skill.hooks]
        found = [(name, index.get(name)) for name in names]
        for name, skill in found:
            if skill is None or not skill.hooks:
                raise UsageError(
                    f"There is no skill {name!r} with hooks.", hint="See `wellkept skill hooks`."
                )
        return [skill for _, skill in found if skill is not None]

    # -- Use --------------------------------------------------------------------------------------

    def use(self, name: str, *, session: str) -> None:
        """From now on the hooks of a skill count in a session; running it does this."""
        with self._using:
            known = self._in_use.pop(session, {})
            self._in_use[session] = {**known, name: None}  # now the latest
            while len(self._in_use) > MAX_SESSIONS:
                del self._in_use[next(iter(self._in_use))]

    def in_use(self, session: str) -> tuple[str, ...]:
        """The skills that were run in a session, the first one first."""
        with self._using:
            return tuple(self._in_use.get(session, ()))

    def end(self, session: str) -> None:
        """The session is over."""
        with self._using:
            self._in_use.pop(session, None)

    def run(
        self,
        event: str,
        *,
        tool: str = "",
        tool_input: Json = None,
        tool_response: Json = None,
        session: str = "",
        skills: Iterable[str] | None = None,
    ) -> HookReport:
        """Run what an event calls for, one after the other, in the project's folder.

        `skills` are the skills in use; None means those that were run in the session.
        """
        moment = _HookCall(
            event=_event(event),
            tool=tool[:MAX_TOOL_CHARS],
            tool_input=tool_input,
            tool_response=tool_response,
            session=session,
        )
        names = self.in_use(session) if skills is None else tuple(skills)
        return HookReport(tuple(self._results(names, moment)))

    def _results(self, names: Sequence[str], moment: _HookCall) -> Iterator[HookResult]:
        if not names:
            return
        index, agreed = self._index(), self._trust.trusted(self._root)
        for skill in filter(None, map(index.get, dict.fromkeys(names))):
            hooks = [hook for hook in skill.hooks if hook.event is moment.event]
            if not (hooks and skill.enabled):
                continue
            state = _state(fingerprint(skill), agreed.get(skill.key))
            if state is not HookState.TRUSTED:
                yield _refused(skill, hooks[0], state)
                continue
            yield from self._run_all(skill, hooks, moment)

    def _run_all(
        self, skill: Skill, hooks: Sequence[SkillHook], moment: _HookCall
    ) -> Iterator[HookResult]:
        for hook in hooks:
            if not _fits(hook, moment):
                continue
            if hook.once and not self._ran.claim(moment.session, _hook_id(skill, hook)):
                continue
            yield _result(skill, hook, self._run_one(skill, hook, moment))

    def _run_one(self, skill: Skill, hook: SkillHook, moment: _HookCall) -> HookRun:
        about = {
            "SKILL_NAME": skill.name,
            "SKILL_HOOK_EVENT": moment.event.value,
            "SKILL_TOOL_NAME": moment.tool.replace("\0", ""),
            "CLAUDE_PROJECT_DIR": str(self._root),
        }
        if skill.base_dir is not None:
            about["SKILL_DIR"] = about["CLAUDE_SKILL_DIR"] = str(skill.base_dir)
        return run_command(
            hook.command,
            cwd=self._root,
            environment=filtered_environment(self._environment) | about,
            stdin=_stdin(skill, moment, self._root),
            timeout_s=min(hook.timeout_s or TIMEOUT_S, MAX_TIMEOUT_S),
        )


def _event(name: str) -> HookEvent:
    """The event of that name, however its words are joined."""
    known = {event.value.lower(): event for event in HookEvent}
    found = known.get(name.replace("_", "").replace("-", "").lower())
    if found is None:
        raise UsageError(
            f"There is no hook event {name[:40]!r}.", hint=f"One of: {', '.join(HookEvent)}."
        )
    return found


def _require_same(
    skill: Skill, now: str | None, looked_at: Mapping[str, str | None] | None
) -> None:
    if now is None:
        raise UsageError(
            f"The files of {skill.name!r} cannot be looked through.",
            hint="A skill with hooks has at most 2,000 readable files and 64 MiB.",
        )
    if looked_at is not None and looked_at.get(skill.key) != now:
        raise ConflictError(
            f"The skill {skill.name!r} was changed while you looked at it.", hint="Look again."
        )


def _state(now: str | None, known: str | None) -> HookState:
    if now is None:
        return HookState.UNREADABLE
    if known is None:
        return HookState.NEW
    return HookState.TRUSTED if known == now else HookState.CHANGED


def _fits(hook: SkillHook, moment: _HookCall) -> bool:
    """Only asked of trusted skills: a pattern can be written to take for ever."""
    if moment.event is HookEvent.STOP or not hook.matcher:
        return True
    return re.fullmatch(hook.matcher, moment.tool) is not None


def _hook_id(skill: Skill, hook: SkillHook) -> str:
    said = "\0".join((skill.key, hook.event.value, hook.matcher, hook.command))
    return sha256(said.encode("utf-8", "replace")).hexdigest()[:24]


def _stdin(skill: Skill, moment: _HookCall, root: Path) -> bytes:
    """The event as JSON, in the shape that hooks of Claude Code read."""
    told: dict[str, Json] = {
        "session_id": moment.session,
        "hook_event_name": moment.event.value,
        "cwd": str(root),
        "skill": skill.name,
    }
    if moment.event is not HookEvent.STOP:
        told |= {"tool_name": moment.tool, "tool_input": moment.tool_input}
    if moment.event is HookEvent.POST_TOOL_USE:
        told["tool_response"] = moment.tool_response
    data = json.dumps(told).encode()
    if len(data) > MAX_STDIN_BYTES:
        shorter = {k: v for k, v in told.items() if k not in ("tool_input", "tool_response")}
        data = json.dumps({**shorter, "is_cut": True}).encode()
    return data


# -- What came of it ------------------------------------------------------------------------------


def _refused(skill: Skill, hook: SkillHook, state: HookState) -> HookResult:
    why = {
        HookState.CHANGED: "was changed since you agreed to its hooks",
        HookState.UNREADABLE: "has files that cannot be looked through",
    }.get(state, "has hooks that nobody agreed to")
    return HookResult(
        skill=skill.name,
        hook=hook,
        status=HookStatus.NOT_TRUSTED,
        message=f"The skill {skill.name} {why}: look at them with `wellkept skill hooks`, and "
        f"allow them here with `wellkept skill trust {skill.name}`.",
    )


def _result(skill: Skill, hook: SkillHook, run: HookRun) -> HookResult:
    status, message = _judged(run)
    if status not in (HookStatus.DONE, HookStatus.BLOCKED):
        message = f"The {hook.event.value} hook of the skill {skill.name} failed: {message}"
    return HookResult(
        skill=skill.name,
        hook=hook,
        status=status,
        message=message,
        exit_code=run.exit_code,
        stdout=run.stdout,
        stderr=run.stderr,
        is_cut=run.is_cut,
    )


def _judged(run: HookRun) -> tuple[HookStatus, str]:
    """What the end of a command means, and why in words."""
    if run.problem is not None:
        return HookStatus.FAILED, run.problem
    if run.timed_out:
        return HookStatus.TIMED_OUT, "its time was over, and it was ended."
    said = run.stderr.strip()
    if run.exit_code == BLOCKING_EXIT_CODE:
        return HookStatus.BLOCKED, shorten(said, limit=_REASON_CHARS) or "a hook said no"
    if run.exit_code:
        return HookStatus.FAILED, f"exit code {run.exit_code}. {shorten(said, limit=300)}".strip()
    reason = _refusal(run.stdout)
    if reason is not None:
        return HookStatus.BLOCKED, shorten(reason, limit=_REASON_CHARS) or "a hook said no"
    return HookStatus.DONE, ""


def _refusal(stdout: str) -> str | None:
    """The reason in a JSON answer that says no; None when it is no such answer."""
    if not stdout.lstrip().startswith("{"):
        return None
    try:
        said = cast("dict[str, Json]", json.loads(stdout))
    except (ValueError, RecursionError):
        return None
    if said.get("decision") == "block":
        return str(said.get("reason") or "")
    own = said.get("hookSpecificOutput")
    if isinstance(own, dict) and own.get("permissionDecision") == "deny":
        return str(own.get("permissionDecisionReason") or "")
    return None
