"""Measures how fast outputs are compared: `python -m deemster.bench.compare [--mb N]`."""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare import open_comparer
from deemster.pipeline.judge.compare.comparer import CHUNK_BYTES

MB = 1_000_000
TOKENS = Comparison(mode=Compare.TOKENS, case_sensitive=False)
FLOATS = Comparison(mode=Compare.TOKENS, absolute=1e-6, relative=1e-6)
GAPS = Comparison(mode=Compare.TOKENS, absolute=1e-6, space_sensitive=True)


def integers() -> bytes:
    generator = random.Random(1)  # noqa: S311
    return b"\n".join(b"%d" % generator.randrange(10**9) for _ in range(100_000)) + b"\n"


def words() -> bytes:
    generator = random.Random(2)  # noqa: S311
    return b"\n".join(bytes(generator.choices(b"abcdef", k=7)) for _ in range(100_000)) + b"\n"


def decimals() -> bytes:
    generator = random.Random(3)  # noqa: S311
    return b"\n".join(b"%.9f" % generator.uniform(-100, 100) for _ in range(100_000)) + b"\n"


def slightly_changed(data: bytes) -> bytes:
    return b"\n".join(b"%.9f" % (float(word) + 1e-8) for word in data.split()) + b"\n"


def crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def one_line(data: bytes) -> bytes:
    return data.replace(b"\n", b" ")


def with_trailing_spaces(data: bytes) -> bytes:
    return data.replace(b"\n", b"  \n")


def backwards(data: bytes) -> bytes:
    return b"\n".join(reversed(data.split())) + b"\n"


def same(data: bytes) -> bytes:
    return data


CASES: dict[str, tuple[Comparison, Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "exact, equal": (Comparison(mode=Compare.EXACT), integers, same),
    "lines, equal": (Comparison(), integers, same),
    "lines, CRLF": (Comparison(), integers, crlf),
    "lines, spaces at the ends": (Comparison(), integers, with_trailing_spaces),
    "tokens, equal": (TOKENS, integers, same),
    "tokens, one line": (TOKENS, integers, one_line),
    "tokens, CRLF": (TOKENS, integers, crlf),
    "tokens, upper case": (TOKENS, words, bytes.upper),
    "tokens, upper case, CRLF": (TOKENS, words, lambda data: crlf(data.upper())),
    "tokens, one of all bytes": (TOKENS, lambda: b"x" * MB, same),
    "tokens, one of all bytes, upper case": (TOKENS, lambda: b"x" * MB, bytes.upper),
    "tokens, white space": (TOKENS, lambda: b" \n" * (MB // 2), crlf),
    "floats, equal": (FLOATS, decimals, same),
    "floats, all different": (FLOATS, decimals, slightly_changed),
    "floats with gaps, all different": (GAPS, decimals, slightly_changed),
    "sorted lines, equal": (Comparison(mode=Compare.SORTED_LINES), integers, same),
    "sorted lines, other order": (Comparison(mode=Compare.SORTED_LINES), integers, backwards),
    "sorted tokens, other order": (Comparison(mode=Compare.SORTED_TOKENS), integers, backwards),
}


def measure(name: str, size: int, directory: Path) -> dict[str, float]:
    comparison, make, change = CASES[name]
    block = make()
    other = change(block)
    times = max(1, size // len(block))
    answer = directory / "answer"
    with answer.open("wb") as file:
        for _ in range(times):
            file.write(block)
    longest = 0.0
    begin = time.perf_counter()
    with open_comparer(comparison, answer) as comparer:
        for _ in range(times):
            for start in range(0, len(other), CHUNK_BYTES):
                chunk = other[start : start + CHUNK_BYTES]
                before = time.perf_counter()
                comparer.feed(chunk)
                longest = max(longest, time.perf_counter() - before)
        difference = comparer.finish()
    seconds = time.perf_counter() - begin
    if difference is not None:
        raise SystemExit(f"{name}: {difference}")
    rate = times * len(other) / MB / seconds
    return {"mb_per_s": round(rate, 1), "longest_feed_ms": round(longest * 1000, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=100)
    size = parser.parse_args().mb * MB
    with tempfile.TemporaryDirectory() as directory:
        figures = {name: measure(name, size, Path(directory)) for name in CASES}
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
