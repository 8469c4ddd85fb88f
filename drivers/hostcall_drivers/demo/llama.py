"""A real model behind the real wire: llama.cpp's own server, as the `xllamacpp` package carries it.

``python -m hostcall_drivers.demo.llama MODEL.gguf`` prints the address and serves until it is told to stop. The key
comes from the environment (HOSTCALL_LLAMA_KEY), so that it does not stand in the list of processes.
"""

import os
import signal
import sys
from pathlib import Path

CONTEXT_TOKENS = 8192


def serve(model: Path, *, key: str, template: Path | None = None) -> None:
    """Serve a model on the loopback until SIGINT or SIGTERM."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.ui = False
    # Two threads on a busy two-core machine wait for each other: one is faster there.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys = [key]
    if template is not None:
        params.chat_template = template.read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    # The server's threads do not end with the interpreter.
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), key=os.environ["HOSTCALL_LLAMA_KEY"], template=Path(sys.argv[2]) if sys.argv[2:] else None)
