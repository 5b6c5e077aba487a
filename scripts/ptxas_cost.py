"""What ptxas takes for kernels, for check_ptx.py --cost.

Drivers take as long to compile PTX, and every first launch waits for them. Seconds of a clock differ between machines and
with what else runs there, so two numbers are compared with those recorded in test/Target/NVPTX/Inputs/ptxas-costs.json, each over
that of a kernel that was kept (reference.ptx.gz), for the same version of ptxas:

  time    of the processor, the least of several runs, by turns with the reference
  memory  pages that ptxas touches, above those for an empty kernel: the same in each run

Other work makes times longer, and not always alike, but changes no memory. A kernel costs too much where its time says
so, however often it is measured, and its memory grew, too; code that ptxas takes longer for is more than it was. Nor do
all processors take as long over a kernel as over the reference: by what kernels whose memory did not grow take longer in
the median, the others may, too.
"""

import gzip
import json
import os
import re
import statistics
import subprocess
import tempfile

# The most that time, and memory, may grow by.
MOST_TIME, MOST_MEMORY = 1.15, 1.03
RUNS, ROUNDS = 3, 4
INPUTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Target", "NVPTX", "Inputs")
RECORDED = os.path.join(INPUTS, "ptxas-costs.json")
EMPTY = ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry empty() { ret; }\n"


def run_ptxas(command):
    """Return (exit status, what it prints, seconds of the processor, pages touched)."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        return process.returncode, log.read(), usage.ru_utime + usage.ru_stime, usage.ru_minflt


def read_version(ptxas):
    said = subprocess.run([ptxas, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = re.search(r"release (\d+\.\d+)", said)
    return found.group(1) if found else "unknown"


class Costs:
    """Least seconds and pages of texts, among them the reference and an empty kernel."""

    def __init__(self, ptxas, folder, target):
        self.ptxas, self.folder, self.target, self.least = ptxas, folder, target, {}
        with gzip.open(os.path.join(INPUTS, "reference.ptx.gz"), "rt") as file:
            self.write("reference", file.read())
        self.write("empty", EMPTY)
        self.measure("empty", self.path("empty"), "sm_90a")

    def path(self, name):
        return os.path.join(self.folder, name + ".ptx")

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def measure(self, name, path, target):
        status, said, seconds, pages = run_ptxas([self.ptxas, "-arch=" + target, path, "-o",
                                                  os.path.join(self.folder, "cubin")])
        if status:
            raise RuntimeError("ptxas cannot assemble %s: %s" % (name, said.strip()))
        self.least[name] = tuple(map(min, (seconds, pages), self.least.get(name, (seconds, pages))))

    def take_turns(self, paths):
        for _ in range(RUNS):
            for name, path in paths.items():
                self.measure("reference", self.path("reference"), "sm_90a")
                self.measure(name, path, self.target)

    def of(self, name):
        """Return time and memory over those of the reference."""
        (seconds, pages), (per, per_pages), (_, none) = [self.least[x] for x in (name, "reference", "empty")]
        return round(seconds / per, 2), round((pages - none) / (per_pages - none), 2)

    def find_more(self, names, known):
        """Return which kernels cost more than what is known of them, {name: (time, memory)}."""
        grown = {name: self.of(name)[1] > MOST_MEMORY * known[name][1] for name in names}
        longer = {name: self.of(name)[0] / known[name][0] for name in names}
        here = max(1, statistics.median([longer[name] for name in names if not grown[name]] or [1]))
        return [name for name in names if grown[name] and longer[name] > MOST_TIME * here]


def check(ptxas, target, paths, record):
    """Measure PTX files by name; return what to print, and what costs too much, a line each, and whether any was compared."""
    version = read_version(ptxas)
    with open(RECORDED) as file:
        recorded = json.load(file)
    known = recorded.get(version, {}).get(target, {})
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        costs, more = Costs(ptxas, folder, target), []
        for _ in range(ROUNDS):
            costs.take_turns(paths)
            more = [] if record else costs.find_more(known.keys() & paths.keys(), known)
            if not more:
                break
        for name in paths:
            was = " (%.2f, %.2f recorded)" % tuple(known[name]) if name in known else ""
            lines.append("%s: %d ms; of the reference time %.2f, memory %.2f%s" % (
                name, 1000 * costs.least[name][0], *costs.of(name), was))
        failed = ["%s: make it cheaper for ptxas, or record it by --cost --record" % name for name in sorted(more)]
        if record:
            recorded.setdefault(version, {})[target] = {name: costs.of(name) for name in paths}
            with open(RECORDED, "w") as file:
                text = json.dumps(recorded, indent=1, sort_keys=True)
                file.write(re.sub(r"\[\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2]", text) + "\n")
    if not known and not record:
        lines.append("nothing is recorded for ptxas %s and %s, so nothing is compared" % (version, target))
    return lines, failed, bool(known)
