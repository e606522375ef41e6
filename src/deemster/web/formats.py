"""Writes dates, sizes, times and verdicts as people read them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from babel import Locale
from babel.dates import format_datetime
from babel.numbers import format_decimal
from jinja2.runtime import Context

from deemster.domain.limits import MIB
from deemster.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Look:
    """How a verdict differs from the others by its name in the style sheet and by its sign."""

    kind: str
    sign: str
    slug: str
    """Its part of the address of the page that explains it."""


LOOKS: Final[dict[Verdict, Look]] = {
    Verdict.ACCEPTED: Look("good", "✓", "accepted"),
    Verdict.PARTIAL: Look("part", "◐", "partial"),
    Verdict.WRONG_ANSWER: Look("bad", "✗", "wrong-answer"),
    Verdict.TIME_LIMIT: Look("slow", "◷", "time-limit-exceeded"),
    Verdict.MEMORY_LIMIT: Look("slow", "▤", "memory-limit-exceeded"),
    Verdict.OUTPUT_LIMIT: Look("slow", "⇥", "output-limit-exceeded"),
    Verdict.RUNTIME_ERROR: Look("bad", "!", "runtime-error"),
    Verdict.COMPILE_ERROR: Look("mute", "#", "compile-error"),
    Verdict.JUDGE_ERROR: Look("mute", "⚠", "judge-error"),
}
BY_SLUG: Final = {look.slug: verdict for verdict, look in LOOKS.items()}


def date(context: Context, when: datetime, locale: Locale) -> str:
    """In the time zone that the visitor chose."""
    zone = context["page"].time_zone
    return str(format_datetime(when, "medium", tzinfo=zone, locale=locale))


def number(value: float, digits: int = 0, *, locale: Locale) -> str:
    return str(format_decimal(round(value, digits), locale=locale))


def megabytes(size_bytes: float, locale: Locale) -> str:
    return f"{format_decimal(round(size_bytes / MIB, 1), locale=locale)} MB"


def seconds(time_ms: float, locale: Locale) -> str:
    if time_ms < 1000:
        return f"{round(time_ms)} ms"
    return f"{format_decimal(round(time_ms / 1000, 2), locale=locale)} s"
