"""Passwords that Deemster generates: 80 random bits need no slow hash (K4, O6)."""

import hashlib
import hmac
import secrets
from typing import Final

from deemster.domain.readable_secret import normalise_readable_secret

PREFIX: Final = "$generated-sha256$"


def hash_generated_password(password: str) -> str:
    """Only for passwords of `new_readable_secret`: others could be guessed from this hash."""
    return hash_with_salt(password, secrets.token_hex(16))


def is_generated(hashed: str) -> bool:
    return hashed.startswith(PREFIX)


def matches_generated(hashed: str, password: str) -> bool:
    salt = hashed.removeprefix(PREFIX).partition("$")[0]
    expected = hash_with_salt(normalise_readable_secret(password), salt)
    return hmac.compare_digest(hashed.encode(), expected.encode())


def hash_with_salt(password: str, salt: str) -> str:
    digest = hashlib.sha256(f"{salt}\n{password}".encode()).hexdigest()
    return f"{PREFIX}{salt}${digest}"
