"""Divides the slots of a worker among processes: one Python can't drive very many programs."""

from deemster.sandbox.cores import usual_slots
from deemster.settings import Settings
from deemster.wiring.metrics_server import PORT_OFFSETS


def divide_worker(settings: Settings) -> list[dict[str, object]]:
    """The settings of each process that differ from those of the service.

    Together the processes have the slots of one worker. Only the first one prepares what all of
    them use.
    """
    slots = settings.slots or usual_slots()
    count = -(-slots // settings.slots_per_process)
    if count == 1:
        return [{}]
    shares: list[dict[str, object]] = []
    for number in range(count):
        share: dict[str, object] = {
            "slots": part(slots, count, number),
            "compile_slots": part(settings.compile_slots, count, number),
            "execution_slots": max(1, part(settings.execution_slots, count, number)),
            "language_servers": part(settings.language_servers, count, number),
        }
        if settings.metrics_port is not None:
            share["metrics_port"] = settings.metrics_port + number * len(PORT_OFFSETS)
        if number:
            share |= {"precompile": False, "warm_up_mb": 0}
        shares.append(share)
    return shares


def part(whole: int, count: int, number: int) -> int:
    """The parts differ by one at most; the first ones are larger."""
    return whole // count + (number < whole % count)
