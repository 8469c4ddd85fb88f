"""Changes the code in small ways and sees whether the tests notice: ``python -m tests.bench.mutants [N] [NAME…]``.

Of the guarded web only what stands beside its functions is changed here, its tables and patterns: the functions are
mutmut's (``tests.bench.function_mutants``), which leaves those out.

Each mutant is one change of one node: a comparison turned round, `and` for `or`, a condition that never holds, a number
one higher, a text with something at its end, a result that is None. A mutant is killed when the tests of its file fail
or run out of time. The exit status is 0 when at least 95 of 100 are killed in every file (90 in the loop and the
engines, whose tests are whole answers), those aside that no test can tell: they are listed below, with the reason. With
a number, so many mutants of each file are drawn, the same ones each time.

What cannot matter to a test is not mutated: docstrings, annotations, the messages of errors, settings of fields, and
the words beside a row of a table. The work is done on a copy; each mutant runs in a fork of a process that has the test
tools loaded.
"""

import ast
import copy
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.bench.function_mutants import MODULES

ROOT = Path(__file__).parent.parent.parent
TARGET = 0.95
TARGET_LOOP = 0.90
SECONDS = 30
WEB, DRIVERS = "core/hostcall/web", "drivers/hostcall_drivers"
LOOP = {
    "answer": (
        "answer", "asking", "budget", "calls", "citations", "clock", "ending", "ledger", "plan", "probe", "prompts",
        "reading", "receipts", "results", "round", "settle", "statements", "tools", "transcript", "work", "world",
    ),
    "engine": (
        "capabilities", "faults", "history", "merge", "models", "ndjson", "ollama", "openai", "pattern", "plain",
        "rescue", "settings", "sse", "wires",
    ),
}  # fmt: skip
ANSWERS = "tests/core/answer"
CASES = "tests/cases/test_answers.py"
LEFT_OUT = ("paths", "faults", "scenarios")
"""Properties over all scenarios. They take longer than all the others, at each survivor."""
QUICK = tuple(
    f"{ANSWERS}/{path.name}"
    for path in sorted((ROOT / ANSWERS).glob("test_*.py"))
    if path.stem.removeprefix("test_") not in LEFT_OUT
)
PLUGINS = ("pytest_trio.plugin", "_hypothesis_pytestplugin")
FILES: dict[str, tuple[str, ...]] = {
    **{
        f"{WEB}/{name}.py": (f"tests/core/web/test_{name}.py",)
        for name in ("ranges", "hosts", "networks", "address", "seen", "content", "fetch", "crawl", "report")
    },
    f"{DRIVERS}/wire.py": ("tests/drivers/test_wire.py",),
    f"{DRIVERS}/plain_head.py": ("tests/drivers/test_plain_head.py",),
    **{
        f"core/hostcall/{room}/{name}.py": (
            *(f"tests/core/{room}/{path.name}" for path in (ROOT / "tests/core" / room).glob(f"test_{name}*.py")),
            CASES,
            *(["tests/core/engine"] if room == "engine" else []),
            *QUICK,
        )
        for room, names in LOOP.items()
        for name in names
    },
}
_STATE = "h11 is only told that something was asked for; what goes out is laid out apart"
_SPEED = "the other way comes to the same, more slowly"
_FALSE = "None is as false to whoever asks"
_ANY = "whether there was any is all that is asked of the count"
_KEPT = "the name under which a repair is remembered, and nothing else"
ALIKE: dict[str, dict[tuple[str, str], str]] = {
    f"{WEB}/hosts.py": {
        ("_LONGEST_TEXT = 1024", "1024"): "a text of that length is no name after the mapping either",
        ("_JOINERS =", repr("\u200c\u200d")): "a label has no capital letters by then",
        ("_NEWER = re.compile", "']'"): "the other two tables refuse them on this version of Python",
        ('"""', repr("\n    557-558 58b-58c 5c8-5cf 8")): "only what has a hyphen in it is read as a range",
    },
    f"{WEB}/report.py": {("room: int = 0", "0"): "it is dealt out before it is looked at"},
    f"{WEB}/seen.py": {
        ("_provenance:", "'host'"): "anything but address means by host",
        ("_AUTHORITY =", repr("\\[[^\\]")): "no address in brackets has a capital X",
        ("_NEWER =", "''"): "a letter in the pattern twice",
        ("_NAME =", repr("]|[.\\-")): "a letter in the pattern twice",
        ("_INSIDE =", repr("/?#&=%:@.~_+$!-")): "no scheme stands behind a letter",
        (
            "_MARKS =",
            repr("\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"),
        ): "a letter in the pattern twice",
        (
            "_MARKS +=",
            repr("\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e"),
        ): "a letter in the pattern twice",
        (
            "_MARKS +=",
            repr(
                "\u0eb1-\u0ebc\u0ec8-\u0ece\u0f18-\u0f39\u0f3e-\u0f84\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u3099\u309a"
            ),
        ): "a letter in the pattern twice",
        ("_JOINED_AFTER =", repr("@\u00ad\u200d\u2060\ufe6b\uff20")): "a letter beside a name is a part of it",
        ("_JOINED_BEFORE =", repr("/\\%")): "a letter beside a name is a part of it",
    },
    f"{DRIVERS}/wire.py": {
        ("_SLICE = 4096", "4096"): "how finely it is fed shows in the time alone",
        ("_ASKED =", "'GET'"): _STATE,
        ("_ASKED =", "'/'"): _STATE,
        ("_ASKED =", "''"): _STATE,
    },
    "core/hostcall/answer/asking.py": {
        ('if fault.kind == "no_tools"', "'rescue'"): _KEPT,
        ('if fault.kind == "needs_reasoning"', "'reasoning'"): _KEPT,
        ("if not self._first(", "'overflow'"): _KEPT,
    },
    "core/hostcall/engine/openai.py": {("self._valid += 1", "1"): _ANY},
    "core/hostcall/engine/ollama.py": {("self._valid += 1", "1"): _ANY},
    "core/hostcall/engine/sse.py": {("and len(block) <= self.max_event", "LtE"): _SPEED},
    "core/hostcall/answer/reading.py": {("for number, page in zip(", "True"): "they are of one length"},
    "core/hostcall/answer/statements.py": {('self._last = ""', "''"): "no member of either name"},
    "core/hostcall/engine/plain.py": {("return False", "return None"): _FALSE},
    "core/hostcall/engine/pattern.py": {
        ("if _PLAIN.fullmatch(string)", "if False"): _SPEED,
        ("if string is None or data[", "Or"): "what was decoded holds a string there, and its end",
        ("opening = _OPENING(data", "1"): "the key does not begin again within itself",
        ("opening = _OPENING(data", "Lt"): "what is looked for behind a place is not found at the beginning",
    },
    "core/hostcall/engine/faults.py": {
        ("_kind(status, f", "''"): "what stands for a type or a code that is absent is in no word that is looked for",
        ("return text.split(", "1"): "the first of the parts is the same",
    },
}
"""Survivors that no test can tell from the code, by the beginning of the line and the change, with the reason."""
UNMUTATED_CALLS = frozenset(
    {"Block", "field", "AssertionError", "ConversationError", "LocalProtocolError", "SettingsError", "define", "frozen"}
)

Mutant: TypeAlias = tuple[int, str, str]
"""Line, what was changed, and the whole source."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.RShift: ast.LShift,
    ast.LShift: ast.RShift,
}


def mutants(source: str, *, functions: bool = True) -> Iterator[Mutant]:
    """Yield every mutant of a source, those in its functions included or not."""
    tree = ast.parse(source)
    kept = _unmutated(tree)
    if not functions:
        bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        kept |= {id(node) for body in bodies for node in ast.walk(body)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in kept:
            continue
        for change, name in _changes(node):
            mutated = copy.deepcopy(tree)
            target = list(ast.walk(mutated))[number]
            change(target)
            yield getattr(node, "lineno", 0), name, ast.unparse(ast.fix_missing_locations(mutated))


def _unmutated(tree: ast.Module) -> set[int]:
    """Return the ids of the nodes that no test could miss."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() | ast.JoinedStr()):
                roots.append(node)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in UNMUTATED_CALLS:
                roots.append(node)
            case ast.AnnAssign():
                roots.append(node.annotation)
                # A union or a Literal under a name is an annotation too.
                roots.append(node.value if ast.unparse(node.annotation) == "TypeAlias" else None)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                roots.append(node.returns)
            case ast.arg():
                roots.append(node.annotation)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                roots.append(node)
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                roots.append(node)
            case ast.ClassDef(bases=[ast.Name(id="Enum")]):
                roots.append(node)
    return {id(node) for root in roots if root is not None for node in ast.walk(root)}


def _changes(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """Yield the changes to make to a node, each with its name."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                if other := _COMPARISONS.get(type(op)):
                    yield (lambda n, at=at, other=other: n.ops.__setitem__(at, other())), type(op).__name__
        case ast.BoolOp(op=op):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield (lambda n: setattr(n, "op", other_op)), type(op).__name__
        case ast.UnaryOp(op=ast.Not()):
            yield (lambda n: setattr(n, "operand", ast.UnaryOp(op=ast.Not(), operand=n.operand))), "not"
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _OPERATORS:
            if not _is_text(node):
                yield (lambda n: setattr(n, "op", _OPERATORS[type(operator)]())), type(operator).__name__
        case ast.Constant(value=bool() as value):
            yield (lambda n: setattr(n, "value", not value)), str(value)
        case ast.Constant(value=int() as number):
            yield (lambda n: setattr(n, "value", number + 1)), str(number)
        case ast.Constant(value=str() as text):
            yield (lambda n: setattr(n, "value", text + "XX")), repr(text[:30])
        case ast.Constant(value=bytes() as data):
            yield (lambda n: setattr(n, "value", data + b"XX")), repr(data[:30])
        case ast.IfExp() | ast.If():
            yield (lambda n: setattr(n, "test", ast.Constant(value=False))), "if False"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield (lambda n: setattr(n, "value", ast.Constant(value=None))), "return None"
        case ast.Expr(value=ast.Call()):
            yield (lambda n: setattr(n, "value", ast.Constant(value=None))), "no call"


def _is_text(node: ast.AST) -> bool:
    """Say whether an operator joins literal texts, which no other operator takes."""
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", 0), str)
        for part in ast.iter_child_nodes(node)
    )


def _passes(folder: Path, tests: Sequence[str]) -> bool:
    """Run tests in a fork, on the copy. Not a subprocess: to load the tools takes longer than most of the tests."""
    pid = os.fork()
    if pid == 0:
        # Of its own time, so that a busy machine kills no mutant; and of the clock's, for one that waits for ever.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(20 * SECONDS)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(folder)
        sys.path[:0] = [str(folder / "core"), str(folder / "drivers"), str(folder)]
        for name in [name for name in sys.modules if name.split(".")[0] in {"hostcall", "hostcall_drivers", "tests"}]:
            del sys.modules[name]
        import pytest

        flags = ("-q", "-x", "-p", "no:cacheprovider", "--tb=no", "-W", "ignore")
        # A file's own tests kill most of its mutants, in less time than the others take to be collected.
        at = tests.index(CASES) if CASES in tests else len(tests)
        codes = (pytest.main([*flags, *part]) for part in (tests[:at], tests[at : at + 1], tests[at + 1 :]) if part)
        os._exit(next((int(code) for code in codes if code), 0))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


_GOOD: set[str] = set()
"""The tests that were seen to pass without a mutant."""


def run(path: str, tests: Sequence[str], most: int | None) -> float:
    """Try the mutants of one file, all or a number of them, and return the share that was killed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("core", "drivers", "tests", "fuzz", "pyproject.toml"):
            copying = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copying(ROOT / part, folder / part)
        if not (_GOOD.issuperset(tests) or _passes(folder, tests)):
            print(f"{path}: the tests fail without a mutant")
            return 0.0
        _GOOD.update(tests)
        killed = total = alike = 0
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        tried = list(mutants("\n".join(lines), functions=Path(path).stem not in MODULES))
        of = len(tried)
        if most is not None and most < of:
            tried = random.Random(path).sample(tried, most)
        for line, change, source in tried:
            (folder / path).write_text(source, encoding="utf-8")
            total += 1
            if _passes(folder, tests):
                reason = _alike(path, lines[line - 1].strip(), change)
                alike += reason is not None
                print(f"{path}:{line}: survived: {change}{f' ({reason})' if reason else ''}", flush=True)
            else:
                killed += 1
    print(
        f"{path}: killed {killed} of {total} ({killed / max(total, 1):.1%}; there are {of}), {alike} that no test can "
        f"tell, in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return killed / max(total - alike, 1)


def _alike(path: str, line: str, change: str) -> str | None:
    """Return why a survivor is no gap in the tests, if it is none."""
    known = ALIKE.get(path, {})
    return next((why for (start, what), why in known.items() if line.startswith(start) and change == what), None)


def main(names: Sequence[str]) -> int:
    """Try the files whose name is given, or all."""
    import ada_url  # noqa: F401 - loaded once, for every fork
    import hypothesis
    import jsonschema  # noqa: F401 - the same
    import lxml.etree  # noqa: F401 - the same
    import pytest  # noqa: F401 - the same

    for plugin in PLUGINS:
        importlib.import_module(plugin)
    # To look for plugins takes longer than most of the tests.
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_PLUGINS=",".join(PLUGINS))

    sys.dont_write_bytecode = True
    # The same examples for every mutant: what is measured is the tests, not their luck.
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")
    most = next((int(name) for name in names if name.isdigit()), None)
    names = [name for name in names if not name.isdigit()]
    stems = sorted({Path(path).stem for path in FILES})
    if unknown := [name for name in names if name not in stems]:
        raise SystemExit(f"no such module: {', '.join(unknown)}; there are {', '.join(stems)}")
    chosen = {path: tests for path, tests in FILES.items() if not names or Path(path).stem in names}
    good = [
        run(path, tests, most) >= (TARGET_LOOP if "/answer/" in path or "/engine/" in path else TARGET)
        for path, tests in chosen.items()
    ]
    return int(not good or not all(good))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
