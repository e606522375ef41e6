"""Called with the language, the entry point, the feedback directory, and what is forbidden."""

import os
import re
import sys

language, entry_point, feedback, command, *words = sys.argv[1:]
if command != "forbid" or language not in ("c", "cpp", "python3"):
    sys.exit(1)
sources = [name for name in os.listdir(".") if name.endswith((".c", ".cpp", ".py"))]
if not sources:
    sys.exit(1)
text = "\n".join(open(name).read() for name in sources)
loops = any(re.search(rf"\b{word}\b", text) for word in words)
score = (0 if loops else 20) + (20 if len(text.splitlines()) <= 10 else 0)
if score == 0:
    sys.exit(43)
with open(os.path.join(feedback, "score.txt"), "w") as file:
    file.write(f"{score}\n")
sys.exit(42)
