"""Every text of the pages is translated, and the catalogue has no other texts."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir

from deemster.api.http.errors import ERROR_KINDS
from deemster.api.models.rejudgings import RejudgingStatus
from deemster.api.models.submissions import Status
from deemster.domain.account import Role
from deemster.domain.analysis import Level
from deemster.domain.problem_listing import Difficulty, ProblemResult
from deemster.domain.verdict import Verdict
from deemster.store.judge_hosts import HostState
from deemster.store.webhooks import DeliveryState
from deemster.web.error_texts import LABELS
from deemster.web.island_texts import TEXTS
from deemster.web.language import LANGUAGES, SOURCE, language, preference

ISLANDS = Path(__file__).parents[2] / "islands"
TEMPLATES = Path(str(files("deemster.web"))) / "templates"
NAMES = {
    *(each.value for each in Verdict),
    *(each.value for each in Status),
    *(each.value for each in Role),
    *(each.value for each in HostState),
    *(each.value for each in DeliveryState),
    *(each.value for each in RejudgingStatus),
    *("requeued", "discarded", "overtaken", "failed", "cancelled"),
    *(each.title for each in ERROR_KINDS.values()),
    *(each.value for each in Level),
    *(each.value for each in Difficulty),
    *(each.value for each in ProblemResult),
    *TEXTS,
    *LABELS.values(),
}
"""Templates translate these, too, without naming them."""
SAME = {"Terminal", "Name", "Median", "Version", "Webhook", "Webhooks"}
"""One word in both languages."""


def texts() -> set[str]:
    options = {"**.html": {"newstyle_gettext": "true", "silent": "false"}}
    found = extract_from_dir(TEMPLATES, [("**.html", "jinja2")], options)
    return {str(each[2]) for each in found} | NAMES


@pytest.mark.parametrize("code", LANGUAGES.keys() - {SOURCE})
def test_each_text_is_translated(code: str) -> None:
    catalogue = language(code).translations
    missing = [each for each in texts() if catalogue.gettext(each) == each]
    assert set(missing) <= SAME


def test_scripts_show_only_texts_that_pages_translate() -> None:
    sources = [each.read_text() for each in ISLANDS.glob("**/*.ts") if is_own(each)]
    found = {each for source in sources for each in re.findall(r'\btext\(\s*"([^"]+)"', source)}
    assert found == set(TEXTS)


def is_own(file: Path) -> bool:
    return "node_modules" not in file.parts


def test_weights_that_are_no_numbers_count_least() -> None:
    assert sorted(["en;q=x", "de;q=0.3", "fr"], key=preference) == ["en;q=x", "de;q=0.3", "fr"]
