"""Serve a model file with llama.cpp: python serve_small_model.py MODEL PORT CONTEXT.

Runs with the package `xllamacpp` (wheels) or `llama-cpp-python[server]` (built from source).
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any


def main(model: str, port: str, context: str) -> None:
    """Serve until the process is ended."""
    if find_spec("xllamacpp") is None:
        options = ["--model", model, "--port", port, "--n_ctx", context]
        raise SystemExit(subprocess.call([sys.executable, "-m", "llama_cpp.server", *options]))
    library: Any = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    parameters.n_ctx = int(context)
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    parameters.use_jinja = True
    server = library.Server(parameters)
    while server:
        time.sleep(3_600)


if __name__ == "__main__":
    main(*sys.argv[1:4])
