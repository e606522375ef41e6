"""`deemster bench`: runs the benchmarks and prints their figures."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.bench import accept as accept_bench
from deemster.bench import burst as burst_bench
from deemster.bench import drain as drain_bench
from deemster.bench import judge as judge_bench
from deemster.bench import latency as latency_bench
from deemster.bench import live as live_bench
from deemster.bench import pages as pages_bench
from deemster.bench import pipeline as pipeline_bench
from deemster.bench import remote as remote_bench
from deemster.bench import sandbox as sandbox_bench
from deemster.bench import start as start_bench
from deemster.bench.burst import Plan, Queue
from deemster.bench.live_sessions import SessionPlan
from deemster.bench.live_terminals import SIEVES, TerminalPlan
from deemster.cli.bench_tables import (
    accept_table,
    burst_table,
    drain_table,
    judge_table,
    latency_table,
    live_table,
    pages_table,
    pipeline_table,
    remote_table,
    sandbox_table,
    start_table,
)
from deemster.cli.options import AsJson, make_group
from deemster.cli.output import print_json, table_console
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
    show(result, sandbox_table, as_json=as_json)
    if not as_json:
        for name, reason in result["skipped"].items():
            Console(stderr=True).print(f"{name} is installed but fails: {reason}", markup=False)


@app.command()
def start(
    languages: Annotated[
        list[str] | None,
        typer.Argument(help="Languages to measure. [default: all installed]"),
    ] = None,
    runs: Annotated[
        int, typer.Option(help="Number of measured runs of each kind.", min=1, max=100_000)
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Measure the start and end of a program in each language that is installed.

    The program is the language's template, without input. A warm program is a copy of an
    interpreter that has already started. All kinds take turns with a bare `true`.
    """
    result = run(lambda progress: start_bench.measure(runs, languages or [], progress))
    show(result, start_table, as_json=as_json)


@app.command()
def judge(
    rounds: Annotated[int, typer.Option(help="Number of measurements.", min=1, max=100)] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure judging: a C++ problem with 100 cases, and one with 1,000 trivial cases.

    Each round does the same compile and the same runs bare, by posix_spawn. `ratio` is judging
    over the bare runs and one compile. `over_ms` is what a case costs beyond its run. Judging
    uses one core, as the bare runs do; `lanes` is the speed-up with all cores. `worker_cpu` is
    the CPU time of the judging process alone: for each case, and for each submission in
    addition, of a program that is in the compile cache.
    """
    result = run(lambda progress: judge_bench.measure(rounds, progress))
    show(result, judge_table, as_json=as_json)


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
    show(result, accept_table, as_json=as_json)


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
    show(result, burst_table, as_json=as_json)


@app.command()
def drain(  # noqa: PLR0913, PLR0917 - they are options
    submissions: Annotated[
        int,
        typer.Option(help="Number of submissions, half of them in C.", min=2, max=100_000),
    ] = 2000,
    rounds: Annotated[
        int, typer.Option(help="Number of turns of each language.", min=1, max=1000)
    ] = 10,
    slots: Annotated[
        list[int] | None,
        typer.Option(
            help="Slots of the worker; repeat it to measure several workers. [default: 1, 2]",
            min=1,
            max=64,
            show_default=False,
        ),
    ] = None,
    work_ms: Annotated[
        int,
        typer.Option(help="CPU time that a program uses for a case.", min=0, max=1000),
    ] = 0,
    new_programs: Annotated[
        bool, typer.Option("--new-programs", help="Compile each submission.")
    ] = False,
    compile_slots: Annotated[
        int, typer.Option(help="Compile slots of the worker.", min=0, max=64)
    ] = 1,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure how fast a worker judges a queue of submissions, and what each of them costs.

    Half of the submissions are a C program, half a Python program, for a problem with 11 cases;
    the worker has compiled both before. In a turn, submissions in one language are accepted
    first, and then judged: the time is from the first start to the last verdict. After each
    turn the same program is run on the same cases without a sandbox and a service; `ratio` is
    the time of judging over that of these bare runs. `cpu_ms_per_submission` is from the POST
    to the verdict, by process. `slots_busy` is the share of the time in which the slots used
    a core, and `programs_share` the share of all used CPU time that programs used. By default
    programs only read a number and print another one; with `--work-ms` they also compute. With
    `--new-programs` all of them differ, so that the worker compiles each submission; bare runs
    are those of the cases only.
    """
    plan = drain_bench.Plan(
        submissions, rounds, slots or (1, 2), work_ms, new_programs, compile_slots
    )
    result = run(lambda progress: drain_bench.measure(plan, queue, directory, progress))
    show(result, drain_table, as_json=as_json)


@app.command()
def latency(
    rounds: Annotated[
        int, typer.Option(help="Number of measurements of each kind.", min=1, max=10_000)
    ] = 100,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure the time from a POST until its client is told the result.

    One client at a time submits a C program that is in the compile cache, to a problem with 11
    cases, then a Python program, and then executes the C program. Between the turns the same
    cases are run bare, without a sandbox and a service. The goal (`goals`) for the median time
    until the client is told is 1.3 times the median of these bare runs plus 15 ms. The client
    learns the result by `?wait=`, by an event stream of the submission or execution,
    by the stream of its account (submissions only), or by polling every 10 ms; these take
    turns. `ratio` is the median time until the client is told over the median time until the
    result is committed.
    """
    result = run(lambda progress: latency_bench.measure(rounds, queue, directory, progress))
    show(result, latency_table, as_json=as_json)


@app.command()
def pipeline(
    rounds: Annotated[
        int, typer.Option(help="Number of turns with and without stages.", min=1, max=1000)
    ] = 4,
    submissions: Annotated[
        int, typer.Option(help="Number of submissions of each turn.", min=1, max=10_000)
    ] = 200,
    clients: Annotated[
        int, typer.Option(help="Number of clients that submit at once.", min=1, max=100)
    ] = 4,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure whether stages after the verdict delay verdicts under load.

    Clients submit new C programs to a problem with 11 cases, and each waits for its verdict
    before it submits the next. Turns in which all stages follow a verdict, and run beside
    judging, alternate with turns without stages. `ratio_of_p50` compares the median times from
    POST to verdict of neighbouring turns.
    """
    plan = pipeline_bench.Plan(rounds, submissions, clients)
    result = run(lambda progress: pipeline_bench.measure(plan, queue, directory, progress))
    show(result, pipeline_table, as_json=as_json)


@app.command()
def remote(
    rounds: Annotated[
        int, typer.Option(help="Number of turns of each kind.", min=1, max=1000)
    ] = 8,
    submissions: Annotated[
        int, typer.Option(help="Number of submissions in the queue.", min=2, max=10_000)
    ] = 100,
    single: Annotated[
        int,
        typer.Option(
            help="Number of submissions of one client, in each turn.", min=1, max=10_000
        ),
    ] = 10,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure judging on a judge host beside judging by a local worker.

    Two private services have one slot each: that of a local worker, and that of a judge host,
    which fetches its tasks over HTTP. The services take turns. In a turn, a queue of
    submissions is judged: every other one is a C program that is in the compile cache, for a
    problem with 11 cases, the rest are new Python programs for a problem with one case. The
    time is from the first start to the last verdict; `ratio` is the median of the ratios of
    neighbouring turns. Then one client submits one program after another: `verdict_p50_ms` is
    the time from POST to verdict.
    """
    plan = remote_bench.Plan(rounds, submissions, single)
    result = run(lambda progress: remote_bench.measure(plan, queue, directory, progress))
    show(result, remote_table, as_json=as_json)


@app.command()
def live(  # noqa: PLR0913, PLR0917 - they are options
    sessions: Annotated[
        int, typer.Option(help="Number of live-coding sessions.", min=1, max=1000)
    ] = 100,
    every: Annotated[
        float, typer.Option(help="Time between two runs of one session, in seconds.", min=0.1)
    ] = 30.0,
    runs: Annotated[
        int, typer.Option(help="Number of runs of each session.", min=1, max=1000)
    ] = 3,
    programs: Annotated[
        int, typer.Option(help="Number of runs of the one-line program.", min=1, max=10_000)
    ] = 100,
    terminals: Annotated[
        int, typer.Option(help="Number of terminals beside judging.", min=1, max=100)
    ] = 10,
    rounds: Annotated[
        int, typer.Option(help="Number of turns with and without terminals.", min=1, max=1000)
    ] = 10,
    sieves: Annotated[
        int,
        typer.Option(
            help="How often each judged submission computes primes, about 30 ms each time.",
            min=1,
            max=100,
        ),
    ] = SIEVES,
    queue: Annotated[Queue, typer.Option(help="Store of the queue.")] = Queue.POSTGRES,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure live coding: how long executions wait and take, and whether they disturb judging.

    `sessions`: each session of another user saves a new source and runs it, every 30 s; the
    wait is from the request until the program starts. `one_line`: the time from the POST of a
    one-line Python program to its result, beside a bare start of the same program. `terminals`:
    the CPU time of judged submissions, alone and beside terminals whose programs compute and
    answer typed lines; turns of both kinds alternate.
    """
    plan = live_bench.Plan(
        SessionPlan(sessions, every, runs),
        programs,
        TerminalPlan(terminals, rounds, sieves),
    )
    result = run(lambda progress: live_bench.measure(plan, queue, directory, progress))
    show(result, live_table, as_json=as_json)


@app.command()
def pages(
    rounds: Annotated[
        int, typer.Option(help="Number of requests for each page.", min=1, max=10_000)
    ] = 100,
    open_pages: Annotated[
        int, typer.Option(help="Number of open pages that follow a change.", min=1, max=10_000)
    ] = 1000,
    changes: Annotated[int, typer.Option(help="Number of changes.", min=1, max=1000)] = 20,
    directory: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Measure the web pages of a judge with 500 problems and 2,000 submissions of one user.

    One visitor asks for one page after another; the pages take turns with a constant page of a
    bare FastAPI server. Times are from the request until the whole page has arrived; `ratio` is
    the median over that of the bare answer. Then many open pages follow the events of their
    submissions: the time is from the commit of a change until a page has read its event.
    """
    plan = pages_bench.Plan(rounds, open_pages, changes)
    result = run(lambda progress: pages_bench.measure(plan, directory, progress))
    show(result, pages_table, as_json=as_json)


def show(
    result: dict[str, Any], table: Callable[[dict[str, Any]], Table], *, as_json: bool
) -> None:
    if as_json:
        print_json(result)
    else:
        table_console().print(table(result))


def run(measure: Callable[[Progress], Work]) -> dict[str, Any]:
    """A signal ends the benchmark cleanly: its servers and its directory are removed."""
    with Progress(in_background=False) as progress:
        result = uvloop.run(run_until_signal(measure(progress)))
    if result is None:
        raise Unavailable("The benchmark was interrupted before it was done.")
    return result
