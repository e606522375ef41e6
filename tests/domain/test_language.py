"""Placeholders, names of source files, and finding a language."""

from dataclasses import replace

import pytest

from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language, LanguageId, Permissions, fill
from deemster.programs.build.languages import load_catalogue


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture
def java(catalogue: Catalogue) -> Language:
    return catalogue.named("java")


def test_a_placeholder_is_filled_inside_an_argument() -> None:
    assert fill(["-Xmx{heap_mb}m", "{a}{b}"], {"heap_mb": "64", "a": "1", "b": "2"}) == (
        "-Xmx64m",
        "12",
    )


def test_a_list_becomes_several_arguments() -> None:
    assert fill(["cc", "{sources}", "-lm"], {"sources": ("a.c", "b c.c")}) == (
        "cc",
        "a.c",
        "b c.c",
        "-lm",
    )


def test_a_value_that_looks_like_a_placeholder_stays_as_it_is() -> None:
    assert fill(["{source}"], {"source": "{heap_mb}"}) == ("{heap_mb}",)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("hello.c", "hello.c"),
        ("two-parts_1.2.c", "two-parts_1.2.c"),
        ("my file.c", "main.c"),
        ("-o.c", "main.c"),
        ("hello.txt", "main.c"),
        ("ü.c", "main.c"),
        (".c", "main.c"),
        ("a" * 300 + ".c", "main.c"),
        ("new\nline.c", "main.c"),
    ],
)
def test_a_harmless_file_name_of_the_user_is_kept(
    catalogue: Catalogue, given: str, kept: str
) -> None:
    assert catalogue.named("c").file_name(given, "") == kept


@pytest.mark.parametrize(
    ("given", "text", "name"),
    [
        ("Hello.java", "class Anything {}", "Hello.java"),
        ("hello-world.java", "class Anything {}", "Main.java"),
        ("upload", "public class Solution {", "Solution.java"),
        ("Wrong.java", "import x.y;\n\npublic final class Right {", "Right.java"),
        ("Wrong.java", "package a.b; public class Right {", "Right.java"),
        ("Main.java", '@Marked("x") public record Pair(int a) {}', "Pair.java"),
        ("Main.java", "/** The public class of all */ class Main {}", "Main.java"),
        ("Main.java", " * public class documented\nclass Main {}", "Main.java"),
    ],
)
def test_a_java_file_is_named_as_its_public_class(
    java: Language, given: str, text: str, name: str
) -> None:
    assert java.file_name(given, text) == name


@pytest.mark.parametrize("piece", ["public ", "public final ", "; ", "}", " ", "\n", "("])
def test_a_hostile_source_does_not_make_naming_slow(java: Language, piece: str) -> None:
    source = piece * (1_000_000 // len(piece))
    assert java.file_name("Main.java", source) == "Main.java"


def test_a_language_is_found_by_id_by_alias_and_by_file(catalogue: Catalogue) -> None:
    cpp = catalogue.named("cpp")
    assert catalogue.named("C++") is cpp
    assert catalogue.for_file("x.tar.cc") is cpp


@pytest.mark.parametrize("name", ["klingon", "", "c "])
def test_an_unknown_language_is_refused_with_the_known_ones(
    catalogue: Catalogue, name: str
) -> None:
    with pytest.raises(Refused, match=r"use one of .*bash, c, .*cpp, cpp17, cpp23,"):
        catalogue.named(name)


@pytest.mark.parametrize("file_name", ["program", "program.", "program.exe", ""])
def test_a_file_name_without_a_known_extension_is_refused(
    catalogue: Catalogue, file_name: str
) -> None:
    with pytest.raises(Refused, match="--language"):
        catalogue.for_file(file_name)


def test_two_languages_cannot_claim_the_same_extension(catalogue: Catalogue) -> None:
    c = catalogue.named("c")
    twin = replace(c, id=LanguageId("d"), aliases=())
    with pytest.raises(Refused, match=r"c and d claim the file extension c"):
        Catalogue([c, twin])


def test_languages_may_share_an_extension_that_one_claims(catalogue: Catalogue) -> None:
    c = catalogue.named("c")
    twin = replace(c, id=LanguageId("d"), aliases=(), extensions=(), shared_extensions=("c",))
    both = Catalogue([twin, c])
    assert both.for_file("x.c") is c
    assert both.named("d").is_source("x.c")
    assert both.named("d").file_name("x.c", "") == "x.c"


def test_the_text_of_a_file_chooses_among_languages_that_share_it(catalogue: Catalogue) -> None:
    c = catalogue.named("c")
    twin = replace(
        c,
        id=LanguageId("d"),
        aliases=(),
        extensions=(),
        shared_extensions=("c",),
        recognised_by="^// d",
    )
    both = Catalogue([c, twin])
    assert both.for_file("x.c", "// d") is twin
    assert both.for_file("x.c", "int main; // d") is c


@pytest.mark.parametrize(
    ("packages", "npm", "commands"),
    [
        (("a", "b"), (), "apt-get install a b"),
        ((), ("x@1.2.3",), "npm install --prefix /usr/local/lib/deemster x@1.2.3"),
        (
            ("a",),
            ("x@1.2.3",),
            "apt-get install a && npm install --prefix /usr/local/lib/deemster x@1.2.3",
        ),
    ],
)
def test_a_language_lists_the_commands_that_install_it(
    catalogue: Catalogue, packages: tuple[str, ...], npm: tuple[str, ...], commands: str
) -> None:
    assert replace(catalogue.named("c"), packages=packages, npm=npm).installation == commands


def test_permissions_that_add_nothing_use_the_base_profile() -> None:
    assert Permissions("program", own_name="x-run").profile == "program"
    assert Permissions("program", frozenset({"socketpair"}), {}, "x-run").profile == "x-run"
