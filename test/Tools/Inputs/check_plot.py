"""Checks bench/plot.py on figures that are made up: check_plot.py BENCH-FOLDER OUTPUT-FOLDER."""
import itertools
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, sys.argv[1])
import plot

LENGTHS, SIZES, CASES, RIVALS = [512, 8192, 1024], [64, 128], ["causal", "full"], ["cudnn", "fa4", "ours"]
rows = [{"section": "grid", "d": d, "n": n, "case": case, "lse": True, "tflops": {
    name: 100 + 90 * i + LENGTHS.index(n) for i, name in enumerate(RIVALS)}}
    for n, d, case in itertools.product(LENGTHS, SIZES, CASES)]
del rows[0]["tflops"]["cudnn"]
text = plot.draw([{"device": "a device", "rows": rows + [{**rows[0], "section": "gqa", "tflops": {"fa2": 9000}}]}])
with open(os.path.join(sys.argv[2], "none.json"), "w") as file:
    json.dump({"device": "x", "torch": "1", "target": "sm_90a", "rows": []}, file)

# A panel for each head dimension and mask, with a line for each rival and a mark for each figure.
tree, name = xml.fromstring(text), "{http://www.w3.org/2000/svg}%s"
said = [node.text for node in tree.iter(name % "text")]
assert said[0].startswith("Attention on a device") and [said.count(plot.NAMES[rival]) for rival in RIVALS] == [1, 1, 1]
assert [x for x in said if x.startswith("d = ")] == ["d = 64, full", "d = 128, full", "d = 64, causal", "d = 128, causal"]
assert [x for x in said if x.isdigit() and int(x) % 200 == 0] == ["0", "200", "400"] * 2, said  # of the left panels
lines = [node for node in tree.iter(name % "path") if node.get("class", "").endswith(" l")]
assert len(lines) == len(SIZES) * len(CASES) * len(RIVALS)
marks = sum(len(node) for node in tree.iter(name % "g"))
assert marks == len(RIVALS) + len(rows) * len(RIVALS) - 1, marks
# Lengths rise to the right; more is higher; nothing leaves the frame.
width, height = (float(x) for x in tree.get("viewBox").split()[2:])
for line in lines:
    points = [tuple(map(float, point.split(","))) for point in line.get("d")[1:].split("L")]
    assert points == sorted(points) and all(0 < x < width and 0 < y < height for x, y in points)
ours, cudnn = ([node.get("d") for node in lines if node.get("class") == rival + " l"] for rival in ("ours", "cudnn"))
height_of = lambda path: float(path.split(",")[1].split("L")[0])
assert all(height_of(a) < height_of(b) for a, b in zip(ours, cudnn))
# Small, of one file, with the reader's fonts and scheme.
assert len(text) < 40000 and "@font-face" not in text and "href" not in text
assert "prefers-color-scheme:dark" in text and len(re.findall(r"<style", text)) == 1


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(weight * (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4)
               for weight, x in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def seen(colour, matrix):
    """What a reader without one kind of cone sees, in linear RGB (Vienot et al. 1999)."""
    rgb = [(int(colour[i:i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
    return [max(0.0, sum(weight * x for weight, x in zip(row, rgb))) ** (1 / 2.2) for row in matrix]


PROTAN = [(0.112, 0.888, 0), (0.112, 0.888, 0), (0.004, -0.004, 1)]
DEUTAN = [(0.292, 0.708, 0), (0.292, 0.708, 0), (-0.022, 0.022, 1)]
# Each colour stands out from its ground, and no two of one scheme are alike, in colour or in mark.
for index, scheme in enumerate(("light", "dark")):
    assert contrast(plot.TEXT[scheme], plot.GROUNDS[scheme]) > 7
    for rival, style in plot.STYLES.items():
        assert contrast(style[index], plot.GROUNDS[scheme]) >= 3, (rival, scheme)
    for a, b in itertools.combinations(["ours", "fa4", "cudnn", "fa2"], 2):
        for matrix in PROTAN, DEUTAN:
            pair = [seen(plot.STYLES[name][index], matrix) for name in (a, b)]
            assert sum((x - y) ** 2 for x, y in zip(*pair)) ** 0.5 > 0.1, (a, b, scheme, pair)
assert len({style[2] for style in plot.STYLES.values()}) == len(plot.STYLES)
