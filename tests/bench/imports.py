"""``python -m tests.bench.imports``: the CPU time of imports, side by side, the best of several runs each."""

import subprocess
import sys

RUNS = 7
STATEMENTS = {
    "import attrs (floor)": "import attrs",
    "import hostcall": "import hostcall",
    "from hostcall import Answer": "from hostcall import Answer",
    "from hostcall_drivers import SyncDriver": "from hostcall_drivers import SyncDriver",
    "from hostcall_drivers import TrioDriver": "from hostcall_drivers import TrioDriver",
    "import trio": "import trio",
}


def milliseconds(statement: str) -> float:
    """Return the least CPU time of a statement in a fresh interpreter, in milliseconds."""
    script = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    times = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(RUNS)
    ]
    return min(times) * 1000


def main() -> None:
    """Print a line for each import."""
    floor = milliseconds(STATEMENTS["import attrs (floor)"])
    for name, statement in STATEMENTS.items():
        took = milliseconds(statement)
        print(f"{name:45} {took:7.1f} ms  {took / floor:5.2f} x floor")


if __name__ == "__main__":
    main()
