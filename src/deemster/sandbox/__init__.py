"""Runs untrusted programs in boxes, with the help of a runner process written in C.

Box: what a program finds around itself; `Boxes` runs commands in them. Slot: the runner's place
for one box, kept ready between runs. Runner: the process that makes the slots. Spawner: the
process of a slot that starts an init for each run. Init: pid 1 of a run, which starts and
watches the program. Scratch: the writable directory of a run. Lane: three boxes on one core.
Profile: the system calls that a program may make. runner/README.md describes the C side.
"""
