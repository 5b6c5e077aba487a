"""The time that fa-opt's report estimates for a program, beside what a bench measured."""

import json
import os
import subprocess

# Of fa_compile_options, as fa-opt calls them.
OPTIONS = {"rows": "--tile-rows=", "keys": "--tile-keys=", "warps": "--tile-warps=",
           "leave_out": "--leave-out="}


def find_compiler(library):
    """fa-opt in bin, beside the lib of libfa.so."""
    folder = os.path.dirname(os.path.abspath(library))
    path = os.path.join(os.path.dirname(folder), "bin", "fa-opt")
    if not os.path.exists(path):
        raise FileNotFoundError("no fa-opt at %s: --estimate asks it for a report" % path)
    return path


def estimate(compiler, text, target, device, shape, choices):
    """Seconds of one launch of the entry of `text` at `shape` (B, Hq, Hk, Sq, Sk) on `device`, or None
    where the report has none, or does not know one of the choices."""
    if any(name not in OPTIONS for name in choices):
        return None
    command = [compiler, "-", "--emit=report", "--report-json", "--target=" + target,
               "--report-device=" + device, "--shape=" + ",".join(map(str, shape))]
    command += [OPTIONS[name] + str(value) for name, value in choices.items()]
    # The time does not depend on the registers, so that ptxas need not count them.
    run = subprocess.run(command, input=text, capture_output=True, text=True,
                         env={**os.environ, "FA_PTXAS": os.devnull + "/none"})
    if run.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command), run.stderr.strip()))
    cost = json.loads(run.stdout)["entries"][0]["cost"]
    return cost["seconds"] and cost["seconds"]["estimate"]
