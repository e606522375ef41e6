"""A process that splits one program after the other into tokens, each within limits."""

import json
import os
import resource
import signal
import struct
import sys
from typing import BinaryIO, Final

from deemster.programs.tokens import TokenKind, tokens_of

OUT_OF_MEMORY: Final = 3
TOO_MANY_TOKENS: Final = 4
"""Exit codes of the process."""
FRAME: Final = struct.Struct(">I")
"""Requests and answers are JSON with their length in front."""
KINDS: Final = tuple(TokenKind)
"""Answers name the kind of a token by its index in this tuple."""


def main(
    cpu_s: float, memory_bytes: int, max_tokens: int, requests: BinaryIO, answers: BinaryIO
) -> None:
    os.nice(10)  # judged programs go first
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write(b"!")
    answers.flush()
    while header := requests.read(FRAME.size):
        lexer, source = json.loads(requests.read(FRAME.unpack(header)[0]))
        # SIGPROF ends the process when its CPU time is over, also inside a regular expression.
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        tokens = tokens_of(lexer, source)
        if len(tokens) > max_tokens:
            sys.exit(TOO_MANY_TOKENS)
        numbers = [KINDS.index(token.kind) for token in tokens]
        content = json.dumps([numbers, [len(token.text) for token in tokens]]).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(FRAME.pack(len(content)) + content)
        answers.flush()


if __name__ == "__main__":
    try:
        cpu_s, memory_bytes, max_tokens = map(float, sys.argv[1:])
        standard = sys.stdin.buffer, sys.stdout.buffer
        main(cpu_s, int(memory_bytes), int(max_tokens), *standard)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
