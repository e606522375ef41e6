"""`deemster api`, `relay`, `worker`, `keeper`, `dispatcher`: each runs one role."""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog
import typer
import uvloop

from deemster.cli.fast_imports import without_garbage_collection
from deemster.cli.options import Slots
from deemster.cli.unknown_variables import log_unknown_variables
from deemster.domain.errors import Refused
from deemster.sandbox.runner_start import PACKAGED_RUNNER
from deemster.settings import Settings, load_settings
from deemster.telemetry import configure
from deemster.wiring.metrics_server import metrics_served
from deemster.wiring.privileges import enter_service
from deemster.wiring.process import end_with_launcher

log = structlog.get_logger()

# Each role imports only its own packages: `deemster up` starts all of them at once.


def api(context: typer.Context) -> None:
    """Run the HTTP API.

    `deemster settings` shows its address and port. You can run as many API processes as you
    like.
    """
    with without_garbage_collection():
        from deemster.wiring.api import run_api

    start("api", run_api, context=context, listens=True)


def relay(context: typer.Context) -> None:
    """Run the relay, which sends accepted submissions to the queue.

    One relay is enough; a second one takes over when the first one dies.
    """
    with without_garbage_collection():
        from deemster.wiring.relay import run_relay

    start("relay", run_relay, context=context)


def worker(context: typer.Context, slots: Slots = None) -> None:
    """Run a worker, which judges submissions in the sandbox.

    After SIGTERM the worker takes no more submissions and ends when its last program has ended.
    After a second SIGTERM it ends at once, and another worker judges its submissions.
    """
    with without_garbage_collection():
        from deemster.wiring.worker import run_worker

    start(
        "worker",
        lambda settings: run_worker(settings, slots),
        context=context,
        runner=True,
    )


def keeper(context: typer.Context) -> None:
    """Run the keeper (maintenance role): it rescues stuck submissions and sends webhooks.

    It also deletes old data, and looks for similar submissions of different users. One keeper
    is enough; more do no harm.
    """
    with without_garbage_collection():
        from deemster.wiring.keeper import run_keeper

    start("keeper", run_keeper, context=context)


def dispatcher(context: typer.Context) -> None:
    """Run the dispatcher, which gives work to judge hosts and settles their results.

    Only needed with DEEMSTER_JUDGE_ON=hosts or hosts-first. One is enough; more do no harm.
    """
    with without_garbage_collection():
        from deemster.wiring.dispatcher import run_dispatcher

    start("dispatcher", run_dispatcher, context=context)


def start(
    role: str,
    work: Callable[[Settings], Coroutine[Any, Any, None]],
    *,
    context: typer.Context,
    runner: bool = False,
    listens: bool = False,
    needs_database: bool = True,
) -> None:
    settings = load_settings()
    configure(settings.log_level, role)
    if not was_started_by_up(context):
        log_unknown_variables()

    async def run(entered: Settings) -> None:
        if needs_database:
            # Here, so that a judge host loads no driver of a database.
            from deemster.wiring.resources import check_database

            await check_database(entered)
        log.info("role.started", env=entered.env, data_dir=str(entered.data_dir))
        await work(entered)

    start_as_service_user(role, settings, run, runner=runner, listens=listens)


def was_started_by_up(context: typer.Context) -> bool:
    """If so, `up` has told about the environment already."""
    return context.find_root().params["parent"] is not None


def start_as_service_user(
    role: str,
    settings: Settings,
    work: Callable[[Settings], Coroutine[Any, Any, None]],
    *,
    runner: bool = False,
    listens: bool = False,
) -> None:
    if runner:
        require_runner(settings)
    entered = enter_service(settings, runner=runner, listens=listens)
    if entered.weakness is not None:
        log.warning("privileges.root", reason=entered.weakness)
    with metrics_served(entered.settings, role):
        uvloop.run(end_with_launcher(work(entered.settings)))


def require_runner(settings: Settings) -> None:
    """Fails before the search for toolchains, each of which is asked for its version in a
    sandbox.
    """
    from deemster.sandbox.checks import check_runner

    found = check_runner(settings.runner or PACKAGED_RUNNER)
    if not found.ok:
        raise Refused(f"The sandbox runner {found.detail} can't be executed. {found.mend}")
