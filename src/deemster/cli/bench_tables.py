"""Tables with the figures of benchmarks, for a terminal."""

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from deemster.bench import judge as judge_bench
from deemster.bench import latency as latency_bench
from deemster.cli.output import make_table

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
    "events": "its events",
    "account_events": "events of the account",
    "polling": "polling",
}


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


def start_table(result: Mapping[str, Any]) -> Table:
    keys = ("cpu_ms", "wall_ms", "over_true", "over_cold")
    table = make_table(
        "start and end", "kind", numbers=("CPU ms", "wall ms", "CPU over true", "over cold")
    )
    for name, kinds in result["programs"].items():
        for kind, figures in kinds.items():
            cells = [f"{figures[key]:.2f}" if key in figures else "" for key in keys]
            table.add_row(name, kind, *cells)
    return table


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
    worker = result["worker_cpu"]
    table.caption = (
        f"CPU time of the judging process: {worker['case_ms']:g} ms for each case, and "
        f"{worker['submission_ms']:g} ms for each submission"
    )
    return table


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
    if result["drained_s"] is not None:
        rows["burst judged"] = f"{result['drained_s']:g} s after its last submission"
        rows["queue empty"] = f"{result['queue_empty_s']:g} s after it"
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


def drain_table(result: Mapping[str, Any]) -> Table:
    rows = {
        "per_s": "submissions per second",
        "bare_ms_per_submission": "bare runs, ms",
        "ms_per_submission": "judged, ms",
        "ratio": "judged over bare",
        "slots_busy": "share of the slots' time in use",
        "programs_share": "share of programs in the CPU time",
    }
    columns = {
        f"{name}, {slots} slot{'s' * (int(slots) > 1)}": found[name]
        for slots, found in result["slots"].items()
        for name in (*result["goals"], "all")
    }
    table = make_table("draining a queue", numbers=tuple(columns))
    for key, title in rows.items():
        table.add_row(title, *(f"{each[key]:g}" for each in columns.values()))
    cpu = [each["cpu_ms_per_submission"] for each in columns.values()]
    for part in cpu[0]:
        table.add_row(f"CPU of {part}, ms", *(f"{each[part]:g}" for each in cpu))
    database = [found["database"] for found in result["slots"].values()]
    table.caption = "; ".join(
        f"{each['transactions']:g} transactions and {each['log_syncs']:g} syncs of Postgres "
        "for each submission"
        for each in database
    )
    return table


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
        for name, row in result[kind.name].items():
            cells = (f"{row[key]:g}" for key in headings)
            title = f"{kind.name.replace('_', ' ')}: {LATENCY_ROWS[name]}"
            table.add_row(title, *cells)
    table.caption = "; ".join(
        f"{name.replace('_', ' ')}: bare {goal['bare_p50_ms']:g} ms, so told p50 is to be at "
        f"most {goal['told_p50_ms']:g} ms"
        for name, goal in result["goals"].items()
    )
    return table


def pages_table(result: Mapping[str, Any]) -> Table:
    table = make_table("page", numbers=("p50 ms", "p99 ms", "over bare", "gzipped bytes"))
    for name, row in result["pages"].items():
        cells = (f"{row[key]:g}" for key in ("p50_ms", "p99_ms", "ratio"))
        table.add_row(name, *cells, f"{row['gzipped_bytes']}")
    told = result["changes"]
    table.caption = (
        f"{told['open_pages']} open pages: half of them learn of a change within "
        f"{told['each_p50_ms']:g} ms, the last one within {told['last_p50_ms']:g} ms"
    )
    return table


def pipeline_table(result: Mapping[str, Any]) -> Table:
    table = make_table("from POST to verdict", numbers=("p50 ms", "p95 ms"))
    for name in ("without_stages", "with_stages"):
        row = result[name]
        table.add_row(
            name.replace("_", " "), f"{row['verdict_p50_ms']:g}", f"{row['verdict_p95_ms']:g}"
        )
    table.add_row("ratio of p50", f"{result['ratio_of_p50']:g}", f"goal {result['goal']:g}")
    return table


def remote_table(result: Mapping[str, Any]) -> Table:
    table = make_table("judging", numbers=("submissions/s", "POST to verdict, p50 ms"))
    for name, title in (("local", "by a local worker"), ("remote", "on a judge host")):
        row = result[name]
        table.add_row(title, f"{row['per_s']:g}", f"{row['verdict_p50_ms']:g}")
    table.add_row("ratio", f"{result['ratio']:g}", "")
    table.caption = f"the goal is a ratio of {result['goal']:g} or more"
    return table


def live_table(result: Mapping[str, Any]) -> Table:
    table = make_table("live coding", "measured", "goal")
    sessions, one_line, terminals = (
        result[part] for part in ("sessions", "one_line", "terminals")
    )
    table.add_row(
        f"wait of {sessions['executions']} executions of {sessions['sessions']} sessions",
        f"p50 {sessions['wait_p50_ms']:g} ms, p99 {sessions['wait_p99_ms']:g} ms, "
        f"longest {sessions['wait_max_ms']:g} ms",
        f"longest at most {sessions['goal_ms']:g} ms",
    )
    table.add_row(
        "POST to result of a one-line Python program",
        f"p50 {one_line['told_p50_ms']:g} ms, bare {one_line['bare_p50_ms']:g} ms, "
        f"with a new source {one_line['new_source_p50_ms']:g} ms",
        f"p50 at most {one_line['goal_ms']:g} ms",
    )
    table.add_row(
        f"CPU time of submissions beside {terminals['terminals']} busy terminals",
        f"{terminals['beside_p50_ms']:g} ms, alone {terminals['alone_p50_ms']:g} ms, "
        f"ratio {terminals['ratio']:g}",
        f"ratio below {terminals['goal_ratio']:g}",
    )
    return table
