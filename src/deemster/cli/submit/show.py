"""A submission in words, for the person who handed it in."""

from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console
from rich.text import Text

STYLES: Final = {"Accepted": "bold green", "Partial": "bold yellow"}


def show(answer: Any) -> None:
    console = Console(highlight=False, soft_wrap=True)
    verdict = answer.get("verdict")
    style = STYLES.get(verdict, "bold red") if verdict else "bold"
    first, *others = lines_of(answer)
    console.print(Text(first, style))
    for line in others:
        console.print(Text(line))


def lines_of(answer: Any) -> Iterator[str]:
    if not answer.get("verdict"):
        yield f"{answer['id']} is {answer['status']}"
        if answer.get("error"):
            yield answer["error"]
        return
    score = f", {answer['score']:g} points" if answer.get("score") is not None else ""
    yield answer["verdict"] + score
    yield (
        f"{answer['passed_cases']} of {answer['total_cases']} cases, "
        f"{answer['runtime_ms']} ms, {answer['memory_kb']:,} KB, {answer['id']}"
    )
    if answer.get("failed_case"):
        yield f"failed in case {answer['failed_case']}{why(answer)}"
    for name in ("message", "expected", "got", "compiler_output"):
        if answer.get(name):
            yield f"{name.replace('_', ' ')}:\n{answer[name].rstrip()}"


def why(answer: Any) -> str:
    if answer.get("reason"):
        return f": {answer['reason']}"
    limit_ms = answer.get("limit_ms")
    return f": it may take {limit_ms} ms" if limit_ms else ""
