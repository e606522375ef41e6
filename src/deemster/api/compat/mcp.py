"""MCP over stateless HTTP at /mcp: authenticates a request, then the SDK answers it (F5)."""

import inspect
from typing import Any, Final

import structlog
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ToolDescription
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from deemster import __version__
from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER
from deemster.api.compat.error_answers import answering_errors, error_as, message_of
from deemster.api.compat.mcp_tools import TOOLS, Call, Tool
from deemster.api.compat.request_json import BODY_BYTES, parse_object
from deemster.api.http.body import read_body
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import Crashed, Forbidden, Malformed, request_id_of
from deemster.api.permissions import MCP_PATH, READ
from deemster.domain.errors import DeemsterError, Unavailable
from deemster.metrics import REFUSED
from deemster.settings import Settings

INSTRUCTIONS: Final = """\
Deemster runs programs in a sandbox and judges solutions of programming problems. To run a
program, use run_code. To solve a problem, read it (list_problems, read_problem), try your
solution on its samples with run_code, submit it, and call read_verdict until the submission
has a verdict."""

log = structlog.get_logger()


async def answer(request: Request) -> Response:
    check_origin(request, app_state(request).settings)
    request.state.caller = await BEARER(request)
    body = await read_body(request, BODY_BYTES)
    parse_object(body)  # the SDK would accept texts that are not Unicode
    return SdkAnswer(body)


def check_origin(request: Request, settings: Settings) -> None:
    """Refuses web pages of unknown origin, as the specification demands.

    A page may reach this server under its own name by DNS rebinding, so the header Host says
    nothing. Clients that are not browsers send no origin.
    """
    origin = request.headers.get("origin")
    own = "/".join((settings.public_url or "").lower().split("/")[:3])
    allowed = {*settings.cors_origins, own}
    if origin is not None and origin.lower() not in allowed and "*" not in allowed:
        raise Forbidden(
            "This request comes from a web page whose origin is not allowed. If the page is "
            "yours, name its origin in DEEMSTER_CORS_ORIGINS."
        )


class SdkAnswer(Response):
    """Written by the SDK. All its tasks end with the request, also when the client leaves."""

    def __init__(self, request_body: bytes) -> None:
        self._request_body = request_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = False

        async def receive_again() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": self._request_body, "more_body": False}

        # One for each request, because a stateless one keeps nothing between requests.
        manager = StreamableHTTPSessionManager(
            SERVER, stateless=True, max_request_body_size=BODY_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, receive_again, send)


async def list_tools(
    _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
) -> ListToolsResult:
    return ListToolsResult(tools=list(DESCRIPTIONS.values()))


async def call_tool(
    context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult:
    tool = TOOLS_BY_NAME.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}: see tools/list.")
    request = context.request
    assert isinstance(request, Request), "every request comes by HTTP"
    try:
        call = Call(request, request.state.caller)
        result = await tool.call(call, params.arguments or {})
    except DeemsterError as fault:
        REFUSED.labels(fault.code).inc()
        log.info("tool.refused", tool=tool.name, reason=fault.code)
        text = message_of(fault).replace("GET /v1/problems", "list_problems")
        return CallToolResult(content=[TextContent(text=text)], is_error=True)
    except Exception:
        log.exception("tool.crashed", tool=tool.name)
        # The SDK would show the text of the exception to older clients.
        message = f"{message_of(Crashed())} Its request_id is {request_id_of(request)}."
        raise MCPError(INTERNAL_ERROR, message) from None
    log.info("tool.answered", tool=tool.name)
    return CallToolResult(
        content=[TextContent(text=result.model_dump_json(exclude_unset=True))],
        structured_content=result.model_dump(mode="json", exclude_unset=True),
    )


class UntitledSchema(GenerateJsonSchema):
    """Without titles that only repeat the names of fields, which agents would pay for."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def describe(tool: Tool[Any, Any]) -> ToolDescription:
    reads_only = tool.permission is READ
    return ToolDescription(
        name=tool.name,
        title=tool.title,
        description=inspect.getdoc(tool.run),
        input_schema=schema_of(tool.arguments, "validation"),
        output_schema=schema_of(tool.result, "serialization"),
        annotations=ToolAnnotations(
            read_only_hint=reads_only,
            destructive_hint=False,
            idempotent_hint=reads_only,
            open_world_hint=False,
        ),
    )


def schema_of(model: type[BaseModel], mode: JsonSchemaMode) -> dict[str, Any]:
    return model.model_json_schema(mode=mode, schema_generator=UntitledSchema)


def input_schema(name: str) -> dict[str, Any] | None:
    described = DESCRIPTIONS.get(name)
    return described.input_schema if described is not None else None


def answer_error(fault: DeemsterError) -> Response:
    code = INTERNAL_ERROR if isinstance(fault, Unavailable) else INVALID_REQUEST
    if isinstance(fault, Malformed):
        code = PARSE_ERROR
    error = {"code": code, "message": message_of(fault)}
    return error_as({"jsonrpc": "2.0", "id": None, "error": error}, fault)


TOOLS_BY_NAME: Final = {tool.name: tool for tool in TOOLS}
DESCRIPTIONS: Final = {tool.name: describe(tool) for tool in TOOLS}
SERVER: Final[Server[Any]] = Server(
    "deemster",
    title="Deemster",
    version=__version__,
    instructions=INSTRUCTIONS,
    get_tool_input_schema=input_schema,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)
routes: Final[list[BaseRoute]] = [
    DirectRoute(MCP_PATH, answering_errors(answer, answer_error), methods=["POST"])
]
"""Other methods are for streams and sessions, which a stateless server does not have."""
