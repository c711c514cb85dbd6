"""The coding clients that can answer as a model: `clients.toml` and how to read what they print.

The table says how each is started. Here is what a table cannot say: the files a client reads, and
the shapes of its answers and failures.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from wellkept.core.errors import ProviderCause, ProviderError
from wellkept.core.ports.models import ChatAnswer
from wellkept.core.records import record
from wellkept.models.headless.process import Finished, PrivateFolder
from wellkept.models.http import string, table

_SYSTEM_FILE: Final = "sys.md"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_OPENCODE_FILES: Final = ("opencode.jsonc", "opencode.json", "config.json")
# Comments and trailing commas of JSONC; strings are matched first, so that they stay.
_JSONC: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
# Gemini ends with the HTTP status modulo 256; 41 means that no way to log in is chosen.
_GEMINI_CODES: Final[Mapping[int, ProviderCause]] = {
    **dict.fromkeys((41, 145, 147), "login"),
    **dict.fromkeys((173, 244, 246, 247), "busy"),
}

_Json = dict[str, Any]


@record(kw_only=True)
class HeadlessCall:
    """One call: what a client needs to build its command line."""

    model: str
    system: str
    max_tokens: int
    limit_s: float
    folder: PrivateFolder
    environment: Mapping[str, str]


@record
class CommandLine:
    """The words after the program's name, and variables to set for it."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str]


@record(kw_only=True)
class HeadlessClient:
    """A coding client that can answer a prompt on standard input without its interface."""

    name: str
    title: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    user_folder: tuple[str, str, str]
    logins: tuple[str, ...]
    linked: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    login_check: tuple[str, ...] = ()
    """Arguments that end with 0 when the user is logged in; empty when there are none."""
    model: str | None = None
    """The one to ask when the settings name none."""
    settings: Mapping[str, Any] | None = None

    @property
    def program(self) -> str:
        """The name of its program."""
        return self.name

    def usual_model(self, environment: Mapping[str, str]) -> str | None:
        """The model to ask when the settings name none."""
        if self.name == "opencode":
            config = _opencode_config(environment)
            return string(config, "small_model") or string(config, "model") or None
        return self.model

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """The files that change when the user logs in."""
        more = _opencode_files(environment) if self.name == "opencode" else ()
        return (*(self._of_user(environment) / name for name in self.logins), *more)

    def command_line(self, call: HeadlessCall) -> CommandLine:
        """Write what the client reads to the private folder; the command line to start it with."""
        folder = call.folder.root / self.name
        if self.linked or self.settings:
            folder.mkdir(mode=0o700, exist_ok=True)
        below = f"{self.name}/{self.user_folder[2]}"
        for name in self.linked:
            call.folder.link(f"{below}/{name}", self._of_user(call.environment) / name)
        if self.linked:
            call.folder.write(f"{self.name}/{_SYSTEM_FILE}", call.system)
        variables = dict(self.variables)
        if self.name == "gemini":
            settings = _gemini_settings(self, call)
            call.folder.write(f"{below}/settings.json", json.dumps(settings))
        elif self.name == "opencode":
            variables["OPENCODE_CONFIG_CONTENT"] = json.dumps(_opencode_settings(self, call))
        known = {
            "model": call.model,
            "system": call.system,
            "max_tokens": str(call.max_tokens),
            "timeout_ms": str(int(call.limit_s * 1000)),
            "folder": str(folder),
            "system_file": str(folder / _SYSTEM_FILE),
            "system_file_json": json.dumps(str(folder / _SYSTEM_FILE)),
        }

        def filled(text: str) -> str:
            return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), text)

        return CommandLine(
            tuple(map(filled, self.arguments)),
            # A configuration is whole: what looks like a placeholder in it is the user's.
            {name: filled(v) if name in self.variables else v for name, v in variables.items()},
        )

    def is_done(self, line: bytes) -> bool:
        """Whether a line of output says that the answer is complete.

        OpenCode repeats a question without end when the answer is empty.
        """
        if self.name != "opencode" or b"step_finish" not in line:
            return False
        return string(_parsed(line), "type") == "step_finish"

    def read(self, done: Finished) -> ChatAnswer:
        """The answer in what it printed; ProviderError when there is none."""
        said = _READERS[self.name](done)
        if said.is_good and said.text.strip():
            return ChatAnswer(said.text, said.input_tokens, said.output_tokens)
        message = said.message or done.errors.decode("utf-8", "replace")[-400:]
        cause = "answer" if said.is_finished else said.cause or _cause_of(message, said.status)
        message = message or ("no answer" if said.is_finished else f"exit code {done.code}")
        shown = " ".join(message.split())[:200]
        raise ProviderError(
            f"{self.title} failed: {shown}",
            hint="Log in to the client again." if cause == "login" else None,
            cause=cause,
        )

    def clean_up(self, folder: PrivateFolder) -> None:
        """Remove what the call left behind: databases and histories hold what was sent."""
        for pattern in self.leaves:
            for path in (folder.root / self.name).glob(pattern):
                if path.name not in self.keeps:
                    folder.remove(str(path.relative_to(folder.root)))

    def _of_user(self, environment: Mapping[str, str]) -> Path:
        variable, below_home, rest = self.user_folder
        own = environment.get(variable)
        return (Path(own) if own else _home(environment) / below_home) / rest


@cache
def headless_client(name: str) -> HeadlessClient:
    """The client of a short name."""
    row = tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8"))[name]
    known: dict[str, Any] = {
        key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value
        for key, value in row.items()
    }
    return HeadlessClient(name=name, **known)


# -- What a client reads ------------------------------------------------------------------------


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())


def _gemini_settings(client: HeadlessClient, call: HeadlessCall) -> _Json:
    thinking: _Json = {"includeThoughts": False}
    if "flash" in call.model:
        thinking["thinkingBudget"] = 0
    generation = {"maxOutputTokens": call.max_tokens, "temperature": 0, "thinkingConfig": thinking}
    override = {
        "match": {"model": call.model},
        "modelConfig": {"generateContentConfig": generation},
    }
    settings = {**(client.settings or {}), "modelConfigs": {"customOverrides": [override]}}
    own = _read_jsonc(client.login_files(call.environment)[-1])
    login = string(table(table(own, "security"), "auth"), "selectedType")
    return settings | ({"security": {"auth": {"selectedType": login}}} if login else {})


def _opencode_settings(client: HeadlessClient, call: HeadlessCall) -> _Json:
    settings = deepcopy(dict(client.settings or {}))
    settings["agent"]["wellkept"] |= {"prompt": call.system, "model": call.model}
    user = _opencode_config(call.environment)
    kept = ("provider", "enabled_providers", "disabled_providers")
    return settings | {name: user[name] for name in kept if name in user}


def _opencode_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    own, named = environment.get("XDG_CONFIG_HOME"), environment.get("OPENCODE_CONFIG")
    folder = (Path(own) if own else _home(environment) / ".config") / "opencode"
    usual = tuple(folder / name for name in _OPENCODE_FILES)
    return (*usual, Path(named)) if named else usual


def _opencode_config(environment: Mapping[str, str]) -> _Json:
    """The user's configuration; later files win, as in OpenCode."""
    jsonc, plain, older, *named = _opencode_files(environment)
    config: _Json = {}
    for path in (older, plain, jsonc, *named):
        config |= _read_jsonc(path)
    return config


def _read_jsonc(path: Path) -> _Json:
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    plain = _JSONC.sub(lambda match: cast("str | None", match[1]) or "", text)
    return _parsed(plain.encode())


# -- What a client printed ----------------------------------------------------------------------


@record(kw_only=True)
class _Reply:
    """What a client said. `is_finished`: it answered to the end, if only with nothing."""

    text: str
    is_good: bool
    is_finished: bool
    message: str = ""
    cause: ProviderCause | None = None
    status: object = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def _read_claude(done: Finished) -> _Reply:
    said = _parsed(done.output.strip())
    text, usage = string(said, "result"), table(said, "usage")
    given = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _Reply(
        text=text,
        is_good=done.code == 0 and said.get("is_error") is False,
        is_finished=bool(said) and done.code == 0,
        message=text or done.errors.decode("utf-8", "replace"),
        status=said.get("api_error_status"),
        input_tokens=_total(usage, *given),
        output_tokens=_total(usage, "output_tokens"),
    )


def _read_codex(done: Finished) -> _Reply:
    items = [table(event, "item") for event in _events(done, "item.completed")]
    texts = [string(item, "text") for item in items if item.get("type") == "agent_message"]
    ends = _events(done, "turn.completed")
    usage = table(ends[-1] if ends else {}, "usage")
    failures = [table(event, "error") for event in _events(done, "turn.failed")]
    return _Reply(
        text=texts[-1] if texts and "".join(texts).strip() else "",
        is_good=done.code == 0 and bool(ends),
        is_finished=done.code == 0 and bool(ends),
        message=" ".join(string(failure, "message") for failure in failures),
        input_tokens=_total(usage, "input_tokens"),
        output_tokens=_total(usage, "output_tokens"),
    )


def _read_gemini(done: Finished) -> _Reply:
    said = _object_in(done.output)
    error = table(said, "error") or table(_object_in(done.errors), "error")
    models = table(table(said, "stats"), "models")
    counts = [table(model, "tokens") for model in models.values()]
    return _Reply(
        text=string(said, "response"),
        is_good=done.code == 0,
        is_finished=done.code == 0,
        message=string(error, "message"),
        cause=_GEMINI_CODES.get(done.code),
        status=error.get("code"),
        input_tokens=_sum(_total(one, "prompt") for one in counts),
        output_tokens=_sum(_total(one, "candidates", "thoughts") for one in counts),
    )


def _read_opencode(done: Finished) -> _Reply:
    parts = [table(event, "part") for event in _events(done, "text")]
    ends = [table(event, "part") for event in _events(done, "step_finish")]
    failures = [table(table(event, "error"), "data") for event in _events(done, "error")]
    tokens = table(ends[-1] if ends else {}, "tokens")
    given = _total(tokens, "input"), _total(table(tokens, "cache"), "read", "write")
    return _Reply(
        text="".join(string(part, "text") for part in parts),
        is_good=bool(ends) and ends[-1].get("reason") == "stop",
        is_finished=bool(ends),
        message=" ".join(string(failure, "message") for failure in failures),
        status=failures[-1].get("statusCode") if failures else None,
        input_tokens=_sum(given) if any(given) else None,
        output_tokens=_total(tokens, "output", "reasoning"),
    )


_READERS: Final[Mapping[str, Callable[[Finished], _Reply]]] = {
    "claude": _read_claude,
    "codex": _read_codex,
    "gemini": _read_gemini,
    "opencode": _read_opencode,
}


def _cause_of(message: str, status: object = None) -> ProviderCause:
    """The cause of a client's failure, from an HTTP status or the words of its message."""
    said = f"{status or ''} {message}".lower()
    if any(word in said for word in ("401", "403", "log in", "logged in", "login", "unauthor")):
        return "login"
    signs = ("429", "500", "502", "503", "504", "529", "overloaded", "rate limit", "quota")
    return "busy" if any(sign in said for sign in signs) else "other"


def _events(done: Finished, kind: str) -> list[_Json]:
    """The JSON objects of one type among the lines of output."""
    return [one for one in map(_parsed, done.output.splitlines()) if one.get("type") == kind]


def _parsed(raw: bytes) -> _Json:
    """A JSON object; empty for anything else."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return cast("_Json", value) if isinstance(value, dict) else {}


def _object_in(raw: bytes) -> _Json:
    """The JSON object in output that may begin and end with notices."""
    return _parsed(raw[raw.find(b"{") : raw.rfind(b"}") + 1])


def _total(value: _Json, *names: str) -> int | None:
    """The sum of counts; None when none is given."""
    counts = (value.get(name) for name in names)
    return _sum(count for count in counts if type(count) is int)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
