"""Tests for programs/tokens.py and tokenizer.py: exact tokens, and limits that strike."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name

from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import MAX_CHARACTERS, TokenizeFailed, Tokenizer
from deemster.programs.tokens import Token, TokenKind, tokens_of
from tests.waiting import until

LANGUAGES = tuple(load_catalogue())
SLOW = "/" * 100_000
"""The C++ lexer tries each of these as the start of a comment, up to the end."""
OWNER = """
import asyncio, sys
from deemster.programs.tokenizer import Tokenizer

async def main():
    async with Tokenizer() as tokenizer:
        await tokenizer.tokens("python", "x")
        print(tokenizer.process_id, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
async def tokenizer() -> AsyncIterator[Tokenizer]:
    async with Tokenizer() as opened:
        yield opened


def joined(tokens: list[Token]) -> str:
    assert [token.offset for token in tokens] == offsets(tokens)
    assert all(token.text for token in tokens)
    return "".join(token.text for token in tokens)


def offsets(tokens: list[Token]) -> list[int]:
    return [sum(len(token.text) for token in tokens[:index]) for index in range(len(tokens))]


def kinds(lexer: str, source: str) -> list[tuple[str, str]]:
    tokens = tokens_of(lexer, source)
    return [(token.kind, token.text) for token in tokens if token.kind != TokenKind.SPACE]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_every_language_names_a_lexer_that_gives_its_program_back(language: Language) -> None:
    get_lexer_by_name(language.lexer)
    for source in (language.template, language.test.source):
        for ends in ("\n", "\r\n", "\r"):
            text = source.replace("\n", ends)
            assert joined(tokens_of(language.lexer, text)) == text


FRAGMENTS = st.sampled_from(
    [
        *(
            "'",
            '"',
            '"""',
            "`",
            "\\",
            "/*",
            "*/",
            "//",
            "#",
            "--",
            "{-",
            "(*",
            "<<EOF\n",
            "<<-X",
        ),
        *("\r", "\n", "\r\n", "\t", " ", "\f", "\0", "\u2028", "é", "漢", "\U0001f600"),
        *("#include <a>", "#if 0", "#endif", "<?php", "?>", "${", "}", "{", "(", ")", "[", "]"),
        *(
            "r#'",
            "%q(",
            "qw/",
            "@",
            "$",
            "=begin\n",
            "=cut",
            "__END__\n",
            "for",
            "while",
            "x",
            "0x1",
        ),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(LANGUAGES), st.lists(FRAGMENTS | st.text(max_size=5), max_size=12))
def test_any_text_is_given_back_exactly(language: Language, parts: list[str]) -> None:
    source = "".join(parts)
    assert joined(tokens_of(language.lexer, source)) == source


def test_kinds_of_a_python_program() -> None:
    source = 'def f(n):\n    """Says."""\n    return n and "a" + 0x1F  # why\n'
    assert kinds("python", source) == [
        ("keyword", "def"),
        ("name", "f"),
        ("operator", "("),
        ("name", "n"),
        ("operator", ")"),
        ("operator", ":"),
        ("comment", '"""Says."""'),
        ("keyword", "return"),
        ("name", "n"),
        ("keyword", "and"),
        ("string", '"'),
        ("string", "a"),
        ("string", '"'),
        ("operator", "+"),
        ("number", "0x1F"),
        ("comment", "# why"),
    ]


def test_a_line_for_the_preprocessor_is_not_a_comment() -> None:
    found = kinds("cpp", "#define N 5 // five\n#if 0\nint x;\n#endif\n")
    assert ("other", "define N 5 ") in found
    assert [text for kind, text in found if kind == "comment"] == ["// five\n", "int x;\n"]


def test_a_carriage_return_ends_a_comment() -> None:
    assert ("keyword", "return") in kinds("python", "# hidden\rreturn 1")


async def test_the_process_returns_the_same_tokens(tokenizer: Tokenizer) -> None:
    for language in LANGUAGES[:5]:
        source = language.test.source + "\r\n'é漢\U0001f600'\0"
        assert await tokenizer.tokens(language.lexer, source) == tokens_of(
            language.lexer, source
        )


async def test_requests_at_the_same_time_get_their_own_answers(tokenizer: Tokenizer) -> None:
    sources = [f"x = {number}" for number in range(20)]
    answers = await asyncio.gather(*(tokenizer.tokens("python", each) for each in sources))
    assert [joined(answer) for answer in answers] == sources


async def test_cpu_time_ends_and_the_process_is_replaced() -> None:
    async with Tokenizer(cpu_s=0.2) as tokenizer:
        await tokenizer.tokens("cpp", "int x;")
        first = tokenizer.process_id
        with pytest.raises(TokenizeFailed, match=r"over 0\.2 s of CPU time"):
            await tokenizer.tokens("cpp", SLOW)
        assert joined(await tokenizer.tokens("cpp", "int x;")) == "int x;"
        assert tokenizer.process_id != first


async def test_cpu_time_is_counted_for_each_source() -> None:
    async with Tokenizer(cpu_s=0.5) as tokenizer:
        source = "x = 1\n" * 1000
        for _ in range(15):
            await tokenizer.tokens("python", source)


async def test_wall_time_ends_and_the_process_is_replaced() -> None:
    async with Tokenizer(cpu_s=60, wall_s=0.2) as tokenizer:
        with pytest.raises(TokenizeFailed, match=r"more than 0\.2 s"):
            await tokenizer.tokens("cpp", SLOW)
        assert tokenizer.process_id is None


async def test_memory_ends_and_the_process_is_replaced() -> None:
    async with Tokenizer(cpu_s=60, memory_bytes=64 * MIB) as tokenizer:
        with pytest.raises(TokenizeFailed, match="over 64 MB of memory"):
            await tokenizer.tokens("text", "\r" + "\U0001f600" * 1_000_000)
        assert joined(await tokenizer.tokens("python", "x")) == "x"


async def test_a_source_that_is_too_long_never_reaches_the_process(
    tokenizer: Tokenizer,
) -> None:
    with pytest.raises(TokenizeFailed, match="characters"):
        await tokenizer.tokens("python", "x" * (MAX_CHARACTERS + 1))
    assert tokenizer.process_id is None


async def test_the_number_of_tokens_is_bounded() -> None:
    async with Tokenizer(max_tokens=10) as tokenizer:
        with pytest.raises(TokenizeFailed, match="more than 10 tokens"):
            await tokenizer.tokens("python", "a+" * 6)
        assert joined(await tokenizer.tokens("python", "x")) == "x"


async def test_a_cancelled_request_does_not_answer_the_next() -> None:
    async with Tokenizer(cpu_s=60) as tokenizer:
        await tokenizer.tokens("python", "x")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await tokenizer.tokens("cpp", SLOW)
        assert joined(await tokenizer.tokens("python", "y")) == "y"


async def test_a_killed_process_is_replaced(tokenizer: Tokenizer) -> None:
    await tokenizer.tokens("python", "x")
    assert tokenizer.process_id is not None
    os.kill(tokenizer.process_id, signal.SIGKILL)
    with pytest.raises(TokenizeFailed, match="exit code -9"):
        await tokenizer.tokens("python", "x")
    assert joined(await tokenizer.tokens("python", "x")) == "x"


async def test_the_process_gets_no_environment(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEMSTER_SECRET", "s3cret")
    await tokenizer.tokens("python", "x")
    process = Path(f"/proc/{tokenizer.process_id}")
    assert b"s3cret" not in (process / "environ").read_bytes()
    assert {each.name for each in (process / "fd").iterdir()} == {"0", "1", "2"}


async def test_the_process_ends_with_its_parent() -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    process = Path(f"/proc/{int(await owner.stdout.readline())}/stat")
    owner.kill()
    await owner.wait()
    await until(lambda: not process.exists() or ") Z " in process.read_text())


async def test_leaving_the_context_ends_the_process() -> None:
    async with Tokenizer() as tokenizer:
        await tokenizer.tokens("python", "x")
        assert tokenizer.process_id is not None
        process = tokenizer.process_id
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
