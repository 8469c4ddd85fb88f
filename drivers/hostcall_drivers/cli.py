"""The command line: ``hostcall ask | serve | demo | doctor | fetch | filter | replay``.


Exit codes: 0 done · 1 refused, failed or differs · 2 usage, settings, unreachable service · 130 interrupted.
"""

import contextlib
import io
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import trio

from hostcall import __version__
from hostcall.answer.answer import Answer
from hostcall.answer.reading import Reading
from hostcall.answer.tools import offered_tools
from hostcall.commands import Finish
from hostcall.data import Result
from hostcall.engine.settings import Engine
from hostcall.errors import HostcallError, LocalProtocolError
from hostcall.limits import Limits
from hostcall.record import recording
from hostcall.record.recording import Recipe
from hostcall.record.replay import difference, replay
from hostcall.tooltext import Reasoning, Remark, Text, TextFilter, ToolCall
from hostcall.web.settings import Web
from hostcall_drivers.chat.command import serve_command, serve_demo
from hostcall_drivers.checks import check_engine, check_search
from hostcall_drivers.engines import known_rows
from hostcall_drivers.journal import LOGGER, Journal
from hostcall_drivers.options import engine_options, finite, read_engines
from hostcall_drivers.recorder import FileRecorder
from hostcall_drivers.saved import folder
from hostcall_drivers.terminal import Screen, clean
from hostcall_drivers.trio import TrioDriver
from hostcall_drivers.visit import doctor_command

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

record_option = click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a recording that `replay` plays (mode 0600).",
)
allow_option = click.option("--allow-network", multiple=True, help="Open this network although the table refuses it.")
deny_option = click.option("--deny-network", multiple=True, help="Refuse this network beside the table.")


class JournalFile(logging.FileHandler):
    """The file of the journal. One that cannot be written says so in a line, once, and the answer goes on."""

    told = False

    def handleError(self, record: logging.LogRecord | None) -> None:  # noqa: N802 - its base's name
        """Tell of what is wrong, in place of a traceback a line."""
        if not self.told:
            self.told = True
            reason = getattr(sys.exc_info()[1], "strerror", None) or "its lines are lost"
            click.echo(f"hostcall: the journal {self.baseFilename} cannot be written: {reason}", err=True)

    def close(self) -> None:
        """Close the file; what was still to be written may fail here."""
        try:
            super().close()
        except OSError:
            self.handleError(None)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hostcall")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="HOSTCALL_JOURNAL",
    help="Append a JSON line for each page request and each refusal to this file (or HOSTCALL_JOURNAL).",
)
@click.pass_context
def cli(context: click.Context, journal: Path | None) -> None:
    """Answer questions with tools that the host decides about."""
    try:
        handler = JournalFile(journal) if journal is not None else logging.NullHandler()
    except OSError as error:
        raise click.BadParameter(f"{journal} cannot be written: {error.strerror}", param_hint="--journal") from error
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    # What the screen says of a refusal is enough there; the line is for the file.
    logger.propagate = False
    logger.setLevel(logging.INFO)

    def end() -> None:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()

    context.call_on_close(end)


@cli.command()
@click.argument("question")
@engine_options
@click.option("--search", "search_url", help="SearXNG, like http://127.0.0.1:8888; without it there are no web tools.")
@click.option("--system", help="A system message of your own.")
@click.option("--no-research", is_flag=True, help="No plan, no sub-questions, no kinds of search.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    callback=finite,
    help="For the whole answer.",
)
@allow_option
@deny_option
@record_option
def ask(
    question: str,
    addresses: tuple[str, ...],
    model: str | None,
    keys: tuple[str, ...],
    rows: tuple[str, ...],
    ca: Path | None,
    search_url: str | None,
    system: str | None,
    no_research: bool,
    seconds: float,
    allow_network: tuple[str, ...],
    deny_network: tuple[str, ...],
    record: Path | None,
) -> None:
    """Answer QUESTION."""
    conversation = [{"role": "system", "content": system}] if system else []
    web = Web(allow_networks=allow_network, deny_networks=deny_network)
    engines, tls = read_engines(addresses, keys, rows, ca)
    recipe = Recipe(
        conversation=[*conversation, {"role": "user", "content": question}],
        web=web if search_url is not None else False,
        research=not no_research,
        limits=Limits(answer_seconds=seconds),
    )
    if not question.strip():
        raise click.UsageError("the question is empty")
    recipe.answer()  # what is wrong with the settings is told before anything is asked

    async def run() -> int:
        recorder = FileRecorder(record, recipe) if record is not None else None
        async with TrioDriver(engines, search_url, services_tls=tls, record=recorder, journal=Journal()) as driver:
            named = await check_engine(driver, model, rows=None if rows else folder(os.environ))
            if driver.search is not None:
                await check_search(driver)
            asked = attrs.evolve(recipe, engine=engines.settings(named))
            if recorder is not None:
                recorder.recipe = asked
            return await show(driver, asked.answer())

    exit_with(run)


@cli.command()
@click.argument("question", required=False)
@click.option("--gguf", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A real model instead.")
@click.option("--serve", "serving", is_flag=True, help="Run the chat service on the demo's engine and web.")
@click.option("--port", help="Of the service.  [default: 8300]")
@record_option
def demo(question: str | None, gguf: Path | None, serving: bool, port: str | None, record: Path | None) -> None:
    """Answer QUESTION from the documentation inside this Python: no network, no model."""
    if serving:
        if question is not None or record is not None:
            raise click.UsageError("--serve takes no QUESTION and no --record: each client asks its own")
        serve_demo(port, gguf)
        return
    if port is not None:
        raise click.UsageError("--port is the service's: it needs --serve")
    try:
        from hostcall_drivers.demo.run import SAMPLE, run_demo
    except ModuleNotFoundError as error:
        sys.exit(fail(f"the demo needs the {error.name} library: pip install 'hostcall[demo]'", USAGE))

    asked = question if question is not None else SAMPLE
    if not asked.strip():
        raise click.UsageError("the question is empty")
    recipe = Recipe(
        conversation=[{"role": "user", "content": asked}],
        engine=Engine(capabilities=known_rows()["llama-server"].capabilities),
    )

    async def run() -> int:
        recorder = FileRecorder(record, recipe) if record is not None else None
        return await run_demo(recipe.answer(), show, gguf=gguf, recorder=recorder)

    exit_with(run)


@cli.command()
@click.argument("url")
@click.option("--seen", multiple=True, help="Only this host may be opened (may repeat); else the one typed.")
@click.option("--hops", type=click.IntRange(0, 2), default=0, show_default=True, help="Follow the page's own links.")
@allow_option
@deny_option
def fetch(
    url: str, seen: tuple[str, ...], hops: int, allow_network: tuple[str, ...], deny_network: tuple[str, ...]
) -> None:
    """Read the page at URL as a model would get it, under the safety rules."""
    web = Web(allow_networks=allow_network, deny_networks=deny_network)

    async def run() -> int:
        reading = Reading(url, seen=seen or None, web=web, limits=Limits(hops=hops))
        # The engine of this driver is never asked.
        async with TrioDriver("http://127.0.0.1:9", journal=Journal()) as driver, driver.run(reading) as notices:
            async for notice in notices:
                if isinstance(notice, Finish):
                    return print_page(notice.result)
        raise AssertionError("every reading ends with Finish")

    exit_with(run)


def print_page(result: Result) -> int:
    """Print a page that was read, or why it was not."""
    if result.why_stopped != "answered":
        return fail(f"not read: {result.detail}", FAILED)
    click.echo(clean(result.text))
    return DONE


@cli.command(name="filter")
@click.option("--tools", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="JSON list of tools.")
@click.option("--dialect", multiple=True, help="Arm this dialect (may repeat); else all distinctive ones.")
@click.option("--model", help="The model's name, as a hint which dialects it writes.")
@click.option("--reasoning", is_flag=True, help="The text starts inside reasoning.")
@click.option("--cut", is_flag=True, help="The text was cut by a length limit.")
@click.option("--trace", is_flag=True, help="Show each decision of the filter with its offset.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def filter_(
    tools: Path | None,
    dialect: tuple[str, ...],
    model: str | None,
    reasoning: bool,
    cut: bool,
    trace: bool,
    as_json: bool,
) -> None:
    """Show what the reader and the loop get of a model's raw text on stdin."""
    offered = read_tools(tools)
    decisions: list[Any] = []
    options: dict[str, Any] = {"trace": decisions} if trace else {}
    try:
        text_filter = TextFilter(
            offered,
            dialects=dialect or ("auto", "bare-json", "fenced-json", "fenced"),
            model=model,
            starts_in_reasoning=reasoning or None,
            **options,
        )
    except ValueError as error:
        sys.exit(fail(str(error), USAGE))
    if sys.stdin is None:
        raise click.UsageError("the text is read from the standard input, and that is closed")
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    pieces = [*text_filter.feed(text), *text_filter.finish("length" if cut else "stop")]
    for piece in pieces:
        click.echo(json.dumps(described(piece)) if as_json else clean(line_of(piece)))
    for decision in decisions:
        click.echo(f"trace      {decision}")


def read_tools(path: Path | None) -> list[dict[str, Any]]:
    """Return the tools of a file, or the two web tools."""
    if path is None:
        return offered_tools((), web=True, research=True, limits=Limits())
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        names = [tool["function"]["name"] for tool in value] if isinstance(value, list) else [None]
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise click.BadParameter(f"{path} is no JSON list of tools in the OpenAI shape", param_hint="--tools")
    return list(value)


def described(piece: Text | Reasoning | ToolCall | Remark) -> dict[str, Any]:
    """Return a piece of the filter as plain data."""
    return {"is": type(piece).__name__.lower(), **attrs.asdict(piece)}


def line_of(piece: Text | Reasoning | ToolCall | Remark) -> str:
    """Return a piece of the filter as a line for a person."""
    match piece:
        case Text():
            return f"text       {piece.text!r}"
        case Reasoning():
            return f"reasoning  {piece.text!r}"
        case ToolCall():
            return f"call       {piece.name} {json.dumps(piece.arguments, ensure_ascii=False)}  ({piece.dialect})"
        case Remark():
            return f"remark     {piece.kind} {piece.name or ''} {piece.raw!r}"


@cli.command(name="replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--commands", is_flag=True, help="Print every command.")
def replay_(file: Path, commands: bool) -> None:
    """Play the recording FILE, and compare how it ends."""
    try:
        with file.open(encoding="utf-8") as lines:
            read = recording.read(lines)
        made = list(replay(read))
    except LocalProtocolError as error:
        sys.exit(fail(f"{file} does not fit this version: {error}", FAILED))
    except (HostcallError, UnicodeDecodeError) as error:
        sys.exit(fail(f"{file}: {error}", USAGE))
    if commands:
        for command in made:
            click.echo(clean(repr(command)))
    differs = difference(read, made)
    if differs is not None:
        sys.exit(fail(differs, FAILED))
    click.echo(f"{len(read.events)} events, {len(made)} commands: the same end")


cli.add_command(serve_command)
cli.add_command(doctor_command)


# What the commands share.


async def show(driver: TrioDriver, answer: Answer) -> int:
    """Carry an answer out on the terminal, and return the exit code."""
    screen = Screen()
    result: Result | None = None
    with screen:
        async with driver.run(answer) as notices:
            async for notice in notices:
                screen.show(notice)
                if isinstance(notice, Finish):
                    result = notice.result
    if result is None:
        raise AssertionError("every answer ends with Finish")
    screen.end(result)
    if result.why_stopped in ("answered", "rounds_used", "budget_spent"):
        return DONE
    return fail(f"{result.why_stopped.replace('_', ' ')}: {result.detail or 'no answer'}", FAILED)


def exit_with(run: Callable[[], Awaitable[int]]) -> None:
    """Run a command to its exit code. What can go wrong outside is one line, never a traceback."""
    try:
        code = trio.run(run)
    except HostcallError as error:
        code = fail(str(error), USAGE)
    except KeyboardInterrupt:
        code = fail("interrupted", INTERRUPTED)
    except BaseExceptionGroup as group:
        known = [error for error in leaves(group) if isinstance(error, HostcallError | KeyboardInterrupt | OSError)]
        if not known:
            raise
        if any(isinstance(error, KeyboardInterrupt) for error in known):
            code = fail("interrupted", INTERRUPTED)
        elif isinstance(known[0], HostcallError):
            code = fail(str(known[0]), USAGE)
        else:
            raise known[0] from None
    sys.exit(code)


def leaves(error: BaseException) -> list[BaseException]:
    """Return the exceptions inside a group."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def fail(text: str, code: int) -> int:
    """Print one line to the error stream and return the exit code."""
    click.echo(f"hostcall: {clean(' '.join(text.split()))}", err=True)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(args=list(arguments) if arguments is not None else None, prog_name="hostcall", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return fail("interrupted", INTERRUPTED)
    except HostcallError as error:
        return fail(str(error), USAGE)
    except OSError as error:
        silence_stdout()
        return fail(f"the output cannot be written: {error.strerror or error}", FAILED)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else USAGE
    try:
        sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return fail(f"the output cannot be written: {error.strerror or error}", FAILED)
    return DONE


def silence_stdout() -> None:
    """Keep the interpreter from writing, at its end, what could not be written before."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
