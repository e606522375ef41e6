"""The tiers of models and the budgets, as admins set them."""

from collections.abc import Iterable
from dataclasses import asdict

from deemster.domain.model_tier import Budgets, ModelTier, TokenLimitParameter
from deemster.store.pool import Connection, statements

SQL = statements("model_tiers")


async def list_tiers(connection: Connection) -> list[ModelTier]:
    """The cheapest first."""
    return [
        ModelTier(**{**row, "token_limit": TokenLimitParameter(row["token_limit"])})
        async for row in SQL.list_tiers(connection)
    ]


async def replace_tiers(connection: Connection, tiers: Iterable[ModelTier]) -> None:
    """Call it in a transaction."""
    await SQL.clear(connection)
    for tier in tiers:
        await SQL.add(connection, **asdict(tier))


async def get_budgets(connection: Connection) -> Budgets:
    return Budgets(**await SQL.get_budgets(connection))


async def set_budgets(connection: Connection, budgets: Budgets) -> None:
    await SQL.set_budgets(connection, **asdict(budgets))
