"""``hostcall serve``. What it needs is loaded when it runs: the other commands need none of it."""

import os
from pathlib import Path
from typing import Any

import click

from hostcall_drivers.chat.settings import SETTINGS, Setting, read_settings


def _option(setting: Setting) -> click.Option:
    default = "" if setting.default in (None, ()) else f"  [default: {setting.default}]"
    # Texts all: the settings say what is wrong with one, whether it came from here or from elsewhere.
    return click.Option([setting.flag], type=str, multiple=setting.many, help=setting.help + default)


def serve(config: Path | None, **flags: Any) -> None:
    """Run the chat service: OpenAI's interface, with the web tools of this host.

    Every option is also a variable (HOSTCALL_PORT, …) and a member of the TOML file (port = …). Keys are in the file
    ([keys], NAME = "KEY") or in HOSTCALL_KEYS=NAME=KEY,…; without one, only a loopback address is bound.
    """
    from hostcall_drivers.cli import exit_with

    settings = read_settings(flags, os.environ, config)
    try:
        from hostcall_drivers.chat.run import run_service
    except ModuleNotFoundError as error:
        raise click.UsageError(f"the service needs the {error.name} library: pip install 'hostcall[chat]'") from error

    async def run() -> int:
        return await run_service(settings, announce)

    exit_with(run)


def serve_demo(port: str | None, gguf: Path | None) -> None:
    """Run the chat service on the engine, the search and the pages of the demo."""
    from hostcall_drivers.cli import exit_with

    # The demo is the same for everybody: nothing but the port is asked of the environment.
    settings = read_settings({"engine": ("http://127.0.0.1:9",), "port": port}, {}, None)
    try:
        from hostcall_drivers.chat.run import serve as serve_driver
        from hostcall_drivers.demo.run import demo_driver
    except ModuleNotFoundError as error:
        raise click.UsageError(f"this needs the {error.name} library: pip install 'hostcall[chat,demo]'") from error

    async def run() -> int:
        async with demo_driver(gguf=gguf) as driver:
            return await serve_driver(driver, settings, announce)

    exit_with(run)


def announce(address: str) -> None:
    """Say where the service is, on the error stream, where its log goes too."""
    click.echo(f"hostcall: serving at {address}", err=True)


serve_command = click.Command(
    "serve",
    callback=serve,
    help=serve.__doc__,
    params=[
        click.Option(["--config"], type=click.Path(dir_okay=False, path_type=Path), envvar="HOSTCALL_CONFIG",
                     help="The TOML file (or HOSTCALL_CONFIG)."),
        click.Option(["--engine"], type=str, multiple=True, metavar="[NAME=]URL",
                     help="An engine, like http://127.0.0.1:8080 or unix:/run/engine.sock; several with a name each."),
        click.Option(["--row"], type=str, multiple=True, metavar="[NAME=]ROW",
                     help="What is known of an engine: a row that ships, or a file of `doctor`."),
        *map(_option, SETTINGS),
    ],
)  # fmt: skip
