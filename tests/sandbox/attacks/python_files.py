"""Rules: X2 J8
Attack: walks all directories and looks for a writable path.
Profile: compiler
Expect: ok
Limits: memory_bytes=128MiB cpu_ms=100000 wall_ms=150000
"""

import os
import sys
from pathlib import Path

print("started", flush=True)
writable = []
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in {"proc", "work"}]
    paths = [folder, *(f"{folder}/{name}" for name in files)]
    writable += [path for path in paths if os.access(path, os.W_OK)]
devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
streams = {"/dev/stdin", "/dev/stdout", "/dev/stderr"}  # its own streams
allowed = {path for path in writable if str(Path(path).resolve()) in devices} | streams
found = [path for path in writable if path not in allowed]
if found:
    print("got through:", found[:20])
    sys.exit(1)
print("held")
