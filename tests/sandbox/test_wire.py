"""wire.py and wire.h define the same messages."""

import re
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits
from deemster.sandbox import wire
from deemster.sandbox.command import Layers

HEADERS = Path(__file__).parents[2] / "runner" / "src"

PROBE = r"""
#include <stdio.h>
#include "wire.h"
#define AT(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))
int main(void) {
    printf("instruction %zu\nrequest %zu\nreport %zu\nevent %zu\n", sizeof(struct instruction),
           sizeof(struct request_head), sizeof(struct report), sizeof(struct event));
    AT(request_head, profile); AT(request_head, cpu_ns); AT(request_head, scratch_bytes);
    AT(request_head, scratch_inodes); AT(request_head, cpu_permille); AT(request_head, argc);
    AT(request_head, text_bytes); AT(report, arch); AT(report, cpu_ns); AT(report, oom_kills);
    AT(report, error); AT(report, ended_ns); AT(report, step);
    AT(event, slot); AT(event, uid); AT(event, pid); AT(event, step);
    return 0;
}
"""


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    folder = tmp_path_factory.mktemp("layout")
    (folder / "probe.c").write_text(PROBE)
    subprocess.run(
        ["gcc", "-I", HEADERS, folder / "probe.c", "-o", folder / "probe"], check=True
    )
    lines = subprocess.run([folder / "probe"], check=True, capture_output=True, text=True)
    return {name: int(value) for name, value in map(str.split, lines.stdout.splitlines())}


def offset(structure: struct.Struct, field: int) -> int:
    """Returns the offset of the n-th item of a packed format."""
    items = re.findall(r"(\d*)([A-Za-z])", structure.format.lstrip("="))
    flat = [
        code if code != "s" else f"{count}s"
        for count, code in items
        for _ in range(1 if code == "s" else int(count or 1))
    ]
    return struct.calcsize("=" + "".join(flat[:field]))


def test_structures_have_the_same_sizes_as_in_the_header(layout: dict[str, int]) -> None:
    assert layout["instruction"] == wire.INSTRUCTION.size
    assert layout["request"] == wire.REQUEST.size
    assert layout["report"] == wire.REPORT.size
    assert layout["event"] == wire.EVENT.size


def test_fields_have_the_same_offsets_as_in_the_header(layout: dict[str, int]) -> None:
    request = ("profile", 3), ("cpu_ns", 4), ("scratch_bytes", 9), ("scratch_inodes", 10)
    more = ("cpu_permille", 13), ("argc", 14), ("text_bytes", 16)
    for name, index in (*request, *more):
        assert layout[f"request_head.{name}"] == offset(wire.REQUEST, index), name
    for name, index in (
        ("arch", 3),
        ("cpu_ns", 4),
        ("oom_kills", 7),
        ("error", 9),
        ("ended_ns", 11),
        ("step", 12),
    ):
        assert layout[f"report.{name}"] == offset(wire.REPORT, index), name
    for name, index in (("slot", 2), ("uid", 4), ("pid", 5), ("step", 6)):
        assert layout[f"event.{name}"] == offset(wire.EVENT, index), name


def constants(text: str, prefix: str) -> dict[str, int]:
    found = re.findall(rf"\b{prefix}_(\w+) = ((?:1 << )?\d+)", text)
    return {
        name: 1 << int(value[5:]) if value.startswith("1 <<") else int(value)
        for name, value in found
    }


def test_constants_have_the_same_values_as_in_the_headers() -> None:
    header = (HEADERS / "wire.h").read_text()
    assert constants(header, "END") == {end.name: end.value for end in wire.End}
    assert constants(header, "EVENT") == {
        event.name: event.value for event in wire.RunnerEventKind
    }
    assert constants(header, "NOTE") == {note.name: note.value for note in wire.Note}
    flags = {flag.name: flag.value for flag in wire.RequestFlag}
    assert constants(header, "REQUEST") == flags
    known = re.search(r"REQUEST_FLAGS_KNOWN (\d+)", header)
    assert known is not None
    assert int(known[1]) == sum(wire.RequestFlag)
    instructions = {**constants(header, "INSTRUCTION"), **constants(header, "CONTROL")}
    expected = {item.name: item.value for item in wire.Instruction}
    assert instructions == expected
    layers = constants((HEADERS / "slot.h").read_text(), "LAYER")
    assert layers == {layer.name: layer.value for layer in Layers}


@given(
    st.lists(st.text(), max_size=50).map(lambda more: ["/bin/true", *more]),
    st.dictionaries(st.text(), st.text()),
)
def test_a_request_is_packed_completely_or_refused(
    argv: list[str], env: dict[str, str]
) -> None:
    try:
        packet = wire.pack_request(argv, env, Limits(), 0)
    except Refused:
        zero = any("\0" in text for text in [*argv, *env, *env.values()])
        surrogates = any(
            re.search("[\ud800-\udfff]", text) for text in [*argv, *env, *env.values()]
        )
        assert zero or surrogates
        return
    text = packet[wire.REQUEST.size :].split(b"\0")
    assert text == [
        *(item.encode() for item in argv),
        *(f"{name}={value}".encode() for name, value in env.items()),
        b"",
    ]


def test_x7_a_huge_argv_is_refused_with_its_size() -> None:
    with pytest.raises(Refused, match="KiB"):
        wire.pack_request(["/bin/true", "x" * 200_000], {}, Limits(), 0)
    with pytest.raises(Refused, match="arguments"):
        wire.pack_request(["/bin/true"] * 3000, {}, Limits(), 0)
