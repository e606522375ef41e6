"""Finds the token of a request wherever clients of compatible APIs send it."""

import base64
import binascii

from starlette.requests import HTTPConnection, Request


def with_bearer(request: Request, *own_headers: str) -> Request:
    """The request with its token after the word Bearer, wherever its client sends it."""
    headers = bearer_headers(request, *own_headers)
    return Request({**request.scope, "headers": headers}, request.receive)


def bearer_headers(request: HTTPConnection, *own_headers: str) -> list[tuple[bytes, bytes]]:
    """All headers of the request, with such an Authorization header.

    Some clients send it alone, or in a header of their own. Clients that have only an address
    can name it there as the password: then they send it in the scheme Basic.
    """
    given = request.headers.get("authorization", "").strip()
    scheme, _, rest = given.partition(" ")
    if not given:
        found = (request.headers.get(name, "").strip() for name in own_headers)
        token = next(filter(None, found), "")
    elif scheme.lower() == "basic":
        token = password_of(rest)
    else:
        token = "" if rest else scheme
    headers: list[tuple[bytes, bytes]] = list(request.scope["headers"])
    if not token:
        return headers
    others = [each for each in headers if each[0] != b"authorization"]
    return [*others, (b"authorization", b"Bearer " + token.encode("latin-1", "replace"))]


def password_of(credentials: str) -> str:
    """The password of a header in the scheme Basic, or the name if there is none."""
    try:
        decoded = base64.b64decode(credentials.strip()).decode("latin-1")
    except binascii.Error:
        return ""
    name, _, password = decoded.partition(":")
    return password or name
