"""Headers of every answer that keep browsers from being used against people."""

from typing import Final

Header = tuple[bytes, bytes]

NO_STORE: Final = (b"cache-control", b"no-store")
POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
"""Of an answer that is no page: a browser that takes it for one runs and loads nothing."""
DOCS: Final = "/docs"
DOCS_SOURCES: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    b"connect-src 'self'; img-src 'self' data:; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page sets styles of single elements by itself."""
DOCS_POLICY: Final = (POLICY[0], DOCS_SOURCES)
ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
ONLY_TLS: Final = (b"strict-transport-security", b"max-age=31536000")


def headers_of(public_url: str | None) -> tuple[Header, ...]:
    """Those that go with all answers, by how people reach this."""
    secure = (public_url or "").lower().startswith("https://")
    return (*ALWAYS, ONLY_TLS) if secure else ALWAYS


def policy_of(path: str) -> Header:
    return DOCS_POLICY if path.startswith(DOCS) else POLICY
