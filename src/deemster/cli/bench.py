"""`deemster bench`: the figures that the design promises, measured on this machine."""

import typer

from deemster.cli import bench_sandbox

app = typer.Typer(
    no_args_is_help=True,
    help="Measure what this machine does, as ratios against the bare limit.",
)
app.command("sandbox")(bench_sandbox.sandbox)


@app.callback()
def bench() -> None:
    """Keeps `sandbox` a command of its own while it is the only one."""
