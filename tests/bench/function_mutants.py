"""Changes what is in the functions of the guarded web and sees whether the tests notice, with mutmut.

``python -m tests.bench.function_mutants [NAME…]``, a name being that of a module (``seen``). The exit status is 0 when
at least 95 of 100 mutants of each module are killed, or take too long to end, those aside that no test can tell: they
stand in ``survivors.toml``, with the reason. What survives is listed, with its reason or without: then a test is
missing.

mutmut changes what is in functions. The tables and patterns beside them are left to ``tests.bench.mutants``. It wants
its sources under ``src``, so the work is done on a copy.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).parent.parent.parent
REASONS = Path(__file__).with_name("survivors.toml")
TARGET = 0.95
MODULES = {
    **{
        name: f"hostcall.web.{name}"
        for name in ("address", "ranges", "hosts", "networks", "seen", "fetch", "content", "crawl", "report")
    },
    "wire": "hostcall_drivers.wire",
    "plain_head": "hostcall_drivers.plain_head",
}
KILLED = frozenset({"killed", "timeout", "segfault"})


@attrs.frozen
class Survivor:
    """A mutant that the tests pass with."""

    name: str
    was: str
    """The line before the change, without the blanks around it."""
    became: str


def lay_out(folder: Path) -> None:
    """Make the copy: packages under ``src``, tests beside them, and what tells mutmut about them."""
    ignore = shutil.ignore_patterns("__pycache__")
    for source in ("core/hostcall", "drivers/hostcall_drivers"):
        shutil.copytree(ROOT / source, folder / "src" / Path(source).name, ignore=ignore)
    for name in ("tests", "fuzz"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)


def mutmut(folder: Path, *words: str) -> str:
    """Run mutmut in the copy and return what it prints."""
    command = [sys.executable, "-m", "mutmut", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"mutmut {words[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def results(folder: Path) -> dict[str, str]:
    """Return what became of each mutant."""
    lines = mutmut(folder, "results", "--all", "true").splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in lines if "__mutmut_" in line)


def survivor(folder: Path, name: str) -> Survivor:
    """Return what a mutant changed."""
    shown = mutmut(folder, "show", name).splitlines()
    was, became = (
        " ".join(line[1:].strip() for line in shown if line.startswith(sign) and not line.startswith(sign * 3))
        for sign in "-+"
    )
    return Survivor(name, was, became)


def reasons() -> dict[tuple[str, str, str], str]:
    """Return why a survivor is no gap in the tests: by module, line and changed line."""
    table = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return {
        (module, entry["was"], entry["became"]): entry["why"] for module, entries in table.items() for entry in entries
    }


def main(names: Sequence[str]) -> int:
    """Try the mutants of the modules named, or of all."""
    if names and not MODULES.keys() & set(names):
        print("none of these is changed by mutmut")
        return 0
    chosen = {name: module for name, module in MODULES.items() if not names or name in names}
    known = reasons()
    started = time.monotonic()
    good = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lay_out(folder)
        only = [f"{module}.*" for module in chosen.values()] if names else []
        mutmut(folder, "run", "--max-children", "2", *only)
        outcomes = results(folder)
        for name, module in chosen.items():
            mine = {mutant: outcome for mutant, outcome in outcomes.items() if mutant.startswith(f"{module}.")}
            counts = Counter(mine.values())
            killed = sum(counts[outcome] for outcome in KILLED)
            left = [survivor(folder, mutant) for mutant, outcome in mine.items() if outcome not in KILLED]
            told = 0
            for one in left:
                why = known.get((name, one.was, one.became))
                told += why is not None
                print(f"{one.name.rpartition('.')[2]}: {one.was} -> {one.became}" + (f" ({why})" if why else ""))
            share = killed / max(len(mine), 1)
            good = good and killed >= TARGET * (len(mine) - told) > 0
            print(f"{name}: killed {killed} of {len(mine)} ({share:.1%}), {told} of {len(left)} others with a reason")
    print(f"in {time.monotonic() - started:.0f} s")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
