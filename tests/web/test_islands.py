"""The scripts of the pages are built from their sources, from packages with fixed versions."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "deemster" / "web" / "built"


@pytest.fixture
def hatch_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_built_scripts_are_those_of_the_sources(hatch_build: ModuleType) -> None:
    stamp = BUILT / "sources.sha256"
    assert stamp.exists(), "run ./dev setup; it needs npm"
    assert stamp.read_text() == hatch_build.islands_digest(ROOT), "run ./dev setup"
    manifest = json.loads((BUILT / "manifest.json").read_text())
    assert set(manifest) == {each.stem for each in (ROOT / "islands" / "pages").glob("*.ts")}
    assert all((BUILT / file).exists() for file in manifest.values())


def test_wheels_contain_the_built_scripts() -> None:
    """Also the licenses of the packages that they contain."""
    shipped = {
        each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()
    }
    made = {f"deemster/web/built/{each.name}" for each in BUILT.iterdir()}
    assert "deemster/web/built/licenses.txt" in made
    assert made <= shipped


def test_npm_packages_are_pinned_without_registry_addresses() -> None:
    lock = json.loads((ROOT / "islands" / "package-lock.json").read_text())
    root = lock["packages"].pop("")
    wanted = {**root["dependencies"], **root["devDependencies"]}
    for name, version in wanted.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version, name
    for name, entry in lock["packages"].items():
        assert entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name
