# The output is a link to something that isn't the program's.
import os

os.symlink("/etc/passwd", "numbers.out")
