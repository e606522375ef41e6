"""H3: which addresses are public, in every spelling."""

import ipaddress

import pytest

from deemster.public_addresses import is_plainly_private, is_public

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1
169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.170
192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9
224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::10.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::10.0.0.1
64:ff9b:1::8.8.8.8 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1
2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a9fe:a9fe::1 2002:808:808::1 3fff::1 5f00::1
fc00::1 fd00:ec2::254 fe80::1 fe80::1%1 fec0::1 ff02::1 ff0e::1 4000::1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255
198.17.255.255 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
2001:4860:4860::8888 2606:4700::1111 2a00:1450:4001::1
"""
PLAIN = """
127.0.0.1 127.1 2130706433 0x7f.1 0x7f000001 017700000001 0177.0.0.1 127.0.0.1. 0 10.1
192.168.257 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [fe80::1] [fd00::1] [64:ff9b::7f00:1]
169.254.169.254 0xa9fea9fe localhost localhost. LOCALHOST a.localhost db.internal printer.local
"""
NOT_PLAIN = """
example.org 8.8.8.8 134744072 0x8.0x8.0x8.0x8 [2606:4700::1111] localhost.example.org
10.example.org 1e100.net xn--bcher-kva.example bücher.example mylocal
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_private_and_reserved_addresses_are_not_public(address: str) -> None:
    """H3."""
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC.split())
def test_internet_addresses_are_public(address: str) -> None:
    """H3."""
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", PLAIN.split())
def test_some_hosts_are_private_without_a_look_up(host: str) -> None:
    """H3: so that the API can refuse them at once."""
    for scheme in ("http", "https"):
        assert is_plainly_private(f"{scheme}://{host}/hook")
        assert is_plainly_private(f"{scheme}://{host}:8080/hook?x=1")


@pytest.mark.parametrize("host", NOT_PLAIN.split())
def test_other_hosts_need_a_look_up(host: str) -> None:
    assert not is_plainly_private(f"https://{host}/hook")


@pytest.mark.parametrize(
    "url", ["", "http://", "http://[::1", "http://a b/", "https://☃.\u200b/"]
)
def test_a_malformed_url_is_not_called_private(url: str) -> None:
    assert not is_plainly_private(url)
