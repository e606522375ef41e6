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

from deemster.api.app_state import app_state

SOURCE: Final = "en"
"""The language in which the templates are written."""
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch"}
TEXTS: Final = ("messages.po", "admin.po", "solving.po")
"""The catalogues of what templates say; `errors.po` has the messages of errors."""
COOKIE: Final = "deemster_language"
MAX_ACCEPTED: Final = 20


@dataclass(frozen=True, slots=True)
class PageLanguage:
    code: str
    locale: Locale
    translations: gettext.NullTranslations


@cache
def language(code: str) -> PageLanguage:
    if code == SOURCE:
        return PageLanguage(code, Locale(code), gettext.NullTranslations())
    catalogue = Catalog(code)
    for name in TEXTS:
        for each in read_catalogue(code, name):
            if each.id:
                catalogue[each.id] = each
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return PageLanguage(code, Locale(code), gettext.GNUTranslations(compiled))


def read_catalogue(code: str, name: str) -> Catalog:
    source = files("deemster.web").joinpath("locale", code, name)
    return read_po(io.BytesIO(source.read_bytes()))


def language_of(request: HTTPConnection) -> PageLanguage:
    """The one that the visitor chose; else the first of the browser's that there is; else that
    of the settings.
    """
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return language(chosen)
    accepted = request.headers.get("accept-language", "").split(",")[:MAX_ACCEPTED]
    for each in sorted(accepted, key=preference, reverse=True):
        code = each.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return language(code)
    return language(app_state(request).settings.page_language)


def preference(accepted: str) -> float:
    """The weight of `de;q=0.8`; 1 if it gives none, 0 if it is not a number."""
    _, given, weight = accepted.partition("q=")
    try:
        return float(weight) if given else 1.0
    except ValueError:
        return 0.0
