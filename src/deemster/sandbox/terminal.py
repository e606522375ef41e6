"""Runs with a terminal: a pseudo-terminal pair of which the program gets one side."""

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from deemster.domain.errors import Refused
from deemster.sandbox.live_run import LiveRun
from deemster.sandbox.live_streams import LiveInput, LiveOutput, take_first
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.slot import Slot
from deemster.sandbox.streams import DirectStream

OwnTerminal = Callable[[int, int], None]

TERMINAL_TYPE: Final = "xterm-256color"
"""The value of TERM, unless the command's environment has one."""
MAX_SIDE: Final = 0xFFFF

TIOCSPTLCK: Final = 0x40045431
TIOCGPTPEER: Final = 0x5441
TIOCSIG: Final = 0x40045436
IUTF8: Final = 0x4000
"""Constants that the termios module of Python 3.11 lacks; x86-64 and aarch64 share them."""

INPUT_FLAGS, LOCAL_FLAGS, SPECIAL_CHARACTERS = 0, 3, 6
"""Indices in what termios.tcgetattr returns."""


@dataclass(frozen=True, slots=True)
class TerminalSize:
    rows: int = 24
    columns: int = 80

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= MAX_SIDE and 1 <= self.columns <= MAX_SIDE):
            raise Refused(
                f"A terminal has 1 to {MAX_SIDE} rows and columns, "
                f"not {self.rows} x {self.columns}."
            )

    def pack(self) -> bytes:
        return struct.pack("=4H", self.rows, self.columns, 0, 0)


DEFAULT_SIZE: Final = TerminalSize()


class Terminal:
    """A pair of which Python keeps the master; only the other side enters the box.

    The pair is in the devpts of the host, which no box can see. The program can open its own
    side again by /dev/stdin, because that side belongs to the program's uid.
    """

    def __init__(
        self, size: TerminalSize, slot: Slot, output_bytes: int, own: OwnTerminal
    ) -> None:
        """`own` makes a side of the pair belong to a uid."""
        self.master, side = _open_pair(size)
        try:
            own(side, slot.uid)
        except OSError as error:
            os.close(side)
            os.close(self.master)
            raise SandboxFault(f"The sandbox can't set up a terminal ({error}).") from error
        self.output = LiveOutput(self.master, side, output_bytes, slot.cancel)
        self.input = LiveInput(os.dup(self.master), os.dup(side))
        self.errors = DirectStream(os.dup(side))

    @property
    def is_open(self) -> bool:
        return self.output.reader >= 0

    def resize(self, size: TerminalSize) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size.pack())

    def has_mode(self, flag: int) -> bool:
        """Tells whether the program's terminal has a local mode such as ISIG or ICANON."""
        return bool(termios.tcgetattr(self.master)[LOCAL_FLAGS] & flag)

    def special_character(self, index: int) -> bytes:
        character = termios.tcgetattr(self.master)[SPECIAL_CHARACTERS][index]
        return character if isinstance(character, bytes) else bytes([character])

    def interrupt_foreground(self) -> None:
        """Sends SIGINT past all input that the program has not read, and discards that."""
        if not self.has_mode(termios.NOFLSH):
            termios.tcflush(self.master, termios.TCOFLUSH)
        fcntl.ioctl(self.master, TIOCSIG, signal.SIGINT)


def _open_pair(size: TerminalSize) -> tuple[int, int]:
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    try:
        master = os.open("/dev/ptmx", flags)
    except OSError as error:
        raise SandboxFault(
            f"The sandbox can't open a terminal at /dev/ptmx ({error.strerror})."
        ) from error
    try:
        fcntl.ioctl(master, TIOCSPTLCK, struct.pack("=i", 0))
        modes = termios.tcgetattr(master)
        modes[INPUT_FLAGS] |= IUTF8  # erases whole characters, not bytes
        termios.tcsetattr(master, termios.TCSANOW, modes)
        fcntl.ioctl(master, termios.TIOCSWINSZ, size.pack())
        side = fcntl.ioctl(master, TIOCGPTPEER, flags)
    except OSError as error:
        os.close(master)
        raise SandboxFault(
            f"The sandbox can't set up a terminal ({error.strerror}); is /dev/pts mounted?"
        ) from error
    os.fchmod(side, 0o600)
    return master, side


class TerminalRun(LiveRun):
    """A run on a terminal."""

    def __init__(self, terminal: Terminal, slot: Slot) -> None:
        super().__init__(slot)
        self._terminal = terminal
        self._line_is_empty = True

    async def read(self) -> bytes:
        """Waits for the next chunk of output, which includes the echo; b"" at the end."""
        taken = await take_first((self._terminal.output,))
        return b"" if taken is None else taken[1]

    async def write(self, data: bytes) -> None:
        """Types something; waits while the program has too much unread input."""
        if data:
            self._line_is_empty = data[-1:] in b"\r\n\x03\x04\x1c"
            await self._terminal.input.write(data)

    async def end_input(self) -> None:
        """Types the end-of-file character, twice if it must end a line first."""
        if not self._terminal.is_open:
            return
        character = self._terminal.special_character(termios.VEOF)
        twice = self._terminal.has_mode(termios.ICANON) and not self._line_is_empty
        self._line_is_empty = True
        await self._terminal.input.write(character * (2 if twice else 1))

    async def interrupt(self) -> None:
        """Presses Ctrl-C; a program that has turned signals off reads the character instead."""
        if not self._terminal.is_open:
            return
        self._line_is_empty = True
        if self._terminal.has_mode(termios.ISIG):
            self._terminal.interrupt_foreground()
        else:
            await self._terminal.input.write(self._terminal.special_character(termios.VINTR))

    def resize(self, rows: int, columns: int) -> None:
        """Changes the window size; the program gets SIGWINCH."""
        size = TerminalSize(rows, columns)
        if self._terminal.is_open:
            self._terminal.resize(size)
