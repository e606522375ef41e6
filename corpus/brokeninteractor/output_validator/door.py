"""Does what the program says."""

import os
import signal
import sys
import time

word = sys.stdin.readline().strip()
if word == "accept":
    sys.exit(42)
if word == "reject":
    sys.exit(43)
if word == "zero":
    sys.exit(0)
if word == "crash":
    raise RuntimeError("the interactor's fault")
if word == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if word == "sleep":
    time.sleep(1000)
if word == "loop":
    while True:
        pass
if word == "memory":
    hoard = []
    while True:
        hoard.append(bytearray(1 << 20))
if word == "flood":
    while True:
        print("and on and on")
if word == "wait":
    print("wait", flush=True)
    sys.stdin.readline()
    sys.exit(43)
sys.exit(43)
