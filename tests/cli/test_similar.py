"""`deemster similar` compares files and directories, as text and JSON."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Deemster
from tests.pipeline.similarity.sources import PLANTED, made_source

ORIGINAL = (PLANTED / "original.py").read_text()


@pytest.fixture
def homework(here: Path) -> Path:
    """Six programs: Eve copied Ada's, and Zoe's is in a directory."""
    folder = here / "homework"
    (folder / "zoe").mkdir(parents=True)
    shutil.copy(PLANTED / "original.py", folder / "ada.py")
    shutil.copy(PLANTED / "disguised.py", folder / "eve.py")
    (folder / "zoe" / "main.py").write_text(made_source(1))
    (folder / "zoe" / "notes.txt").write_text("no program")
    (folder / "bob.py").write_text("print(1)\n")
    (folder / "kim.cpp").write_text((PLANTED / "original.cpp").read_text())
    (folder / "readme").write_text("no program")
    return folder


def test_p6_a_copy_is_shown(call: Deemster, homework: Path) -> None:
    done = call("similar", "homework", COLUMNS="100")
    assert done.code == 1
    text = " ".join(done.out.decode().split())
    assert "homework/ada.py homework/eve.py" in text
    assert "Left out: homework/bob.py (too short to compare)" in text
    assert "Left out: homework/readme (no file in a known language)" in text
    assert text.endswith("4 programs compared, 1 similar pair.")


def test_p6_json_has_pairs_regions_and_clusters(call: Deemster, homework: Path) -> None:
    shutil.copy(homework / "eve.py", homework / "tom.py")
    done = call("similar", "homework", "--json")
    assert done.code == 1
    found = done.json
    assert found["clusters"] == [["homework/ada.py", "homework/eve.py", "homework/tom.py"]]
    assert found["compared"] == 5
    first = found["pairs"][0]
    assert first["programs"] == ["homework/eve.py", "homework/tom.py"]
    assert first["percent"] == [100.0, 100.0]
    (sides,) = first["regions"]
    assert [side.pop("file") for side in sides] == ["eve.py", "tom.py"]
    assert sides[0] == sides[1]
    assert len(found["pairs"]) == 3
    strict = call("similar", "homework", "--json", "--at-least", "99")
    assert len(strict.json["pairs"]) == 1


def test_template_code_is_left_out(call: Deemster, here: Path) -> None:
    for seed in range(2):
        (here / f"{seed}.py").write_text(ORIGINAL + made_source(seed, 5))
    (here / "start.py").write_text(ORIGINAL)
    assert call("similar", "0.py", "1.py").code == 1
    done = call("similar", "0.py", "1.py", "--template", "start.py")
    assert done.code == 0
    assert done.out.decode().strip() == "2 programs compared, 0 similar pairs."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "There is no file or directory missing"),
        (["empty"], "There is no program in these directories"),
        (["empty", "--template", "missing.py"], "There is no template missing.py"),
    ],
)
def test_what_is_missing_is_named(
    call: Deemster, here: Path, arguments: list[str], message: str
) -> None:
    (here / "empty").mkdir()
    done = call("similar", *arguments)
    assert done.code == 2
    assert message in done.err
