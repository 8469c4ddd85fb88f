"""``hostcall doctor``: has an engine and a search service examined, prints what was found and keeps the row."""

import datetime as dt
import os
from pathlib import Path

import attrs
import click

from hostcall.commands import ShowProgress
from hostcall.doctor import Doctor, Finding, Report
from hostcall.engine.capabilities import Row, write_row
from hostcall.limits import Limits
from hostcall_drivers import saved
from hostcall_drivers.engines import known_rows
from hostcall_drivers.options import finite, known_engine_options, read_engines
from hostcall_drivers.terminal import Screen, clean
from hostcall_drivers.trio import TrioDriver


@click.command(name="doctor")
@click.argument("address", metavar="ENGINE_URL")
@click.option("--search", "search_url", help="SearXNG, to be examined too.")
@known_engine_options
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the row to this file, for --row; else where `ask` looks for it ($HOSTCALL_ROWS, ~/.config/hostcall).",
)
@click.option("--seconds", type=click.FloatRange(min=1), default=300.0, show_default=True, callback=finite)
def doctor_command(
    address: str,
    search_url: str | None,
    model: str | None,
    keys: tuple[str, ...],
    rows: tuple[str, ...],
    ca: Path | None,
    save: Path | None,
    seconds: float,
) -> None:
    """Examine the engine at ENGINE_URL: what it keeps of what it is asked, and what to change.

    Exit code 0: nothing stands in the way of good answers. 1: something does. 2: it cannot be examined.
    """
    from hostcall_drivers.cli import DONE, FAILED, USAGE, exit_with, fail

    engines, tls = read_engines([address], keys, rows, ca)
    doctor = Doctor(
        known_rows(),
        row=engines.first.row if rows else None,
        model=engines.pick(model)[1],
        search=search_url is not None,
        limits=Limits(answer_seconds=seconds),
    )

    async def run() -> int:
        async with TrioDriver(engines, search_url, services_tls=tls) as driver:
            report = await visit(driver, doctor)
        print_report(report)
        if report.row is not None:
            keep(report.row, engines.first.service.text, save)
        if report.unusable:
            return fail(report.unusable, USAGE)
        return DONE if report.healthy else FAILED

    exit_with(run)


async def visit(driver: TrioDriver, doctor: Doctor) -> Report:
    """Have the examination made, and return the report."""
    with Screen() as screen:
        async with driver.run(doctor) as notices:
            async for notice in notices:
                if isinstance(notice, ShowProgress):
                    screen.show(notice)
    if doctor.report is None:
        raise AssertionError("every visit ends with a report")
    return doctor.report


def print_report(report: Report) -> None:
    """Print a line for each finding, and below it what to change."""
    for finding in report.findings:
        click.echo(clean(line_of(finding)))
        if finding.change:
            click.echo(clean(f"{'':24}change: {finding.change}"))


def line_of(finding: Finding) -> str:
    """Return a finding as a line."""
    return f"{finding.verdict:8}{finding.topic:16}{' '.join(finding.saw.split())}"


def keep(row: Row, address: str, file: Path | None) -> Path:
    """Save a row where `ask` looks for it, or in a file of the operator's, and return where.

    Raises:
        SettingsError: It cannot be written.
    """
    seen = attrs.evolve(row, address=address, source=f"hostcall doctor, {dt.datetime.now(tz=dt.UTC).date()}")
    path = file or saved.file_for(saved.folder(os.environ), address, row.model)
    saved.save(path, seen)
    click.echo(f"\n{clean(write_row(seen))}")
    click.echo(f"saved: {clean(str(path))}")
    return path
