"""A program that uses aiopyston as its README does; prints what it got as JSON."""

import asyncio
import json
import sys
from typing import Any

from pyston import File, PystonClient
from pyston.exceptions import ExecutionError

HELLO = "import sys\nprint('hello', sys.argv[1:], input())"
EXIT_3 = '#include <stdio.h>\nint main(void) { puts("1"); return 3; }'


async def use(url: str, key: str) -> dict[str, Any]:
    client = PystonClient(api_key=key, base_url=url)
    found: dict[str, Any] = {"languages": sorted(await client.languages())}
    found["runtimes"] = [each.language for each in await client.get_runtimes("python")]
    hello = await client.execute("python", [File(HELLO)], stdin="Ada", args=["x"])
    found["hello"] = {"output": str(hello), "code": hello.run_stage.code}
    files = [File("import other\nprint(other.x)", "start.py"), File("x = 42", "other.py")]
    found["module"] = {"output": str(await client.execute("python", files))}
    found["compiled"] = (await client.execute("c", [File(EXIT_3)])).raw_json
    broken = await client.execute("c", [File("int main() { return x; }")])
    found["broken"] = broken.raw_json
    slow = await client.execute("python", [File("while True: pass")], run_timeout=500)
    found["slow"] = {"signal": slow.run_stage.signal, "code": slow.run_stage.code}
    try:
        await client.execute("klingon", [File("x")])
    except ExecutionError as fault:
        found["error"] = str(fault)
    await client.close_session()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(use(*sys.argv[1:]))))
