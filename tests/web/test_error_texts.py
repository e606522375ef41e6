"""W4: people read what went wrong in the language of the page, and no secrets of the judge."""

from typing import Any

import pytest
from pydantic import BaseModel

from deemster.api.http.errors import ERROR_KINDS, Invalid
from deemster.api.models.accounts import PasswordChange, SignUp, TokenIn, UserIn
from deemster.api.models.judge_hosts import PauseIn
from deemster.api.models.rejudgings import RejudgingIn
from deemster.api.models.submissions import SubmissionIn, SubmissionQuery
from deemster.api.models.user_import import UserImportQuery
from deemster.api.user_import.class_list import read_class_list
from deemster.domain.errors import DeemsterError, NotFound, Refused, Unavailable
from deemster.domain.retry_policy import JUDGE_FAILED
from deemster.pattern_messages import FORMS, OTHER_CHARACTERS
from deemster.store import accounts
from deemster.store.pool import DatabaseDown, Pool, connection
from deemster.web.error_texts import LABELS, PLACE, explain, messages, templates
from deemster.web.forms import parse_fields
from deemster.web.language import LANGUAGES, SOURCE, language
from tests.api.browser import make_person
from tests.web.conftest import Visit
from tests.web.error_messages import COMPOSED, shown_messages

OTHERS = frozenset(LANGUAGES) - {SOURCE}
INVALID: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (SignUp, {"name": "a b", "password": "x"}),
    (SignUp, {"name": "a", "password": "x" * 10_000}),
    (PasswordChange, {}),
    (UserIn, {"name": "a", "role": "king"}),
    (UserIn, {"name": "a", "daily_quota": "many", "tier": 7}),
    (TokenIn, {"name": "line\nline", "expires_in_days": 0}),
    (UserImportQuery, {"link_days": 1000, "credentials": "x", "renew": "perhaps"}),
    (RejudgingIn, {"reason": "why"}),
    (SubmissionIn, {"problem_id": "x", "language": "c", "unknown": 1}),
    (SubmissionQuery, {"verdict": "Perfect"}),
    (PauseIn, {"reason": "x" * 501}),
]
CLASS_LIST = "name,role,daily_quota\nada,king,\nada,user,\nAda,user,\n!,user,\nbob,user,x\n"


def known_messages() -> dict[str, str]:
    """By their English wording, where they come from."""
    details = {kind.detail for kind in ERROR_KINDS.values() if kind.detail is not None}
    forms = {*FORMS.values(), OTHER_CHARACTERS, JUDGE_FAILED}
    return {
        **dict.fromkeys(COMPOSED, "tests/web/error_messages.py"),
        **dict.fromkeys(details - {translated_detail()}, "api/http/errors.py"),
        **dict.fromkeys(forms, "a form"),
        **{text: place for place, text in shown_messages()},
    }


def translated_detail() -> str | None:
    """Its number of seconds is a value in the catalogue."""
    return ERROR_KINDS[Unavailable].detail


@pytest.mark.parametrize("code", OTHERS)
def test_w4_each_message_that_pages_show_is_translated_and_the_catalogue_has_no_other(
    code: str,
) -> None:
    found, known = messages(code), known_messages()
    missing = {text: place for text, place in known.items() if text not in found}
    assert not missing, f"add these to locale/{code}/errors.po"
    assert not set(found) - set(known), f"locale/{code}/errors.po has these for nothing"
    for text, translation in found.items():
        assert set(PLACE.findall(translation)) <= set(PLACE.findall(text)), text


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize(("model", "fields"), INVALID)
def test_w4_invalid_fields_are_explained(
    code: str, model: type[BaseModel], fields: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refused:
        parse_fields(model, **fields)
    told = explain(refused.value, language(code))
    assert told.language == code, told.text
    assert not [name for name in LABELS if f"{name}:" in told.text], "labels of pages are used"


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_w4_each_kind_of_error_has_a_translated_detail(
    code: str, kind: type[DeemsterError]
) -> None:
    if ERROR_KINDS[kind].detail is not None:
        assert explain(kind("x"), language(code)).language == code


def test_w4_a_message_keeps_its_values() -> None:
    german = language("de")
    told = explain(NotFound("There is no account <b>{1}</b>."), german)
    assert (told.text, told.language) == ("Es gibt kein Konto <b>{1}</b>.", "de")
    wait = explain(Refused("Too many log-ins: try again in 3 s."), german)
    assert wait.text == "Zu viele Anmeldungen: Versuche es in 3 s noch einmal."
    unknown = explain(Refused("Never heard."), german)
    assert (unknown.text, unknown.language) == ("Never heard.", SOURCE)


def test_w4_each_mistake_of_a_class_list_is_told_in_german() -> None:
    with pytest.raises(Refused) as refused:
        read_class_list(CLASS_LIST.encode())
    told = explain(refused.value, language("de"))
    assert told.language == "de", told.text
    assert len(told.text.splitlines()) == 5
    assert "Zeile 3: ada steht schon in Zeile 2." not in told.text
    assert "Zeile 2: king ist keine Rolle" in told.text.replace("'", "")


def test_o6_forms_do_not_name_hosts_or_paths_of_the_judge() -> None:
    fault = DatabaseDown("The database at db.internal:5432 can't be used")
    for code in LANGUAGES:
        assert "db.internal" not in explain(fault, language(code)).text


def test_messages_with_more_words_of_their_own_are_compared_first() -> None:
    chars = [each.literal_chars for each in templates("de")]
    assert chars == sorted(chars, reverse=True)


async def test_w4_scripts_of_pages_get_the_language_of_the_page_and_programs_english(
    visit: Visit, pool: Pool
) -> None:
    account = await make_person(pool)
    async with connection(pool) as acquired:
        token = await accounts.add_token(acquired, account, "program")
    async with visit("ada") as browser:
        browser.headers["Accept-Language"] = "de"
        path = "/v1/submissions/sub_none"
        assert "Diese Einreichung gibt es nicht" in (await browser.get(path)).json()["detail"]
        headers = {"Authorization": f"Bearer {token}"}
        assert "There is no such" in (await browser.get(path, headers=headers)).json()["detail"]
