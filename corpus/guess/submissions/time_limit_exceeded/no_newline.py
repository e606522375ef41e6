# The guess could go on: without white space after it, it isn't complete.
import sys

sys.stdout.write("500")
sys.stdout.flush()
input()
