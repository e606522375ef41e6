"""Chooses the language of a page, and translates its texts with gettext."""

import gettext
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from starlette.requests import HTTPConnection

SOURCE: Final = "en"
"""The language in which the templates are written."""
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch"}
COOKIE: Final = "deemster_language"
MOST_ACCEPTED: Final = 20


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    locale: Locale
    translations: gettext.NullTranslations


@cache
def language(code: str) -> Language:
    if code == SOURCE:
        return Language(code, Locale(code), gettext.NullTranslations())
    catalogue = Catalog(code)
    for source in files("deemster.web").joinpath("locale", code).iterdir():
        if source.name.endswith(".po"):
            for each in read_po(io.BytesIO(source.read_bytes())):
                if each.id:
                    catalogue[each.id] = each
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Language(code, Locale(code), gettext.GNUTranslations(compiled))


def language_of(request: HTTPConnection) -> Language:
    """The one that the visitor chose; else the first of the browser's that there is."""
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return language(chosen)
    accepted = request.headers.get("accept-language", "").split(",")[:MOST_ACCEPTED]
    for each in sorted(accepted, key=preference, reverse=True):
        code = each.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return language(code)
    return language(SOURCE)


def preference(accepted: str) -> float:
    """The weight of `de;q=0.8`; 1 if it gives none, 0 if it is not a number."""
    _, given, weight = accepted.partition("q=")
    try:
        return float(weight) if given else 1.0
    except ValueError:
        return 0.0
