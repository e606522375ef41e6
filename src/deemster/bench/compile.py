"""Measures a compile: plain, with precompiled headers, and from the cache.

    python -m deemster.bench.compile [--language cpp] [--rounds 9]

All kinds take turns in one process, so that other load affects all alike. Prints JSON.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from deemster.domain.source import Source, single_file
from deemster.programs.build.cached_compiler import CachedCompiler
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler

PROGRAMS = {
    "cpp": """
#include <bits/stdc++.h>
using namespace std;

struct Edge { int to; long long cost; };

int main() {
    ios::sync_with_stdio(false);
    cin.tie(nullptr);
    int n, m;
    cin >> n >> m;
    vector<vector<Edge>> graph(n);
    map<string, int> names;
    for (int i = 0; i < m; i++) {
        string a, b;
        long long cost;
        cin >> a >> b >> cost;
        int from = names.emplace(a, names.size()).first->second;
        int to = names.emplace(b, names.size()).first->second;
        graph[from].push_back({to, cost});
    }
    vector<long long> best(n, LLONG_MAX);
    priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> queue;
    queue.push({0, 0});
    while (!queue.empty()) {
        auto [cost, node] = queue.top();
        queue.pop();
        if (best[node] <= cost) continue;
        best[node] = cost;
        for (auto &edge : graph[node]) queue.push({cost + edge.cost, edge.to});
    }
    sort(best.begin(), best.end());
    for (auto value : best) cout << value << '\\n';
}
"""
}
"""A contest program of medium size; other languages compile their test program."""


async def timed(
    compiler: CachedCompiler, boxes: Boxes, toolchain: Toolchain, source: Source
) -> float:
    start = time.perf_counter()
    async with compiler.built(boxes, toolchain, source) as build:
        assert build.program is not None, build.compilation
        return (time.perf_counter() - start) * 1000


async def measure(language: str, rounds: int, directory: Path) -> dict[str, object]:
    toolchain = await Toolchains().require(load_catalogue().named(language))
    text = PROGRAMS.get(language[:3], toolchain.language.test.source)
    source = single_file(toolchain.language, "program", text.encode())
    plain = replace(toolchain, language=replace(toolchain.language, precompile=None))
    settings = Settings(data_dir=directory / "data", work_dir=directory / "work")
    uncached_settings = settings.model_copy(update={"compile_cache_mb": 0})
    samples_ms: dict[str, list[float]] = {
        "plain": [],
        "precompiled": [],
        "first hit": [],
        "hit": [],
    }
    async with (
        open_boxes(settings, [toolchain]) as boxes,
        open_compiler(uncached_settings) as uncached,
        open_compiler(settings) as cached,
    ):
        start = time.perf_counter()
        await uncached.prepare(boxes, [toolchain])
        prepared_ms = (time.perf_counter() - start) * 1000
        await timed(cached, boxes, toolchain, source)
        for _ in range(rounds):
            samples_ms["plain"].append(await timed(uncached, boxes, plain, source))
            samples_ms["precompiled"].append(await timed(uncached, boxes, toolchain, source))
            async with open_compiler(settings) as fresh:
                samples_ms["first hit"].append(await timed(fresh, boxes, toolchain, source))
            samples_ms["hit"] += [
                await timed(cached, boxes, toolchain, source) for _ in range(5)
            ]
    medians = {name: statistics.median(each) for name, each in samples_ms.items()}
    return {
        "language": language,
        "version": toolchain.version,
        "rounds": rounds,
        "prepare_ms": round(prepared_ms),
        "median_ms": {name: round(value, 2) for name, value in medians.items()},
        "over_plain": {
            name: round(value / medians["plain"], 4) for name, value in medians.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--language", default="cpp")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print(
            json.dumps(asyncio.run(measure(options.language, options.rounds, Path(directory))))
        )


if __name__ == "__main__":
    main()
