"""Chooses what a student is told about the questions that earned no points."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from deemster.domain.evaluation import Answer, Hint
from deemster.domain.rubric import FeedbackDepth, Question, QuestionId, Rubric
from deemster.pipeline.evaluate.prompt import MAX_EXPLANATION, MAX_HINT

CODE_IN_HINT: Final = re.compile(r"[;{}`\n]|==|:=|=>|->|\w\([^)]*\)|\w\s*=\s*\w|://")
"""Signs of code or of a link, which a hint must not contain."""


def write_hints(
    rubric: Rubric,
    answers: Iterable[Answer],
    written: Mapping[QuestionId, str],
    *,
    locale: str,
    default_locale: str,
) -> tuple[Hint, ...]:
    """`written` is what the model wrote; it is used where the rubric says nothing in the
    student's language, and first if the teacher allows solutions."""
    given = {each.question: each.answer for each in answers}
    hints = []
    for question in rubric.questions:
        if question.id not in given or given[question.id] is question.good:
            continue
        own = usable(written.get(question.id, ""), rubric.feedback)
        of_rubric = hint_in(question, locale)
        fallback = hint_in(question, default_locale) or next(iter(question.hints.values()), "")
        if rubric.feedback is FeedbackDepth.SOLUTIONS:
            text = own or of_rubric or fallback
        else:
            text = of_rubric or own or fallback
        if text:
            hints.append(Hint(question.id, text))
    return tuple(hints)


def hint_in(question: Question, locale: str) -> str:
    """The hint in a language; `de` is used for `de-AT`."""
    return question.hints.get(locale) or question.hints.get(locale.partition("-")[0]) or ""


def usable(text: str, depth: FeedbackDepth) -> str:
    """Empty if a model wrote what the student must not get."""
    shown = "".join(
        each for each in text if each == "\n" or unicodedata.category(each)[0] != "C"
    ).strip()
    if depth is FeedbackDepth.SOLUTIONS:
        return shown[:MAX_EXPLANATION]
    return "" if len(shown) > MAX_HINT or CODE_IN_HINT.search(shown) else shown
