"""Opens the client of `deemster submit` and `exec`, and words its errors for a terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from deemster.cli.token_file import TOKEN_FILE, read_token
from deemster.client import (
    ApiError,
    AsyncDeemster,
    AuthenticationError,
    NoAnswerError,
    Retries,
    ServerError,
    UnexpectedAnswerError,
)
from deemster.client.endpoint import check_url, is_local
from deemster.domain.errors import DeemsterError, Refused, Unavailable
from deemster.settings import TOKEN_VARIABLE, URL_VARIABLE, Server

RETRIES: Final = Retries(statuses=Retries().statuses - {429})
"""A user who reached a limit is told at once."""


@asynccontextmanager
async def open_client(
    server: Server, data_dir: Path, retries: Retries = RETRIES
) -> AsyncIterator[AsyncDeemster]:
    try:
        check_url(server.url)
        token = server.token or admin_token(server.url, data_dir)
        client = AsyncDeemster(server.url, token, retries=retries)
    except ValueError as fault:
        what = str(fault).rstrip(".")
        raise Refused(f"{what}: correct {URL_VARIABLE} or {TOKEN_VARIABLE}.") from fault
    async with client:
        try:
            yield client
        except ApiError as error:
            raise explain(server.url, error) from error


def admin_token(url: str, data_dir: Path) -> str:
    """The admin's token is only sent to a service on this machine."""
    if is_local(url):
        try:
            return read_token(data_dir / TOKEN_FILE)
        except OSError:
            pass
    raise Refused(
        f"{url} needs a token: set {TOKEN_VARIABLE} to one that `deemster user token` made."
    )


def explain(url: str, error: ApiError) -> DeemsterError:
    match error:
        case AuthenticationError():
            return Refused(
                f"{url} refused the token: set {TOKEN_VARIABLE} to one that "
                "`deemster user token` made."
            )
        case UnexpectedAnswerError():
            return Unavailable(
                f"The answer of {url} is not one of Deemster: check {URL_VARIABLE}."
            )
        case NoAnswerError():
            what = error.detail.rstrip(".")
        case ServerError() if error.status in RETRIES.statuses:
            what = f"{url} does not answer ({error.detail})"
        case _:
            return Refused(f"{url} refused the request ({error.status}): {error.detail}")
    return Unavailable(
        f"{what}: check that the service runs there and that {URL_VARIABLE} is right."
    )
