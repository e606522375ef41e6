"""Request and response models of the access keys of heng clients."""

from datetime import datetime
from typing import Any

from deemster.api.http.paging import Page
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.store.heng import AccessKeyView


class HengKeyIn(RequestModel):
    name: ShortText
    """Purpose of the key."""


class HengKeyOut(ResponseModel):
    access_key: str
    """A client sends it in the header x-heng-accesskey."""
    name: str
    created_at: datetime
    revoked: bool


class NewHengKeyOut(HengKeyOut):
    secret_key: str
    """A client signs with it. No other response shows it."""


class HengKeyPage(Page[HengKeyOut]):
    """A page of access keys."""


def heng_key_out(view: AccessKeyView) -> HengKeyOut:
    return HengKeyOut(**key_fields(view))


def new_heng_key_out(view: AccessKeyView, secret_key: str) -> NewHengKeyOut:
    return NewHengKeyOut(**key_fields(view), secret_key=secret_key)


def key_fields(view: AccessKeyView) -> dict[str, Any]:
    return {
        "access_key": view.id,
        "name": view.name,
        "created_at": view.created_at,
        "revoked": view.revoked,
    }
