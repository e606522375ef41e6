"""Lists all items of a list that the server gives in pages (A8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from deemster.client.exchange import Exchange
from deemster.client.models.parsing import Model, parse
from deemster.client.steps import Emit, ItemSteps, Request

M = TypeVar("M", bound=Model)

PAGE_SIZE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Model):
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None = None


def list_all(
    exchange: Exchange, path: str, kind: type[M], params: Mapping[str, str | Sequence[str]]
) -> ItemSteps[M]:
    """Fetches a page when the caller has taken all items of the page before it."""
    params = {"limit": str(PAGE_SIZE), **params}
    while True:
        page = yield from exchange.fetch(Page, Request("GET", path, params=params))
        for item in page.items:
            yield Emit(parse(kind, item))
        if page.next_cursor is None:
            return
        params = {**params, "cursor": page.next_cursor}
