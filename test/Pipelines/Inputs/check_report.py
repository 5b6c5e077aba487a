"""Checks the JSON of fa-opt --emit=report: all of its keys, and what its numbers have to do with each other.

    check_report.py FILE.json [EXPRESSION...]

Each EXPRESSION holds for `e`, the first entry, `c`, its cost, `k`, its first kernel, and `s`, that one's schedule.
"""
import json
import sys

LEAF = None
TILE = dict.fromkeys("m n k a b transposed precision".split())
ROLE = dict.fromkeys("name warps registers".split())
RING = dict.fromkeys("stages shape element".split())
SCHEDULE = dict.fromkeys(
    "warps products_by stages shared_bytes shared_limit registers spill_bytes registers_counted_by "
    "registers_unknown_because blocks occupancy".split()) | {"roles": [ROLE], "rings": [RING]}
SECONDS = dict.fromkeys("tensor_cores special arithmetic shared_memory hbm estimate".split())
COST = dict.fromkeys(
    "work_tiles visited_flops visible_flops flops special arithmetic operand_bytes depends_on_data "
    "loaded_bytes stored_bytes added_bytes l2_bytes standard_bytes standard_over_l2 compulsory_bytes "
    "standard_over_compulsory intensity l2_intensity rates_of device rates_are_of_device peak_flops "
    "hbm_bytes_per_second bound".split()) | {"seconds": SECONDS}
BUFFER = dict.fromkeys("kind name bytes order".split())
ENTRY = {
    "entry": LEAF, "target": LEAF, "variant": dict.fromkeys(("name", "when")),
    "shape": dict.fromkeys("B Hq Hk Sq Sk".split()),
    "kernels": [{"name": LEAF, "grid_expression": LEAF, "grid": LEAF, "tiles": [TILE],
                 "schedule": SCHEDULE}],
    "cost": COST,
    "memory": {"buffers": [BUFFER], "bytes": LEAF, "order": LEAF, "bytes_at_twice": LEAF},
}


def compare(found, expected, path):
    if expected is LEAF:
        return
    if isinstance(expected, list):
        assert isinstance(found, list), path
        for i, value in enumerate(found):
            compare(value, expected[0], "%s[%d]" % (path, i))
        return
    assert isinstance(found, dict), path
    assert set(found) == set(expected), (path, set(found) ^ set(expected))
    for key, value in expected.items():
        compare(found[key], value, path + "." + key)


with open(sys.argv[1]) as file:
    report = json.load(file)
compare(report, {"entries": [ENTRY]}, "report")
e = report["entries"][0]
c, k = e["cost"], e["kernels"][0]
s = k["schedule"]
assert len(k["tiles"]) > 0 and len(s["rings"]) > 0
assert (s["registers"] is None) == (s["registers_counted_by"] is None) == (s["spill_bytes"] is None)
assert (s["registers"] is None) == (s["registers_unknown_because"] is not None)
assert 0 < s["shared_bytes"] <= s["shared_limit"]
assert s["occupancy"] == s["blocks"] * s["warps"] / 64
assert sum(buffer["bytes"] for buffer in e["memory"]["buffers"]) == e["memory"]["bytes"]
assert c["l2_bytes"] == c["loaded_bytes"] + c["stored_bytes"]
assert 0 <= c["added_bytes"] <= c["stored_bytes"]
if c["l2_bytes"] > 0:
    assert c["standard_over_l2"] == c["standard_bytes"] / c["l2_bytes"]
    assert c["standard_over_compulsory"] == c["standard_bytes"] / c["compulsory_bytes"]
    assert c["intensity"] == c["flops"] / c["compulsory_bytes"]
    assert c["l2_intensity"] == c["flops"] / c["l2_bytes"]
assert c["flops"] == (c["visited_flops"] if c["visible_flops"] is None else c["visible_flops"])
for text in sys.argv[2:]:
    assert eval(text), (text, json.dumps(report, indent=1))
