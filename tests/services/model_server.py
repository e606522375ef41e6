"""A server on this machine that speaks the chat completions of OpenAI's protocol."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.pipeline.deliver.receiver import Answering, Receiver, Request, receiving, silence

LINE = re.compile(r"^(\d+):(\d+)\| (.*)$", re.MULTILINE)
INPUT_TOKENS, OUTPUT_TOKENS = 1000, 200


@dataclass(frozen=True, slots=True)
class Chat:
    """A request, as a model sees it."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def task(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def is_repair(self) -> bool:
        return len(self.body["messages"]) > 2

    @property
    def questions(self) -> list[str]:
        schema = self.body["response_format"]["json_schema"]["schema"]
        answer = schema["properties"]["answers"]["items"]
        questions: list[str] = answer["properties"]["question"]["enum"]
        return questions

    @property
    def lines(self) -> list[tuple[int, int, str]]:
        """File, number and text of each line of the program."""
        return [(int(file), int(line), text) for file, line, text in LINE.findall(self.task)]

    @property
    def is_neutral(self) -> bool:
        """Programs of tests have a comment, which only the plain variant keeps."""
        return "#" not in "".join(text for _, _, text in self.lines)


Model = Callable[[Chat], Answering]
"""How a model answers a request."""


@dataclass(slots=True)
class ModelServer:
    receiver: Receiver
    chats: list[Chat] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://{self.receiver.host}:{self.receiver.port}/v1"

    def of(self, model: str) -> list[Chat]:
        return [chat for chat in self.chats if chat.model == model]


@asynccontextmanager
async def model_server(**models: Model) -> AsyncIterator[ModelServer]:
    """Serves the models, each by its name."""
    chats: list[Chat] = []

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        assert (request.method, request.path) == ("POST", "/v1/chat/completions")
        chat = Chat(json.loads(request.body), request.headers)
        chats.append(chat)
        await models[chat.model](chat)(request, writer)

    async with receiving(answer) as receiver:
        yield ModelServer(receiver, chats)


def answered(content: str, *, usage: bool = True, finish: str = "stop") -> Answering:
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content},
            }
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
    return http(200, json.dumps(body).encode())


def http(code: int, body: bytes = b"{}", *headers: str) -> Answering:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        lines = (
            f"HTTP/1.1 {code} So",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *headers,
        )
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return answer


def proving(chat: Chat, answers: Mapping[str, str], *, hint: str = "") -> str:
    """A valid reply, which quotes the first line with code for each answer."""
    file, line, text = next(each for each in chat.lines if is_code(each[2]))
    quote = {"file": file, "line": line, "text": text}
    return json.dumps(
        {
            "answers": [
                {
                    "question": question,
                    "answer": answers[question],
                    "quotes": [quote],
                    "hint": hint,
                }
                for question in chat.questions
            ]
        }
    )


def is_code(text: str) -> bool:
    return bool(re.search(r"\w", text)) and not text.lstrip().startswith(("#", "//", "/*", '"'))


def says(answers: Mapping[str, str], *, hint: str = "") -> Model:
    return lambda chat: answered(proving(chat, answers, hint=hint))


def in_turn(*models: Model) -> Model:
    """Answers as each of the models in turn, and then as the last."""
    waiting = list(models)

    def model(chat: Chat) -> Answering:
        return (waiting.pop(0) if len(waiting) > 1 else waiting[0])(chat)

    return model


def by_variant(plain: Model, neutral: Model) -> Model:
    return lambda chat: (neutral if chat.is_neutral else plain)(chat)


def always(answer: Answering) -> Model:
    return lambda _: answer


SILENT: Model = always(silence)


def texts(chats: Iterable[Chat]) -> str:
    """All that was sent, as one text."""
    return "\n".join(json.dumps([chat.body, dict(chat.headers)]) for chat in chats)
