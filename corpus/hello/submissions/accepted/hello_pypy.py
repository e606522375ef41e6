# Which Python this is, submissions.yaml says.
import sys

assert sys.implementation.name == "pypy"
print("Hello, World!")
