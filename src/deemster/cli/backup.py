"""`deemster backup` and `deemster restore`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich import progress
from rich.console import Console

from deemster.domain.limits import MIB
from deemster.settings import load_settings
from deemster.store.backup.restore import restore_backup
from deemster.store.backup.write import write_backup


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    artifacts: Annotated[
        bool,
        typer.Option(
            help="Without them: for those who keep copies of their bucket by other means."
        ),
    ] = True,
) -> None:
    """Write everything that is kept into one file: database, sources, test data, secret key.

    Also while the service runs. It holds secrets: keep it where nobody else reads. The admin's
    token is not in it. For example:

        deemster backup /backups/judge.tar
    """
    with shown("writing") as on_bytes:
        work = write_backup(load_settings(), file, on_bytes, artifacts=artifacts)
        manifest = uvloop.run(work)
    print(f"Wrote {file}: {manifest.members:,} parts, {manifest.bytes / MIB:,.1f} MB.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there: it is lost.")
    ] = False,
) -> None:
    """Bring back everything from a backup, into an empty data directory or database.

    Stop the service first; start it again afterwards. For example:

        DEEMSTER_DATA_DIR=/srv/new deemster restore /backups/judge.tar
    """
    with shown("restoring") as on_bytes:
        work = restore_backup(load_settings(), file, on_bytes, force=force)
        manifest = uvloop.run(work)
    print(f"Restored {file}: {manifest.members:,} parts. Next: `deemster up`.")


@contextmanager
def shown(what: str) -> Iterator[Callable[[int], None]]:
    """On a terminal, how much has gone by."""
    console = Console(stderr=True)
    with progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.DownloadColumn(),
        progress.TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done: bars.update(task, completed=done)
