"""For schemathesis: a stream of events that it opens is to end, as a client may ask for."""

from typing import Any

import schemathesis


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    if case.operation.path.endswith("/events"):
        case.query = {**(case.query or {}), "seconds": 0}
