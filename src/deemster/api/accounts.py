"""Creates accounts for people who sign up, for routes and pages (O6)."""

from starlette.requests import Request

from deemster.api.auth.passwords import check_password
from deemster.api.http.errors import request_id_of
from deemster.api.models.accounts import SignUp
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.store import accounts, audit
from deemster.store.audit import Actor
from deemster.store.pool import transaction


async def create_account(request: Request, asked: SignUp) -> Account:
    """Call it only if the setting `sign_up` allows it."""
    state = app_state(request)
    check_password(asked.password)
    await state.auth.throttle.count_sign_up(request)
    async with state.auth.passwords.turn():
        password = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        account = await accounts.add(acquired, asked.name, Role.USER)
        await accounts.set_password(acquired, account.id, password)
        actor = Actor(account.name, account.id, request_id_of(request))
        await audit.record(acquired, actor, "user.sign_up", account.id)
    return account
