"""Makes a named pipe, runs a command that writes it, and prints what came: pipe.py PIPE COMMAND..."""

import os
import subprocess
import sys

os.mkfifo(sys.argv[1])
writer = subprocess.Popen(sys.argv[2:])
with open(sys.argv[1]) as pipe:
    print(pipe.read())
sys.exit(writer.wait())
