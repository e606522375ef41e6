"""Tells people on pages what went wrong, in the language of the page.

Errors are raised with English messages. The catalogue `errors.po` has these with {1}, {2} … in
the places of values.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from starlette.requests import Request

from deemster.api.authentication import session_of
from deemster.api.http.errors import Invalid, kind_of
from deemster.domain.errors import DeemsterError
from deemster.web.language import SOURCE, PageLanguage, language_of, read_catalogue

CATALOGUE: Final = "errors.po"
PLACE: Final = re.compile(r"(\{\d\})")
MAX_FIELDS: Final = 3
MAX_CHARS: Final = 5000
"""Longer messages are shown as they are: comparing them would take long."""
LABELS: Final[Mapping[str, str]] = {
    "current_password": "Current password",
    "daily_quota": "Submissions per day; empty: as the settings say",
    "expires_in_days": "Days until it expires; empty: never",
    "language": "Language",
    "link_days": "Days until an unused link expires",
    "name": "Name",
    "password": "Password",
    "problem": "Problem",
    "reason": "Reason",
    "role": "Role",
    "source_code": "Your solution",
    "the request": "The form",
    "user": "User",
    "verdict": "Verdict",
}
"""What pages call the fields of the API."""


@dataclass(frozen=True, slots=True)
class ErrorText:
    text: str
    language: str
    """That of the page; English if there is no translation."""


@dataclass(frozen=True, slots=True)
class Template:
    """A message with places for values."""

    pattern: re.Pattern[str]
    translation: str
    literal_chars: int


def explain(error: DeemsterError, language: PageLanguage) -> ErrorText:
    """Leaves out what only the log may name: hosts and paths of the judge."""
    if isinstance(error, Invalid):
        return explain_fields(error, language)
    return to_language(kind_of(type(error)).detail or str(error), language)


def explain_to_script(request: Request, error: DeemsterError) -> str | None:
    """The scripts of pages ask with the session of the page; programs have tokens, and get
    English.
    """
    return explain(error, language_of(request)).text if session_of(request) else None


def explain_fields(error: Invalid, language: PageLanguage) -> ErrorText:
    gettext = language.translations.gettext
    shown = [
        (gettext(LABELS[fault.field]) if fault.field in LABELS else fault.field, fault.detail)
        for fault in error.faults[:MAX_FIELDS]
    ]
    details = [to_language(detail, language) for _, detail in shown]
    text = " ".join(
        f"{label}: {detail.text}." for (label, _), detail in zip(shown, details, strict=True)
    )
    is_translated = all(detail.language == language.code for detail in details)
    return ErrorText(text, language.code if is_translated else SOURCE)


def to_language(english: str, language: PageLanguage) -> ErrorText:
    if language.code == SOURCE:
        return ErrorText(english, SOURCE)
    translated = translate(english, language.code)
    if translated is None:
        return ErrorText(english, SOURCE)
    return ErrorText(translated, language.code)


def translate(english: str, code: str) -> str | None:
    """None: the catalogue does not have the message."""
    found = messages(code).get(english)
    if found is not None or len(english) > MAX_CHARS:
        return found
    if "\n" in english:
        lines = [translate(line, code) for line in english.split("\n")]
        return "\n".join(line for line in lines if line is not None) if all(lines) else None
    for template in templates(code):
        if match := template.pattern.fullmatch(english):
            # A value may be a message, too, such as the reason why somebody must wait.
            values = [translate(value, code) or value for value in match.groups()]
            return template.translation.format("", *values)
    return None


@cache
def messages(code: str) -> Mapping[str, str]:
    catalogue = read_catalogue(code, CATALOGUE)
    return {str(each.id): str(each.string) for each in catalogue if each.id and each.string}


@cache
def templates(code: str) -> tuple[Template, ...]:
    """Those with the most words of their own come first: others fit more messages."""
    found = [to_template(*each) for each in messages(code).items() if PLACE.search(each[0])]
    return tuple(sorted(found, key=lambda each: each.literal_chars, reverse=True))


def to_template(message: str, translation: str) -> Template:
    parts = PLACE.split(message)
    pattern = "".join("(.*?)" if PLACE.fullmatch(part) else re.escape(part) for part in parts)
    literal_chars = sum(len(part) for part in parts if not PLACE.fullmatch(part))
    return Template(re.compile(pattern, re.DOTALL), translation, literal_chars)
