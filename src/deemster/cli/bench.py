"""`deemster bench`: the figures that the design promises, measured on this machine."""

import typer

from deemster.bench import accept, burst, judge, sandbox

app = typer.Typer(
    no_args_is_help=True,
    help="Measure the performance of this machine, as ratios to a bare minimum.",
)
app.command("sandbox")(sandbox.sandbox)
app.command("judge")(judge.judge)
app.command("accept")(accept.accept)
app.command("burst")(burst.burst)
