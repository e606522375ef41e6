"""List and read problems, and list languages."""

from dataclasses import dataclass

from deemster.client.exchange import Exchange, path_of
from deemster.client.models.parsing import Model
from deemster.client.models.problems import Language, Problem, ProblemItem
from deemster.client.paging import list_all
from deemster.client.steps import ItemSteps, Request, Steps


def list_problems(exchange: Exchange, *, mine: bool = False) -> ItemSteps[ProblemItem]:
    """Iterates over the problems by id; with `mine`, each tells whether you solved it."""
    params = {"mine": "true"} if mine else {}
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
