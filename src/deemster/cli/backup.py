"""`deemster backup` and `deemster restore`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.progress import Progress
from deemster.domain.limits import MIB
from deemster.settings import load_settings
from deemster.store.backup.restore import restore_backup
from deemster.store.backup.verify import verify_backup
from deemster.store.backup.write import write_backup
from deemster.wiring.privileges import enter_service


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.")],
    artifacts: Annotated[
        bool,
        typer.Option(
            help="Include artifacts. Leave them out if you back up the bucket itself."
        ),
    ] = True,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Restore the backup into a scratch database, which is deleted. A file that "
            "exists is only verified.",
        ),
    ] = False,
) -> None:
    """Write the database, sources, test data and secret key to one file.

    The service can go on running. The file holds secrets: keep it where nobody else can read
    it. The admin's token is not in it. For example:

        deemster backup /backups/judge.tar --verify
    """
    if not (verify and file.exists()):
        with bytes_shown("Writing") as on_bytes:
            work = write_backup(load_settings(), file, on_bytes, artifacts=artifacts)
            manifest = uvloop.run(work)
        print(f"Wrote {file}: {manifest.members:,} files, {manifest.bytes / MIB:,.1f} MB.")
    if verify:
        with bytes_shown("Verifying") as on_bytes:
            manifest = uvloop.run(verify_backup(file, on_bytes))
        print(f"Verified {file}: it can be restored, with all {manifest.members:,} files.")


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File that `deemster backup` wrote.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing data, which is lost.")
    ] = False,
) -> None:
    """Restore a backup into an empty data directory or database.

    Stop the service first, and start it again afterwards. For example:

        DEEMSTER_DATA_DIR=/srv/new deemster restore /backups/judge.tar
    """
    settings = enter_service(load_settings(), reads=[file]).settings
    with bytes_shown("Restoring") as on_bytes:
        work = restore_backup(settings, file, on_bytes, force=force)
        manifest = uvloop.run(work)
    print(f"Restored {file}: {manifest.members:,} files. Next: run `deemster up`.")


@contextmanager
def bytes_shown(action: str) -> Iterator[Callable[[int], None]]:
    with Progress() as progress:
        task = progress.add_task(f"{action} (MB)", total=None)
        yield lambda done: progress.update(task, completed=done / MIB)
