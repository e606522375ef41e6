"""The file that the arguments name is there."""

import os
import sys

args = sys.argv[1:]
sys.exit(42 if args and os.path.isfile(args[0]) else 43)
