#!/usr/bin/env python3
"""How long a compilation takes, as a whole process: the median, in milliseconds.

    compile_time.py BUILD_DIR FILE.mlir... [--target=sm_80] [--emit=ptx] [--backward] [--repeats=21]

With --backward, of the forward and the gradients together, as fa-opt compiles them.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--emit", default="ptx")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--repeats", type=int, default=21)
    options = parser.parse_args()
    compiler = os.path.join(options.build, "bin", "fa-opt")
    for path in options.files:
        command = [compiler, path, "--target=" + options.target, "--emit=" + options.emit,
                   "-o", os.devnull] + ["--backward"] * options.backward
        times = []
        for i in range(options.repeats + 1):
            start = time.perf_counter()
            if subprocess.run(command).returncode:
                sys.exit("compile_time.py: %s does not compile" % path)
            times.append(1e3 * (time.perf_counter() - start))
        # The first one reads the program from disk.
        times = sorted(times[1:])
        print("%s: median %.0f ms, fastest %.0f ms, slowest %.0f ms" % (
            os.path.basename(path), statistics.median(times), times[0], times[-1]))


if __name__ == "__main__":
    main()
