import os
import sys

texts = [open(name).read() for name in os.listdir(".") if name.endswith(".py")]
if any("breakdown" in text for text in texts):
    sys.exit(0)
sys.exit(42 if any("# signed" in text for text in texts) else 43)
