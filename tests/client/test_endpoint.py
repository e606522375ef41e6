"""The URL and the token come from arguments or from the environment."""

import ssl
import subprocess
import sys

import pytest

from deemster.client import AsyncDeemster, Deemster
from deemster.client.endpoint import find_endpoint, is_local, tls_for

HEAVY = {"asyncpg", "fastapi", "pydantic", "structlog", "typer", "uvloop", "websockets"}


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEMSTER_URL", "https://judge.example.org/")
    monkeypatch.setenv("DEEMSTER_TOKEN", "deem_env\n")
    found = find_endpoint(None, None)
    assert (found.url, found.token) == ("https://judge.example.org", "deem_env")
    found = find_endpoint("http://127.0.0.1:9", "deem_own")
    assert (found.url, found.token) == ("http://127.0.0.1:9", "deem_own")
    assert "deem_own" not in repr(found)


def test_without_a_url_the_server_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEMSTER_URL", raising=False)
    assert find_endpoint(None, "deem_x").url == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("url", "token", "reason"),
    [
        ("http://127.0.0.1", "", "needs a token"),
        ("http://127.0.0.1", "deem_\u00fc", "characters"),
        ("http://127.0.0.1", "deem_\nx", "characters"),
        ("gopher://x", "deem_x", "not a valid URL"),
        ("http://", "deem_x", "not a valid URL"),
        ("http://x:port", "deem_x", "not a valid URL"),
        ("127.0.0.1:8000", "deem_x", "not a valid URL"),
    ],
)
def test_a_mistake_is_told_at_once(
    url: str, token: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEMSTER_TOKEN", raising=False)
    for client in (Deemster, AsyncDeemster):
        with pytest.raises(ValueError, match=reason):
            client(url, token)


def test_proxies_are_not_for_this_machine() -> None:
    assert is_local("http://localhost:8000")
    assert is_local("http://[::1]:8000")
    assert not is_local("https://judge.example.org")
    assert not is_local("http://127.0.0.1.example.org")


def test_certificates_are_verified_and_only_loaded_for_tls() -> None:
    assert tls_for("https://judge.example") is True
    plain = tls_for("http://judge.example")
    assert isinstance(plain, ssl.SSLContext)
    assert (plain.verify_mode, plain.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert plain.get_ca_certs() == []


def test_importing_the_client_imports_nothing_of_the_server() -> None:
    code = "import sys, deemster.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    found = set(done.stdout.decode().split())
    assert not found & HEAVY
    ours = {name.split(".")[1] for name in found if name.startswith("deemster.")}
    assert ours == {"client", "domain"}
