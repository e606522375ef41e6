"""`deemster similar`: compares programs in files, without a server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.markup import escape

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson
from deemster.cli.output import make_table, print_json
from deemster.domain.errors import Refused
from deemster.domain.similarity import Lines, Match, MatchingRegion, clusters
from deemster.pipeline.similarity.offline import OfflineReport, compare_files
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import Tokenizer

MAX_SHOWN = 50
MAX_REGIONS = 4


def similar(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="Files, or directories in which each file and each directory is a program.",
        ),
    ],
    template: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="File with code that all programs began with."),
    ] = None,
    at_least: Annotated[
        float,
        typer.Option(metavar="PERCENT", min=50, max=100, help="Smallest percentage to show."),
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Find programs that are similar to each other.

    A percentage is the part of a program that the other one has too. It proves nothing: look at
    the programs. The exit code is 0 if no programs are similar and 1 if some are. For example:

        deemster similar homework/
        deemster similar ada.py bob.py --template start.py --json
    """
    report = uvloop.run(compare(paths, template or []))
    matches = [each for each in report.matches if 100 * each.similarity >= at_least]
    if not report.compared and not report.left_out:
        raise Refused("There is no program in these directories: give others.")
    if as_json:
        print_json(as_object(report, matches))
    else:
        print_report(report, matches)
    raise typer.Exit(ExitCode.FAILED if matches else ExitCode.OK)


async def compare(paths: Sequence[Path], templates: Sequence[Path]) -> OfflineReport:
    async with Tokenizer() as tokenizer:
        return await compare_files(tokenizer, load_catalogue(), paths, templates)


def as_object(report: OfflineReport, matches: Sequence[Match[str]]) -> dict[str, Any]:
    return {
        "compared": len(report.compared),
        "left_out": [
            {"program": name, "reason": reason} for name, reason in report.left_out.items()
        ],
        "pairs": [
            {
                "programs": [match.left, match.right],
                "percent": [
                    round(100 * match.left_share, 1),
                    round(100 * match.right_share, 1),
                ],
                "regions": [
                    [
                        lines_object(report, match.left, region.left),
                        lines_object(report, match.right, region.right),
                    ]
                    for region in match.regions
                ],
            }
            for match in matches
        ],
        "clusters": groups_of(matches),
    }


def lines_object(report: OfflineReport, program: str, lines: Lines) -> dict[str, Any]:
    file = report.compared[program][lines.file]
    return {"file": file, "first_line": lines.first, "last_line": lines.last}


def groups_of(matches: Sequence[Match[str]]) -> list[list[str]]:
    return clusters((match.left, match.right) for match in matches)


def print_report(report: OfflineReport, matches: Sequence[Match[str]]) -> None:
    console = Console(highlight=False)
    if matches:
        table = make_table("program", "other program", "lines", numbers=("%", "% of other"))
        for match in matches[:MAX_SHOWN]:
            table.add_row(
                escape(match.left),
                escape(match.right),
                shown_regions(match.regions),
                f"{100 * match.left_share:.0f}",
                f"{100 * match.right_share:.0f}",
            )
        console.print(table)
    if len(matches) > MAX_SHOWN:
        console.print(f"{len(matches) - MAX_SHOWN} more pairs: see --json.")
    for group in groups_of(matches):
        if len(group) > 2:
            console.print(f"Cluster of {len(group)}: {escape(', '.join(group))}")
    for name, reason in report.left_out.items():
        console.print(f"Left out: {escape(name)} ({escape(reason)})")
    count, pairs = len(report.compared), len(matches)
    console.print(f"{counted(count, 'program')} compared, {counted(pairs, 'similar pair')}.")


def shown_regions(regions: Sequence[MatchingRegion]) -> str:
    longest = sorted(regions, key=lambda each: each.left.first - each.left.last)[:MAX_REGIONS]
    ordered = sorted(longest, key=lambda each: (each.left.file, each.left.first))
    texts = [
        f"{each.left.first}-{each.left.last} = {each.right.first}-{each.right.last}"
        for each in ordered
    ]
    return ", ".join(texts) + (" …" if len(regions) > MAX_REGIONS else "")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
