"""Models that can be had from the hub: which there are, and the download of one.

What every model on this machine needs stands here too: silence towards others, and errors of ours.
ONNX Runtime reports to its maker unless told not to before it is loaded, and leaves a device id in
the home folder; the hub's client adds what it runs in to its requests.

Invariants: fastembed is imported only after `keep_quiet`; nothing else of Wellkept asks the hub;
every file is compared with the size and hash that the hub states before any of it counts; an
interrupted download goes on where it ended.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener, urlopen

from wellkept.core.errors import ProviderError, UsageError, WellkeptError
from wellkept.core.records import record
from wellkept.core.types import Progress
from wellkept.models.http import Endpoint, check_allowed

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from fastembed.common.model_description import BaseModelDescription
    from fastembed.common.model_management import ModelManagement

Kind = Literal["embedding", "reranker"]
KINDS: Final[tuple[Kind, ...]] = ("embedding", "reranker")
INSTALL_HINT: Final = "Run: pip install 'wellkept[models]'"
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_QUIET: Final = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY")
_ANSWER_WITHIN_S = 20.0
_ATTEMPTS = 3
_BLOCK_BYTES = 1 << 20
# What fastembed reads beside the weights.
_READ_WITH_ANY = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "preprocessor_config.json",
)


def keep_quiet() -> None:
    """Switch the reports of the runtime and of the hub's client off."""
    for name in _QUIET:
        os.environ[name] = "1"


@contextmanager
def running(model: str) -> Generator[None, None, None]:
    """Load or run a model; whatever its libraries raise becomes a `ProviderError`."""
    try:
        yield
    except WellkeptError:
        raise
    except Exception as error:  # every library below has errors of its own
        raise ProviderError(
            f"The model {model} failed: {first_line(error)}", hint="Run: wellkept admin doctor"
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its kind."""
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__


@record
class KnownModel:
    """A model that can be downloaded, from `repository`, with `files` besides the usual ones."""

    name: str
    kind: Kind
    size_mb: int
    licence: str
    dimension: int | None = None
    description: str = ""
    repository: str = ""
    files: tuple[str, ...] = ()


@record
class _StatedFile:
    """What the hub says of a file. Large files have a SHA-256, small ones only their Git id."""

    size: int
    git_id: str
    sha256: str | None = None

    def fits(self, path: Path) -> bool:
        """Whether the file at `path` is there and the one the hub means."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.sha256:
            return sha256_of(path) == self.sha256
        header = b"blob %d\0" % self.size
        content = header + path.read_bytes()
        return hashlib.sha1(content, usedforsecurity=False).hexdigest() == self.git_id


def known_models() -> list[KnownModel]:
    """Every model that can be downloaded, by kind and size."""
    found = [_known(kind, description) for kind, description in _descriptions()]
    return sorted(found, key=lambda one: (one.kind, one.size_mb, one.name))


def known_model(name: str) -> KnownModel:
    """A model by name; `UsageError` lists similar ones."""
    every = known_models()
    found = next((one for one in every if one.name.lower() == name.lower()), None)
    if found is not None:
        return found
    endings = [one.name for one in every if name.lower() in one.name.lower()][:5]
    close = f" Did you mean {', '.join(endings)}?" if endings else ""
    raise UsageError(f"No model is called {name!r}.{close}", hint="Run: wellkept admin models")


def fetch(
    model: KnownModel, folder: Path, *, again: bool = False, progress: Progress | None = None
) -> list[str]:
    """Download a model into `folder`; the paths of its files below it."""
    try:
        commit, stated = _stated(model)
        _check_room(model, folder, stated)
        sizes = _Sizes(sum(one.size for one in stated.values()), progress)
        for path, one in stated.items():
            address = f"/{model.repository}/resolve/{commit}/{quote(path)}"
            if again or not one.fits(folder / path):
                _fetch_file(model, address, one, folder / path, partial(sizes.count, path))
            sizes.count(path, one.size)
    except (OSError, HTTPException) as error:
        raise ProviderError(
            f"{model.name} could not be downloaded: {_reason(error)}.", hint=_hint(error)
        ) from error
    return list(stated)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


# -- What the hub states --------------------------------------------------------------------------


def _stated(model: KnownModel) -> tuple[str, dict[str, _StatedFile]]:
    """The newest commit of a model's repository, and those of its files that are needed."""
    with _opened(f"/api/models/{model.repository}?blobs=true") as answer:
        try:
            described = cast("dict[str, Any]", json.load(answer))
            found = {each["rfilename"]: _stated_file(each) for each in described["siblings"]}
            commit = str(described["sha"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ProviderError(
                f"What answers at {_endpoint()} is no model hub.", hint="Check HF_ENDPOINT."
            ) from None
    if missing := sorted(set(model.files) - set(found)):
        raise ProviderError(f"The hub has no {missing[0]} of {model.name}.")
    wanted = {*_READ_WITH_ANY, *model.files}
    return commit, {path: one for path, one in found.items() if path in wanted}


def _stated_file(each: Mapping[str, Any]) -> _StatedFile:
    large = cast("dict[str, str]", each.get("lfs") or {})
    return _StatedFile(int(each["size"]), str(each["blobId"]), large.get("sha256"))


def _endpoint() -> str:
    """The hub, or a mirror of it."""
    from huggingface_hub import constants

    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def _check_room(model: KnownModel, folder: Path, stated: Mapping[str, _StatedFile]) -> None:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    kept = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    needed = sum(one.size for one in stated.values()) - kept
    free = shutil.disk_usage(there).free
    if needed > free:
        raise ProviderError(
            f"{model.name} needs {_megabytes(needed)} more, but only {_megabytes(free)} are free"
            f" in {there}.",
            hint="Free some space, then run the command again.",
        )


def _megabytes(count: int) -> str:
    return f"{math.ceil(count / 1_000_000):,} MB"


# -- Files ----------------------------------------------------------------------------------------


class _Sizes:
    """Tells how much of a model is here."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._by_path: dict[str, int] = {}

    def count(self, path: str, size: int) -> None:
        self._by_path[path] = size
        if self._progress is not None:
            self._progress(sum(self._by_path.values()), self._total)


def _fetch_file(
    model: KnownModel, address: str, stated: _StatedFile, target: Path, count: Callable[[int], None]
) -> None:
    """Fetch a file beside its place, check it, and move it there."""
    # Another version of the file must not be taken for the beginning of this one.
    part = target.with_name(f"{target.name}.{(stated.sha256 or stated.git_id)[:8]}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _fetch_rest(address, part, count)
            break
        except (HTTPError, ProviderError):
            raise
        except (OSError, HTTPException) as error:
            if attempt == _ATTEMPTS or _is_full_disk(error):
                raise
    if not stated.fits(part):
        part.unlink()
        raise ProviderError(
            f"{target.name} of {model.name} was damaged on the way: its hash differs.",
            hint=f"Run again: wellkept admin models get {model.name}",
        )
    part.replace(target)


def _fetch_rest(address: str, part: Path, count: Callable[[int], None]) -> None:
    """Append what is missing to `part`; `OSError` when the connection breaks off."""
    have = part.stat().st_size if part.exists() else 0
    try:
        answer = _opened(address, {"Range": f"bytes={have}-"} if have else {})
    except HTTPError as error:
        if have and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # all of it is here
        raise
    mode = "ab" if answer.status == HTTPStatus.PARTIAL_CONTENT else "wb"
    with answer, part.open(mode, buffering=0) as stream:
        left = int(answer.headers.get("Content-Length") or 0)
        while block := answer.read1(_BLOCK_BYTES):
            stream.write(block)
            left -= len(block)
            count(stream.tell())
    if left > 0:
        raise ConnectionError("the connection broke off")


def _opened(address: str, headers: Mapping[str, str] = NO_HEADERS) -> HTTPResponse:
    endpoint = Endpoint(_endpoint())
    check_allowed(endpoint)
    url = endpoint.base_url + address
    request = Request(url, headers={"User-Agent": "wellkept", **headers})
    open_with = build_opener(ProxyHandler({})).open if endpoint.is_loopback else urlopen
    return cast("HTTPResponse", open_with(request, timeout=_ANSWER_WITHIN_S))


# -- What went wrong ------------------------------------------------------------------------------


def _is_full_disk(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


def _reason(error: Exception) -> str:
    if _is_full_disk(error):
        return "the disk is full"
    if isinstance(error, HTTPError):
        return f"its hub answered with status {error.code}"
    if isinstance(error, URLError | ConnectionError | TimeoutError | HTTPException):
        return f"its hub cannot be reached ({_endpoint()}: {first_line(error)})"
    return first_line(error)


def _hint(error: Exception) -> str:
    if _is_full_disk(error):
        return "Free some space, then run the command again: it goes on where it ended."
    if isinstance(error, HTTPError):
        return "The model may have moved: another version of fastembed may know where to."
    return "It needs a connection to its hub once; afterwards it works offline."


# -- fastembed ------------------------------------------------------------------------------------


def _managers() -> dict[Kind, type[ModelManagement[BaseModelDescription]]]:
    if find_spec("fastembed") is None:
        raise ProviderError("The package fastembed is not installed.", hint=INSTALL_HINT)
    keep_quiet()
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    managers = {"embedding": TextEmbedding, "reranker": TextCrossEncoder}
    return cast("dict[Kind, type[ModelManagement[BaseModelDescription]]]", managers)


def _descriptions() -> Iterator[tuple[Kind, BaseModelDescription]]:
    for kind, manager in _managers().items():
        for description in manager._list_supported_models():  # pyright: ignore[reportPrivateUsage]
            if description.sources.hf and not description.model.startswith("wellkept/"):
                yield kind, description


def _known(kind: Kind, description: BaseModelDescription) -> KnownModel:
    return KnownModel(
        name=description.model,
        kind=kind,
        size_mb=round(1000 * description.size_in_GB),
        licence=description.license,
        dimension=getattr(description, "dim", None),
        description=description.description,
        repository=str(description.sources.hf),
        files=(description.model_file, *description.additional_files),
    )
