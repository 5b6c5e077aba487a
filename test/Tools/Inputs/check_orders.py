"""Holds the clocks that the compiler expects of orders of products against times of a device:
check_orders.py BENCH-FOLDER RESULTS, of `gpu_compare.py --preset=sm_90a --only=orders,orders-q,orders-kv,orders-fused`.

The order taken must be as fast as the fastest one, and of two orders that differ on the device the one of fewer
clocks must be the faster one, but for the pairs that docs/performance-gradients.md tells of: both with a bound that is what was
measured.
"""
import itertools
import json
import re
import subprocess
import sys

folder, results = sys.argv[1:]
sys.path.insert(0, folder)
import gpu_cases

# What of the time is noise, how much slower than the fastest the order taken is at most, and the part of pairs that
# the clocks rank as the device did.
NOISE, SLOWER, RANKED = 1.02, 1.025, 0.75
FLAGS = {"orders": [], "orders-q": ["--backward", "--deterministic", "--gradients=q"],
         "orders-kv": ["--backward", "--deterministic", "--gradients=k,v"], "orders-fused": ["--backward", "--fused"]}


def clocks_of(row, order):
    """What the compiler expects of the loops that the row timed: of the forward's, or of those of gradients."""
    text = gpu_cases.program(gpu_cases.CASES[row["case"]], row["d"], True)
    command = ["fa-opt", "-", "--target=sm_90a", "--compile-to=schedule", "--remarks=tile-schedule-loop",
               "--product-order=%d" % order, *FLAGS[row["section"]]]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    clocks = [int(number) for number in re.findall(r"clocks=(\d+), order=", run.stderr)]
    return sum(clocks[1:] or clocks)


ranked = pairs = 0
with open(results) as file:
    rows = json.load(file)["rows"]
assert {row["section"] for row in rows} == set(FLAGS)
for row in rows:
    speeds = list(row["tflops"].values())
    assert list(row["tflops"]) == ["ours", *("ours order=%d" % order for order in range(1, len(speeds)))]
    assert max(speeds) < SLOWER * speeds[0], (row["section"], row["d"], speeds)
    clocks = [clocks_of(row, order) for order in range(len(speeds))]
    for (speed, mine), (other, theirs) in itertools.combinations(zip(speeds, clocks), 2):
        if max(speed, other) > NOISE * min(speed, other):
            pairs += 1
            ranked += mine != theirs and (speed > other) == (mine < theirs)
print("%d of %d pairs ranked as on the device" % (ranked, pairs))
assert ranked >= RANKED * pairs
