"""`deemster bench`: the figures that the design promises, measured on this machine."""

import typer

from deemster.bench import accept, burst, judge, sandbox

app = typer.Typer(
    no_args_is_help=True,
    help="Measure what this machine does, as ratios against the bare limit.",
)
app.command("sandbox")(sandbox.sandbox)
app.command("judge")(judge.judge)
app.command("accept")(accept.accept)
app.command("burst")(burst.burst)
