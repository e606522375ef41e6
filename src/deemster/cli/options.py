"""Options, arguments and the form of command groups that several commands share."""

from pathlib import Path
from typing import Annotated, Final

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

Language = Annotated[
    str | None,
    typer.Option(
        metavar="L",
        help="Language of the program, if the file's name does not tell it: see `languages`.",
        show_default=False,
    ),
]

PackagePaths = Annotated[
    list[Path],
    typer.Argument(metavar="PATH…", help="Packages: directories, .zip, .kpp or .tar files."),
]

MAX_SLOTS: Final = 1024
SLOTS_HELP: Final = (
    "Number of slots: each judges one submission at a time, on a core of its own. "
    "[default: all cores but one]"
)

Slots = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=MAX_SLOTS, help=SLOTS_HELP, show_default=False),
]


def make_group(name: str, summary: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=summary,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
    )
