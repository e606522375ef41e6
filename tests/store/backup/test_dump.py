"""Passwords do not appear on the command lines of Postgres's programs."""

import pytest

from deemster.domain.errors import Refused
from deemster.store.backup.dump import without_password


@pytest.mark.parametrize(
    ("url", "plain", "password"),
    [
        (
            "postgresql://a:b%40c@h:1/d?sslmode=require",
            "postgresql://a@h:1/d?sslmode=require",
            "b@c",
        ),
        ("postgresql://a@/d?host=/run/x&port=1", "postgresql://a@/d?host=/run/x&port=1", None),
        ("postgresql:///d?host=/run/x", "postgresql:///d?host=/run/x", None),
        ("postgres://h/d?password=p%20w&user=u", "postgres://h/d?user=u", "p w"),
        ("postgresql://h/d?password=x", "postgresql://h/d", "x"),
    ],
)
def test_the_password_is_taken_out(url: str, plain: str, password: str | None) -> None:
    assert without_password(url) == (plain, password)


def test_another_kind_of_url_is_refused() -> None:
    with pytest.raises(Refused, match="postgresql://"):
        without_password("mysql://h/d")
