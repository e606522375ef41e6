"""`deemster bench`: the figures that the design promises, measured on this machine."""

import typer

from deemster.cli import bench_accept, bench_burst, bench_judge, bench_sandbox

app = typer.Typer(
    no_args_is_help=True,
    help="Measure what this machine does, as ratios against the bare limit.",
)
app.command("sandbox")(bench_sandbox.sandbox)
app.command("judge")(bench_judge.judge)
app.command("accept")(bench_accept.accept)
app.command("burst")(bench_burst.burst)
