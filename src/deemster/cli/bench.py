"""`deemster bench`: runs the benchmarks and prints their figures."""

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.bench import accept as accept_bench
from deemster.bench import burst as burst_bench
from deemster.bench import judge as judge_bench
from deemster.bench import latency as latency_bench
from deemster.bench import sandbox as sandbox_bench
from deemster.bench.burst import Plan, Queue
from deemster.cli.options import AsJson, make_group
from deemster.cli.output import make_table, print_json
from deemster.cli.progress import Progress
from deemster.domain.errors import Unavailable
from deemster.wiring.process import run_until_signal

Work = Coroutine[Any, Any, dict[str, Any]]

DataDirectory = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Directory on the disk to measure. [default: /var/tmp]",
        exists=True,
        file_okay=False,
        show_default=False,
    ),
]

SANDBOX_ROWS: Final = {
    "bare": "bare posix_spawn",
    "sandbox": "sandbox",
    "api": "sandbox, by the Python API",
    "bare_idle": "bare, after 30 ms idle",
    "sandbox_idle": "sandbox, after 30 ms idle",
}
ACCEPT_ROWS: Final = {
    "bare": "bare insert",
    "accept": "accept",
    "with_keys": "accept, with idempotency keys",
}

LATENCY_ROWS: Final = {
    "wait": "?wait=",
    "events": "events of the submission",
    "account_events": "events of the account",
    "polling": "polling",
}

app = make_group(
    "bench", "Measure the performance of this machine, as ratios to a bare minimum."
)


@app.command()
def sandbox(
    runs: Annotated[
        int,
        typer.Option(
            help="Number of measured runs of each kind.", min=sandbox_bench.TURN, max=100_000
        ),
    ] = 240,
    as_json: AsJson = False,
) -> None:
    """Measure one run of `true`: bare, in the sandbox, and in other sandboxes on this machine.

    All kinds take turns, so that their ratios hold on any machine, unlike the milliseconds.
    "After 30 ms idle" is what a judge sees between two submissions.
    """
    result = run(lambda progress: sandbox_bench.measure(runs, progress))
    if as_json:
        print_json(result)
        return
    Console().print(sandbox_table(result))
    for name, reason in result["skipped"].items():
        Console(stderr=True).print(f"{name} is installed but fails: {reason}", markup=False)


def sandbox_table(result: Mapping[str, Any]) -> Table:
    table = make_table(
        "one run of true", numbers=("median ms", "p99 ms", "over bare", "over sandbox")
    )
    for name, title in SANDBOX_ROWS.items():
        table.add_row(title, *sandbox_cells(result[name]))
    for name, figures in result["peers"].items():
        table.add_row(name, *sandbox_cells(figures))
    one, two = result["parallel"]["one_per_s"], result["parallel"]["two_per_s"]
    table.caption = f"{one:.0f} runs per second with one slot, {two:.0f} with two"
    return table


def sandbox_cells(figures: Mapping[str, float]) -> list[str]:
    keys = ("median_ms", "p99_ms", "ratio", "sandbox_faster")
    return [f"{figures[key]:.2f}" if key in figures else "" for key in keys]


@app.command()
def judge(
    rounds: Annotated[int, typer.Option(help="Number of measurements.", min=1, max=100)] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure judging: a C++ problem with 100 cases, and one with 1,000 trivial cases.

    Each round does the same compile and the same runs bare, by posix_spawn. `ratio` is judging
    over the bare runs and one compile. `over_ms` is what a case costs beyond its run. Judging
    uses one core, as the bare runs do; `lanes` is the speed-up with all cores.
    """
    result = run(lambda progress: judge_bench.measure(rounds, progress))
    if as_json:
        print_json(result)
    else:
        Console().print(judge_table(result))


def judge_table(result: Mapping[str, Any]) -> Table:
    headings = {
        "cases": "cases",
        "bare_runs_s": "bare runs s",
        "judge_s": "judged s",
        "ratio": "ratio",
        "over_ms": "over bare, ms per case",
        "all_lanes_s": "all cores s",
    }
    table = make_table("problem", numbers=tuple(headings.values()))
    for size in judge_bench.SIZES:
        row = result[size.name]
        table.add_row(size.name, *(f"{row[key]:g}" for key in headings))
    return table


@app.command()
def accept(
    rounds: Annotated[int, typer.Option(help="Number of measurements.", min=1, max=100)] = 15,
    seconds: Annotated[
        float, typer.Option(help="Duration of each measurement, in seconds.", min=0.1, max=60)
    ] = 1.0,
    connections: Annotated[
        int, typer.Option(help="Number of clients that send at once.", min=1, max=1000)
    ] = 32,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many submissions per second one API process accepts.

    The bare minimum is FastAPI and asyncpg with the same server, pool and load, which only
    inserts the same source as one row. Both use the same private Postgres, which syncs every
    commit to the disk, and take turns. `ratio` is the median of all rounds.
    """
    result = run(
        lambda progress: accept_bench.measure(rounds, seconds, connections, directory, progress)
    )
    if as_json:
        print_json(result)
    else:
        Console().print(accept_table(result))


def accept_table(result: Mapping[str, Any]) -> Table:
    table = make_table(
        "one API process", numbers=("accepted per second", "p50 ms", "p99 ms", "of bare")
    )
    for name, title in ACCEPT_ROWS.items():
        row = result[name]
        share = f"{row['ratio']:.2f}" if "ratio" in row else ""
        times = (f"{row['p50_ms']:.1f}", f"{row['p99_ms']:.1f}")
        table.add_row(title, f"{row['per_s']:,.0f}", *times, share)
    lost = sum(each["lost"] for each in result["kept"].values())
    table.caption = (
        f"{lost} lost; the load generator itself can send {result['generator_per_s']:,} "
        "per second"
    )
    return table


@app.command()
def burst(  # noqa: PLR0913, PLR0917 - they are options
    count: Annotated[int, typer.Option(help="Number of submissions.", min=1)] = 10_000,
    seconds: Annotated[
        float, typer.Option(help="Time in which they come, in seconds.", min=0.1)
    ] = 60.0,
    users: Annotated[
        int | None,
        typer.Option(
            help="Number of accounts that send them. [default: one per submission]",
            min=1,
            show_default=False,
        ),
    ] = None,
    hog: Annotated[
        int,
        typer.Option(
            help="Number of submissions of one more user, which wait before the burst.", min=0
        ),
    ] = 1000,
    watch: Annotated[
        float, typer.Option(help="Time to watch after the burst, in seconds.", min=0)
    ] = 60.0,
    until_judged: Annotated[
        bool, typer.Option("--until-judged", help="Watch until all have their verdict.")
    ] = False,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure a burst: 10,000 submissions in 60 s, while this machine also judges them.

    The benchmark starts a private service with all roles and a private Postgres, which syncs
    every commit to the disk. Submissions come at fixed times, whether or not earlier ones were
    answered. Each one counts as accepted, refused or without an answer, and the benchmark
    checks that all accepted ones are in the database.

    It also compares queue positions and waiting times in the API's answers with the real ones:
    those under `during` come from the middle of the burst, those under `after` from a while
    after it. `fairness` is the share of starts that other users got while they waited behind
    the user with many submissions.
    """
    plan = Plan(count, seconds, watch, until_judged, hog)
    result = run(lambda _: burst_bench.measure(plan, users or count, queue, directory))
    if as_json:
        print_json(result)
    else:
        Console().print(burst_table(result))


def burst_table(result: Mapping[str, Any]) -> Table:
    accept = result["accept"]
    refused = ", ".join(f"{count:,} times {code}" for code, count in result["refused"].items())
    errors = ", ".join(
        f"{count:,} times {reason}" for reason, count in result["errors"].items()
    )
    rows = {
        "sent": f"{result['count']:,} in {result['seconds']:g} s by {result['users']:,} users",
        "accepted": f"{result['accepted']:,}",
        "refused": refused or "0",
        "without an answer": errors or "0",
        "lost": str(result["lost"]),
        "accept": f"p50 {accept['p50_ms']:g} ms, p99 {accept['p99_ms']:g} ms",
        "deepest queue": f"{result['deepest']:,}",
        "judged": f"{result['judged']:,}, {result['judged_per_s']:g} per second",
    }
    for when in ("during", "after"):
        estimates = result[when]
        if estimates["samples"]:
            wait, position = estimates["wait"], estimates["position"]
            rows[f"estimates {when} the burst"] = (
                f"{estimates['samples']} samples; error of waiting times: median "
                f"{wait['median_error']:.0%}, worst {wait['worst_error']:.0%}; of positions: "
                f"median {position['median_error']:.0%}, worst {position['worst_error']:.0%}"
            )
    if fair := result["fairness"]:
        rows["fairness"] = (
            f"{fair['share']:.1%} of {fair['starts']:,} starts went to other users while they "
            f"waited, {fair['of_hog']:,} to the user with {fair['queued']:,} submissions; in "
            f"order of arrival it would be {fair['by_arrival']:.1%}"
            if fair["starts"]
            else "nobody had to wait"
        )
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    return table


@app.command()
def latency(
    rounds: Annotated[
        int, typer.Option(help="Number of measurements of each kind.", min=1, max=10_000)
    ] = 100,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure the time from a POST until its client is told the verdict.

    One client at a time submits a C program that is in the compile cache, to a problem with 11
    cases. The client learns the verdict by `?wait=`, by an event stream of the submission or
    of its account, or by polling every 10 ms; these take turns. `ratio` is the median time
    until the client is told over the median time until the verdict is committed.
    """
    result = run(lambda progress: latency_bench.measure(rounds, queue, directory, progress))
    if as_json:
        print_json(result)
    else:
        Console().print(latency_table(result))


def latency_table(result: Mapping[str, Any]) -> Table:
    headings = {
        "committed_p50_ms": "committed p50 ms",
        "committed_p99_ms": "p99 ms",
        "told_p50_ms": "told p50 ms",
        "told_p99_ms": "told p99 ms",
        "ratio": "ratio of p50",
    }
    table = make_table("told by", numbers=tuple(headings.values()))
    for kind in latency_bench.KINDS:
        for name, title in LATENCY_ROWS.items():
            row = result[kind.name][name]
            table.add_row(f"{kind.name}: {title}", *(f"{row[key]:g}" for key in headings))
    return table


def run(measure: Callable[[Progress], Work]) -> dict[str, Any]:
    """A signal ends the benchmark cleanly: its servers and its directory are removed."""
    with Progress(in_background=False) as progress:
        result = uvloop.run(run_until_signal(measure(progress)))
    if result is None:
        raise Unavailable("The benchmark was interrupted before it was done.")
    return result
