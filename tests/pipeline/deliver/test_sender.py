"""H3: one request, only to the addresses that were checked, within its bounds."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from deemster.pipeline.deliver.sender import (
    DeliveryFault,
    SendOutcome,
    WebhookRequest,
    WebhookSender,
)
from deemster.public_addresses import Address
from tests.pipeline.deliver.authority import Authority
from tests.pipeline.deliver.receiver import (
    OK,
    Request,
    raw,
    receiving,
    silence,
    status,
)
from tests.waiting import until

BODY = b'{"type": "submission.finished"}'
FAR = "2d00::1"
"""A public address that nobody uses."""


HERE = """
127.0.0.1 127.1 2130706433 0x7f.1 0x7f000001 017700000001 0.0.0.0 0 localhost LocalHost
[::ffff:127.0.0.1] [::ffff:7f00:1]
"""
NO_HTTP = [b"", b"what?\r\n\r\n", b"HTTP/1.1 2x0 ok\r\n\r\n", b"\x16\x03"]


class Names:
    """A resolver for tests: each name has several answers, one after the other."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {name: list(each) for name, each in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append(host)
        answers = self._answers.get(host.partition(".")[0])
        if not answers:
            raise OSError("no such name")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return [ipaddress.ip_address(each) for each in answer]


async def send(sender: WebhookSender, url: str, timeout_s: float = 20) -> SendOutcome:
    headers = {"webhook-id": "whd_x"}
    return await sender.send(WebhookRequest("POST", url, headers, BODY, timeout_s))


# -- where it may go --


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "017700000001",
        "0.0.0.0",
        "0",
        "localhost",
        "LocalHost",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
    ],
)
async def test_no_spelling_of_this_machine_is_reached(host: str) -> None:
    """H3: with the real resolver, which understands all of these spellings."""
    async with receiving() as receiver:
        url = f"http://{host}:{receiver.port}/"
        assert await send(WebhookSender(), url) == SendOutcome(None, DeliveryFault.NOT_ALLOWED)
        assert not receiver.connections
        # It is the rule that keeps it from there, nothing else.
        assert await send(WebhookSender(allow_private=True), url) == SendOutcome(200, None)


@pytest.mark.parametrize("host", ["0177.0.0.1", "127.0.0.1.", "localhost.", "a.localhost"])
async def test_spellings_that_only_some_resolvers_know_are_not_reached(host: str) -> None:
    """H3."""
    async with receiving() as receiver:
        outcome = await send(WebhookSender(), f"http://{host}:{receiver.port}/")
        assert outcome.fault in {
            DeliveryFault.NOT_ALLOWED,
            DeliveryFault.UNREADABLE,
            DeliveryFault.UNKNOWN_NAME,
        }
        assert not receiver.connections


@pytest.mark.parametrize(
    "host", ["[::1]", "[::]", "[::127.0.0.1]", "[fe80::1]", "[fe80::1%25lo]", "[fd00:ec2::254]"]
)
async def test_no_local_ipv6_address_is_reached(host: str) -> None:
    """H3."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "::", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        outcome = await send(WebhookSender(), f"http://{host}:{port}/")
    assert outcome.fault in {
        DeliveryFault.NOT_ALLOWED,
        DeliveryFault.UNREADABLE,
        DeliveryFault.UNKNOWN_NAME,
    }


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.7"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        [FAR, "127.0.0.1"],
        ["127.0.0.1", FAR],
        [FAR, "fd00::1"],
    ],
)
async def test_a_name_with_any_private_address_is_refused(addresses: list[str]) -> None:
    """H3: even if another one is public."""
    async with receiving() as receiver:
        sender = WebhookSender(look_up=Names(inside=[addresses]))
        outcome = await send(sender, f"http://inside.example:{receiver.port}/")
        assert outcome == SendOutcome(None, DeliveryFault.NOT_ALLOWED)
        assert not receiver.connections


async def test_dns_rebinding_reaches_no_private_address() -> None:
    """H3: the name is looked up once."""
    async with receiving() as receiver:
        names = Names(rebind=[[FAR], ["127.0.0.1"]])
        outcome = await send(
            WebhookSender(look_up=names), f"http://rebind.example:{receiver.port}/", 0.5
        )
        assert outcome.fault in {DeliveryFault.NO_CONNECTION, DeliveryFault.TIMEOUT}
        assert names.asked == ["rebind.example"]
        assert not receiver.connections


async def test_the_connection_uses_the_addresses_that_were_checked() -> None:
    """H3: and the Host header has the name."""
    async with (
        receiving() as first,
        receiving(host="127.0.0.2", port=first.port) as second,
    ):
        names = Names(rebind=[["127.0.0.1"], ["127.0.0.2"]])
        sender = WebhookSender(allow_private=True, look_up=names)
        url = f"http://rebind.example:{first.port}/a%20b?c=d"
        assert await send(sender, url) == SendOutcome(200, None)
        assert names.asked == ["rebind.example"]
        (request,) = first.got
        assert request.headers["host"] == f"rebind.example:{first.port}"
        assert (request.path, request.body) == ("/a%20b?c=d", BODY)
        assert not second.connections
        await send(sender, url)
        assert len(second.got) == 1, "each attempt asks anew"


async def test_proxies_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """H3: a proxy would resolve names itself."""
    async with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert await send(WebhookSender(allow_private=True), receiver.url) == SendOutcome(
            200, None
        )
        assert not proxy.connections


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "unix:///run/x.sock",
        "gopher://example.org/",
        "http://example.org:0/",
        "http://user:word@example.org/",
        "http:///path",
        "http://[::1/",
        "example.org",
        "",
    ],
)
async def test_urls_that_are_not_http_are_refused(url: str) -> None:
    """H3."""
    names = Names(example=[[FAR]])
    assert await send(WebhookSender(look_up=names), url) == SendOutcome(
        None, DeliveryFault.UNREADABLE
    )
    assert not names.asked


async def test_impossible_host_names_are_not_found() -> None:
    for host in ("no-such-name.invalid", ".example.org", "a" * 64 + ".example"):
        outcome = await send(WebhookSender(), f"http://{host}/")
        assert outcome.fault in {DeliveryFault.UNKNOWN_NAME, DeliveryFault.UNREADABLE}


# -- how it goes --


async def test_after_a_dead_address_the_next_one_is_tried() -> None:
    async with receiving() as receiver:
        names = Names(two=[["127.0.0.3", "127.0.0.1"]])
        sender = WebhookSender(allow_private=True, look_up=names)
        url = f"http://two.example:{receiver.port}/"
        assert await send(sender, url) == SendOutcome(200, None)


async def test_a_refused_connection_is_a_failure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome = await send(WebhookSender(allow_private=True), f"http://127.0.0.1:{port}/")
    assert outcome == SendOutcome(None, DeliveryFault.NO_CONNECTION)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (200, None),
        (204, None),
        (299, None),
        (301, DeliveryFault.REDIRECT),
        (304, DeliveryFault.REDIRECT),
        (308, DeliveryFault.REDIRECT),
        (400, DeliveryFault.STATUS),
        (410, DeliveryFault.STATUS),
        (503, DeliveryFault.STATUS),
    ],
)
async def test_anything_but_2xx_is_a_failure(code: int, fault: DeliveryFault | None) -> None:
    """H2."""
    async with receiving(status(code, "Location: http://127.0.0.1/")) as receiver:
        assert await send(WebhookSender(allow_private=True), receiver.url) == SendOutcome(
            code, fault
        )
        assert len(receiver.got) == 1


@pytest.mark.parametrize("said", NO_HTTP)
async def test_a_response_that_is_not_http_is_a_failure(said: bytes) -> None:
    async with receiving(raw(said)) as receiver:
        outcome = await send(WebhookSender(allow_private=True), receiver.url)
        assert outcome == SendOutcome(None, DeliveryFault.NO_HTTP)


async def drip_headers(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: x\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("answer", [silence, drip_headers])
async def test_the_timeout_covers_the_whole_exchange(answer: Any) -> None:
    """H2: not the time between two bytes."""
    async with receiving(answer) as receiver:
        outcome = await send(WebhookSender(allow_private=True), receiver.url, 0.5)
        assert outcome == SendOutcome(None, DeliveryFault.TIMEOUT)
        await until(lambda: receiver.open_now == 0)


async def test_the_timeout_covers_the_look_up() -> None:
    async def hang(_host: str, _port: int) -> Sequence[Address]:
        await asyncio.Event().wait()
        return []

    outcome = await send(WebhookSender(look_up=hang), "http://slow.example/", 0.1)
    assert outcome == SendOutcome(None, DeliveryFault.TIMEOUT)


async def test_only_the_start_of_a_large_response_is_read() -> None:
    sent_bytes = 0

    async def flood(_: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent_bytes
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent_bytes += 65536

    async with receiving(flood) as receiver:
        assert await send(WebhookSender(allow_private=True), receiver.url) == SendOutcome(
            200, None
        )
        await until(lambda: receiver.open_now == 0)
    assert sent_bytes < 64 << 20, "what the kernel's buffers hold, and not for ever"


async def test_a_response_broken_after_its_status_counts_by_its_status() -> None:
    """The receiver has the webhook, so it must not be sent again."""
    cut = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
    async with receiving(cut) as receiver:
        assert await send(WebhookSender(allow_private=True), receiver.url) == SendOutcome(
            200, None
        )


# -- TLS --


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def test_tls_checks_the_host_name_though_the_address_is_pinned(
    authority: Authority,
) -> None:
    """H3"""
    server = authority.server_context("hooks.example")
    names = Names(hooks=[["127.0.0.1"]], other=[["127.0.0.1"]])
    async with receiving(OK, tls=server) as receiver:
        sender = WebhookSender(
            allow_private=True, look_up=names, tls=authority.client_context()
        )
        url = f"https://hooks.example:{receiver.port}/"
        assert await send(sender, url) == SendOutcome(200, None)
        assert receiver.names_asked == ["hooks.example"]
        wrong = await send(sender, f"https://other.example:{receiver.port}/")
        assert wrong == SendOutcome(None, DeliveryFault.NO_TLS)
        assert len(receiver.got) == 1


async def test_an_unknown_certificate_authority_is_not_trusted(authority: Authority) -> None:
    server = authority.server_context("hooks.example")
    async with receiving(OK, tls=server) as receiver:
        sender = WebhookSender(allow_private=True, look_up=Names(hooks=[["127.0.0.1"]]))
        outcome = await send(sender, f"https://hooks.example:{receiver.port}/")
        assert outcome == SendOutcome(None, DeliveryFault.NO_TLS)
        assert not receiver.got


async def test_plain_http_on_a_tls_port_is_a_failure() -> None:
    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Speak HTTP\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        outcome = await send(WebhookSender(allow_private=True), f"https://127.0.0.1:{port}/")
    assert outcome == SendOutcome(None, DeliveryFault.NO_TLS)
