"""People log in often here, so their passwords are hashed quickly."""

from functools import partial

import pytest

from deemster.api.auth import auth
from deemster.api.auth.passwords import Passwords
from tests.api.auth.people import QUICK


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing with small parameters; a test of the usual ones puts them back."""
    monkeypatch.setattr(auth, "Passwords", partial(Passwords, QUICK))
