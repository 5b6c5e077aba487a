"""What fa-opt knows of a program beside what a bench measured: the time that its report estimates, what
tiles visit, the passes that may be left out, and whether that changes the program's code."""

import functools
import json
import os
import re
import subprocess

# Of fa_compile_options, as fa-opt calls them.
OPTIONS = {"rows": "--tile-rows=", "keys": "--tile-keys=", "warps": "--tile-warps=",
           "leave_out": "--leave-out=", "order": "--product-order="}
FLAGS = {"deterministic": "--deterministic", "fused": "--fused"}  # of gradients


def find_compiler(library):
    """fa-opt in bin, beside the lib of libfa.so."""
    folder = os.path.dirname(os.path.abspath(library))
    path = os.path.join(os.path.dirname(folder), "bin", "fa-opt")
    if not os.path.exists(path):
        raise FileNotFoundError("no fa-opt at %s, which knows the passes and makes the reports" % path)
    return path


def optional_passes(compiler, target):
    """Names of the passes that the schedule for `target` may leave out, in its order."""
    return run_compiler((compiler, "--target=" + target, "--leave-out=help")).split()


@functools.lru_cache(maxsize=None)
def run_compiler(command, text="", remarks=False):
    """What a command prints, or its remarks."""
    # What is asked for does not depend on the registers, so that ptxas need not count them.
    run = subprocess.run(command, input=text, capture_output=True, text=True,
                         env={**os.environ, "FA_PTXAS": os.devnull + "/none"})
    if run.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command), run.stderr.strip()))
    return run.stderr if remarks else run.stdout


def flags_of(choices, backward):
    """What fa-opt takes for the choices of a program, or of its gradients."""
    return ["--backward"] * backward + [FLAGS[name] if name in FLAGS else OPTIONS[name] + str(value)
                                        for name, value in choices.items()]


def report_entry(compiler, text, target, device, shape, choices, backward=False):
    """What the report says of the entry of `text`, or of its gradients, at `shape` (B, Hq, Hk, Sq, Sk) on `device`, or None
    where it does not know one of the choices."""
    if any(name not in OPTIONS and not (backward and name in FLAGS) for name in choices):
        return None
    command = [compiler, "-", "--emit=report", "--report-json", "--target=" + target,
               "--report-device=" + device, "--shape=" + ",".join(map(str, shape)), *flags_of(choices, backward)]
    return json.loads(run_compiler(tuple(command), text))["entries"][-1 if backward else 0]


def report_cost(*question):
    """The same of its work."""
    entry = report_entry(*question)
    return entry and entry["cost"]


def block_and_step(compiler, text, target, device, shape, choices, backward):
    """-> (rows of a block, keys of a step), or keys and rows in a backward, whose blocks of keys these are; None where
    it is not known. On Hopper the rows of a forward are those of a warpgroup, which leaves out steps that only others need."""
    if backward:
        command = [compiler, "-", "--target=" + target, "--remarks=gpu-choose-block-tiles", "-o", os.devnull,
                   *flags_of(choices, backward)]
        said = re.search(r"tiles of (\d+) rows and (\d+) keys for \d+ warps in @\w+_keys", run_compiler(tuple(command), text, True))
        return said and (int(said[2]), int(said[1]))
    entry = report_entry(compiler, text, target, device, shape, choices)
    tiles = [tile for kernel in entry["kernels"] for tile in kernel["tiles"] if tile["transposed"]] if entry else []
    return (64 if target.startswith("sm_90") else tiles[-1]["m"], tiles[-1]["n"]) if tiles else None


def estimate(compiler, text, target, device, shape, choices, backward=False):
    """Seconds of one launch of the entry, or of its gradients, or None where the report has none."""
    cost = report_cost(compiler, text, target, device, shape, choices, backward)
    return cost and cost["seconds"] and cost["seconds"]["estimate"]


def visited(compiler, text, target, device, shape, choices, visible):
    """Elements that tiles visit, over those that the mask lets see; `visible` is the FLOP of the latter, where
    the mask depends on data, so that the report cannot count them. None where there is no report, and where data
    bound the loop, so that it does not know what tiles visit either."""
    cost = report_cost(compiler, text, target, device, shape, choices)
    if cost is None or cost["depends_on_data"] and cost["visited_flops"] < visible:
        return None
    return cost["visited_flops"] / (cost["visible_flops"] or visible)


def code_of(compiler, text, target, choices, backward):
    """The kernels in PTX that a launch of the entry of `text`, or of its gradients, runs."""
    command = [compiler, "-", "--emit=ptx", "--target=" + target, *flags_of(choices, backward)]
    kernels = run_compiler(tuple(command), text).split(".visible .entry ")[1:]
    return [kernel for kernel in kernels if ("_backward" in re.match(r"\w+", kernel)[0]) == backward]


def changes_code(compiler, text, target, choices, backward):
    """Whether leaving out the passes of `choices` makes other code than the other choices alone do, or none."""
    with_all = {name: value for name, value in choices.items() if name != "leave_out"}
    try:
        return (code_of(compiler, text, target, choices, backward) !=
                code_of(compiler, text, target, with_all, backward))
    except RuntimeError:
        return True
