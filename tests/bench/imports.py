"""``python -m tests.bench.imports``: the CPU time of imports, side by side, the best of several runs each.

Bytecode is kept between the runs, as an installer leaves it, whatever the environment says: it is the import that is
measured, not the compiler. The exit status is 1 when `import hostcall` takes longer than `CORE`.
"""

import os
import subprocess
import sys
import tempfile

RUNS = 7
CORE = 60.0
"""Milliseconds that `import hostcall` may take."""
STATEMENTS = {
    "import attrs (floor)": "import attrs",
    "import hostcall": "import hostcall",
    "from hostcall import Answer": "from hostcall import Answer",
    "from hostcall_drivers import SyncDriver": "from hostcall_drivers import SyncDriver",
    "from hostcall_drivers import TrioDriver": "from hostcall_drivers import TrioDriver",
    "from hostcall_drivers import AsyncioDriver": "from hostcall_drivers import AsyncioDriver",
    "import trio": "import trio",
    "import asyncio": "import asyncio",
}


def milliseconds(statement: str, cache: str) -> float:
    """Return the least CPU time of a statement in a fresh interpreter, in milliseconds."""
    script = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = cache
    command = [sys.executable, "-c", script]
    times = [
        float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
        for _ in range(RUNS)
    ]
    return min(times) * 1000


def main() -> int:
    """Print a line for each import, and return 1 when the core's takes longer than it may."""
    with tempfile.TemporaryDirectory() as cache:
        floor = milliseconds(STATEMENTS["import attrs (floor)"], cache)
        took = {name: milliseconds(statement, cache) for name, statement in STATEMENTS.items()}
    for name, value in took.items():
        print(f"{name:45} {value:7.1f} ms  {value / floor:5.2f} x floor")
    return int(took["import hostcall"] > CORE)


if __name__ == "__main__":
    sys.exit(main())
