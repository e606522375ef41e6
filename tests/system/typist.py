"""Somebody at a terminal: types line by line, is cut off, comes back and goes on (E7)."""

import asyncio
import base64
import json
import random
from dataclasses import dataclass
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from deemster.domain.ids import ExecutionId
from tests.waiting import PATIENCE_S

LINES: Final = 5
READY: Final = "ready\r\n"
PATIENT: Final = {"wall_time_ms": PATIENCE_S * 1000}
"""A busy machine must not end a program."""
PROGRAM: Final = {
    "language": "python3",
    "source_code": f"""
import sys
import termios
modes = termios.tcgetattr(0)
modes[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, modes)
print("ready", flush=True)
for _ in range({LINES}):
    print("got", sys.stdin.readline().strip(), flush=True)
""",
    "io": "terminal",
    "limits": PATIENT,
}
ANSWERS: Final = "".join(f"got line {number}\r\n" for number in range(LINES))
"""What the program writes after it is ready. Before that, the terminal may echo what was typed
into an earlier attempt.
"""
PAUSE_S: Final = 0.05
LONGEST_THOUGHT_S: Final = 0.3


@dataclass(slots=True)
class Typist:
    url: str
    token: str
    execution: ExecutionId
    chance: random.Random
    text: str = ""
    """The output of the last attempt."""
    last: str = ""
    confirmed: int = 0
    """How many lines the server has."""
    cuts: int = 0
    """How often an open connection was lost."""
    is_typing: bool = False
    end: dict[str, Any] | None = None

    async def run(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while self.end is None:
                    await self._connect()
                    await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            raise AssertionError(f"The program did not end in {PATIENCE_S} s: {self}") from None

    async def _connect(self) -> None:
        url = f"{self.url}/v1/executions/{self.execution}/terminal?after={self.last}"
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            async with connect(url, additional_headers=headers) as socket:
                await self._talk(socket)
        except ConnectionClosed:
            self.cuts += 1
        except (InvalidHandshake, OSError):
            pass  # nobody listens
        finally:
            self.is_typing = False

    async def _talk(self, socket: ClientConnection) -> None:
        asked = False
        while self.end is None:
            if self._is_asked() and not asked:
                self.is_typing = True
                await asyncio.sleep(self.chance.uniform(0, LONGEST_THOUGHT_S))
                line = {"data": f"line {self.confirmed}\n", "key": str(self.confirmed)}
                await socket.send(json.dumps(line))
                asked = True
            message = json.loads(await socket.recv())
            if message["type"] == "typed":
                assert message["key"] == str(self.confirmed)
                self.confirmed += 1
                asked = False
            else:
                self._see(message)

    def _is_asked(self) -> bool:
        """Whether the program waits for the next line, or has it though nobody confirmed it."""
        answers = self.text.partition(READY)[2]
        return READY in self.text and self.confirmed < min(LINES, answers.count("got") + 1)

    def _see(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "output":
                if message["id"].partition(".")[0] != self.last.partition(".")[0]:
                    self.text = ""
                self.last = message["id"]
                self.text += base64.b64decode(message["data_base64"]).decode()
            case "end":
                self.end = message
            case "error":
                raise AssertionError(message)
