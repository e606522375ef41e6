"""Calls that list and read problems, and list languages."""

from collections.abc import Sequence
from dataclasses import dataclass

from deemster.client.exchange import Exchange, given, path_of
from deemster.client.models.parsing import Model
from deemster.client.models.problems import Language, Problem, ProblemItem
from deemster.client.paging import list_all
from deemster.client.steps import ItemSteps, Request, Steps


def list_problems(
    exchange: Exchange,
    *,
    words: str | None = None,
    tags: Sequence[str] = (),
    difficulty: str | None = None,
    result: str | None = None,
    sort: str | None = None,
    drafts: bool = False,
    mine: bool = False,
) -> ItemSteps[ProblemItem]:
    """Iterates over the problems that match all filters.

    `words` are searched in titles, tags and ids. `difficulty` is `easy`, `medium` or `hard`.
    `result` is what you reached: `solved`, `tried` or `open`. `sort` is `id` (default),
    `title`, `difficulty`, `solved` or `newest`. `drafts` lists problems that are not published
    instead. With `mine`, each tells whether you solved it.
    """
    flags = {"drafts": drafts, "mine": mine}
    params: dict[str, str | Sequence[str]] = {
        **given(q=words, difficulty=difficulty, result=result, sort=sort),
        **{name: "true" for name, is_set in flags.items() if is_set},
    }
    if tags:
        params["tag"] = tuple(tags)
    return list_all(exchange, path_of("problems"), ProblemItem, params)


def get(exchange: Exchange, problem_id: str) -> Steps[Problem]:
    """Reads a problem with its statements, samples and limits."""
    return exchange.fetch(Problem, Request("GET", path_of("problems", problem_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Languages(Model):
    items: tuple[Language, ...]


def languages(exchange: Exchange) -> Steps[tuple[Language, ...]]:
    """Lists all languages, with the versions that live workers have."""
    found = yield from exchange.fetch(Languages, Request("GET", path_of("languages")))
    return found.items
