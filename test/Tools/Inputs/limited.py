"""Runs a command where the system gives less: limited.py files|threads COMMAND...

    files    at most 4096 bytes of a file can be written, as on a disk that is full
    threads  no thread of the default kind can be started: its stack would be too large
"""

import os
import resource
import signal
import sys


def limit(what):
    if what == "files":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that write fails
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    else:
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, hard))


limit(sys.argv[1])
os.execvp(sys.argv[2], sys.argv[2:])
