#!/usr/bin/env python3
"""Writes docs/gallery.md: what the compiler proves of each program of examples/gallery, and what its tiles visit.

    gallery.py [--write=FILE | --check=FILE] [--only=PROGRAM,...] [--bin=DIR] [--jobs=N] [RESULTS.json...]

prints the page; --write writes it to a file, --check says whether that would change the file. --only looks at some of
the programs, of which --check then finds the lines in the file. fa-opt and fa-run are taken from --bin, or found by PATH. RESULTS.json: of `gpu_compare.py --preset=sm_90a --only=gallery,backward-gallery
--json`; those of bench/results where none is given. What was not measured is said to be so.

Bounds and tests of tiles are remarks of fa-analyze-mask. What tiles visit is seen, not computed: the interpreter runs
the program on queries that are 0, so that e to the power of a row's LSE is the number of its visible keys, and on
values whose column c is NaN for keys 16 c to 16 c + 15 alone. A tile multiplies what it hides by 0, and 0 * NaN is
NaN: column c of a row is NaN if and only if a tile with these keys was visited for it. The visible pairs must be those
that bench/gpu_gallery.py counts in the data.
"""

import argparse
import array
import concurrent.futures
import glob
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from gpu_cases import program
from gpu_gallery import FOLDER, GALLERY
from gpu_presets import PRESETS

TARGET, D, N = "sm_90a", 128, 2048
GROUP = N // D  # keys that share a column of the values
PRESET = [section for section in PRESETS[TARGET] if "gallery" in section.name]  # forward, backward
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")

HEAD = """# Gallery

The programs of `examples/gallery`, one for each kind of attention that models have. A mask is a region or sugar for
one (`docs/semantics.md`); no pass knows any of them by name. `python3 bench/gallery.py --bin=build/release/bin --write=docs/gallery.md` writes
this page, and a test compares it with what the compiler and the interpreter say.

- **Keys**: the bounds of the key loop that `fa-analyze-mask` proves for a block of rows. Where it says *limits*, a
  kernel before the attention finds the first and last visible key of each row in the captured tensors, once
  (`fa-derive-limits`); then data bound the loop as positions do.
- **Tile test**: what is asked of a tile in the loop. *all*: a tile with nothing hidden skips the mask; *none*: a tile
  with nothing visible is skipped: where some may lie between visible ones, the loop goes over a list, made in the
  kernel (`tile-list-steps`). A tile in which more than four blocks of a layout lie counts as visible.
- **Visible**: visible pairs of all pairs. **Visited / visible**: the pairs of visited tiles over those, by blocks of the
  rows of a tile, and by warpgroups of 64 rows, which skip what only others need; counted by the interpreter at n = {n}
  for `{target}`, d = {d}, bf16. What is visited in vain lies along the borders of what is visible, so that causal
  attention comes closer to 1 where sequences are longer, and windows do not.
- **Forward**, **backward**: TFLOP/s of visible pairs at n = {long}, and the ratio to FlexAttention's, its block mask not
  counted, on {devices} (`bench/gpu_compare.py LIB --preset={target} --only=gallery,backward-gallery`, the run in
  `bench/results`). Windows and chunks are bound by its memory.

"""


def run(*command, text=""):
    process = subprocess.run(command, input=text, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError("%s: %s" % (" ".join(command), (process.stderr or process.stdout).strip()))
    return process


def ask_remarks(fa_opt, text):
    """-> {name of a pass: the fields of each of its remarks}"""
    passes = "fa-derive-limits", "gpu-choose-tiles", "fa-analyze-mask"
    said = run(fa_opt, "-", "--target=" + TARGET, "--remarks=" + ",".join(passes), "--compile-to=algorithm",
               "-o", os.devnull, text=text).stderr
    found = {name: [] for name in passes}
    for name, fields in re.findall(r"Category:([\w-]+) \| (.*)", said):
        found[name].append(dict(re.findall(r'(\w+)="([^"]*)"', fields)))
    return found


def write_tensors(path, tensors):
    """Write {name: (type, shape, bytes)} as safetensors."""
    header, at = {}, 0
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values()))


def read_tensors(path):
    """-> {name: bytes}"""
    with open(path, "rb") as file:
        content = file.read()
    begin = 8 + struct.unpack_from("<Q", content)[0]
    return {name: content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
            for name, entry in json.loads(content[8:begin]).items() if name != "__metadata__"}


def flatten(values):
    """-> (shape, numbers) of nested lists"""
    if not isinstance(values, list):
        return [], [values]
    parts = [flatten(part) for part in values]
    return [len(values)] + parts[0][0], [number for _, numbers in parts for number in numbers]


def make_inputs(case):
    """-> what write_tensors takes: one sequence, one head"""
    zeros = bytes(2 * N * D)
    values = array.array("H", zeros)
    for key in range(N):
        values[key * D + key // GROUP] = 0x7FC0  # NaN
    shape = [1, N, D] if case.packed else [1, 1, N, D]
    inputs = {"q": ("BF16", shape, zeros), "k": ("BF16", shape, zeros), "v": ("BF16", shape, values.tobytes())}
    sizes = {"B": 1, "Hq": 1, "Sq": N, "Sk": N}
    for name, (type_, dims) in case.types.items():
        if name in case.data:
            kind, code = ("BOOL", "b") if type_.endswith("i1>") else ("I32", "i")
            made, numbers = flatten(case.data[name](1, 1, N))
            inputs[name] = (kind, made, array.array(code, numbers).tobytes())
        else:  # of no effect on LSE
            made = [sizes[dim] for dim in dims]
            number = -math.inf if name == "sink" else 0.0
            inputs[name] = ("F32", made, array.array("f", [number] * math.prod(made)).tobytes())
    if case.dropout:
        inputs.update(p=("F32", [], struct.pack("<f", 0)), seed=("I64", [], bytes(8)), offset=("I64", [], bytes(8)))
    return inputs


def count(fa_run, case, phase):
    """-> (visible pairs, pairs of visited tiles) of one head of N tokens, as the interpreter runs what a phase yields"""
    with tempfile.TemporaryDirectory() as folder:
        source, inputs, outputs = (os.path.join(folder, name) for name in ("k.mlir", "in", "out"))
        with open(source, "w") as file:
            file.write(program(case, D, True))
        write_tensors(inputs, make_inputs(case))
        run(fa_run, source, "--device=interp", "--interp-phase=" + phase, "--target=" + TARGET, "--in=" + inputs,
            "--out=" + outputs)
        tensors = read_tensors(outputs)
    visible = sum(round(math.exp(lse)) for lse in array.array("f", tensors["lse"]))
    visited = sum(x & 0x7FFF > 0x7F80 for x in array.array("H", tensors["o"])) * GROUP
    if visible != case.pairs(0, N) or visited < visible:
        raise RuntimeError("%s: %d visible pairs in %d visited, and bench/gpu_gallery.py expects %d visible ones" % (
            case.file, visible, visited, case.pairs(0, N)))
    return visible, visited


def describe(case, tools):
    """-> the cells of a program's line, but that of its speed"""
    remarks = ask_remarks(tools["fa-opt"], program(case, D, True))
    field = lambda name, key: "; ".join(dict.fromkeys(remark[key] for remark in remarks[name] if key in remark))
    tiles = re.search(r"(\d+) rows and (\d+) keys", field("gpu-choose-tiles", "Decision"))
    visible, by_block = count(tools["fa-run"], case, "tile")
    _, by_warpgroup = count(tools["fa-run"], case, "schedule")
    limits = ", limits" if remarks["fa-derive-limits"] else ""
    return ["`%s`%s" % (field("fa-analyze-mask", "keys"), limits),
            field("fa-analyze-mask", "Decision").replace("tile test: ", ""), " x ".join(tiles.groups()),
            "%.3f" % (visible / N / N), "%.2f" % (by_block / visible), "%.2f" % (by_warpgroup / visible)]


def speed(rows, section, name):
    """What was measured of a program, beside FlexAttention where that has it."""
    figures = [row["tflops"] for row in rows
               if (row.get("section"), row["case"]) == (section, name) and "ours" in row["tflops"]]
    if not figures:
        return "not measured"
    flex = figures[-1].get("flex")
    return "%.0f" % figures[-1]["ours"] + (" (%.2f)" % (figures[-1]["ours"] / flex) if flex else "")


def make_page(tools, jobs, programs, rows):
    """The page of some programs, {name: case}."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        cells = dict(zip(programs, pool.map(lambda case: describe(case, tools), programs.values())))
    sections = [section.name for section in PRESET]
    devices = {row["device"] for row in rows if row.get("section") in sections}
    page = HEAD.format(n=N, target=TARGET, d=D, long=PRESET[0].n[0], devices=" and ".join(sorted(devices)) or "no device")
    header = "program", "keys", "tile test", "rows x keys", "visible", "visited / visible", "by warpgroup", "forward", "backward"
    lines = ["| %s |" % " | ".join(header), "|---" * len(header) + "|"]
    for name, case in programs.items():
        title = case.file.removesuffix(".mlir")
        lines.append("| %s |" % " | ".join(["[`%s`](#%s)" % (title, title), *cells[name],
                                             *(speed(rows, section.name, name) for section in PRESET)]))
    for name, case in programs.items():
        lines += ["", "## %s" % case.file.removesuffix(".mlir"), "", case.comment, "", "```mlir",
                  *re.sub(r"\n    (?=with )", " ", case.text).splitlines(), "```"]
    return page + "\n".join(lines) + "\n"


def read_rows(paths):
    """What was measured; of the same twice, the last one counts."""
    rows = []
    for path in paths:
        with open(path) as file:
            data = json.load(file)
        rows += [{**row, "device": data["device"]} for row in data["rows"]]
    return rows


def choose_programs(only):
    """-> {name: case} of some programs, or of all; there is none of which bench/gpu_gallery.py has no case"""
    files = {case.file: name for name, case in GALLERY.items()}
    missing = set(os.listdir(FOLDER)) - set(files)
    if missing:
        raise RuntimeError("bench/gpu_gallery.py has no case of %s" % ", ".join(sorted(missing)))
    names = [files.get(name + ".mlir", name) for name in only.split(",")] if only else list(GALLERY)
    unknown = [name for name in names if name not in GALLERY]
    if unknown:
        raise RuntimeError("--only takes programs of examples/gallery (%s); got %s" % (
            ", ".join(name.removesuffix(".mlir") for name in files), ", ".join(unknown)))
    return {name: GALLERY[name] for name in names}


def check_page(path, page, is_whole):
    """Refuse a file that is not the page, or lacks lines of a part of it."""
    with open(path) as file:
        written = file.read()
    lacking = [line for line in page.splitlines() if line not in written.splitlines()]
    if lacking or (is_whole and written != page):
        raise RuntimeError("%s is old; make it with --write=%s. It lacks:\n%s" % (path, path, "\n".join(lacking[:5])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--write", metavar="FILE")
    place.add_argument("--check", metavar="FILE")
    parser.add_argument("--only", metavar="PROGRAM,...")
    parser.add_argument("--bin", metavar="DIR")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write takes all programs; leave out --only")
    tools = {name: shutil.which(name, path=options.bin) for name in ("fa-opt", "fa-run")}
    if not all(tools.values()):
        parser.error("fa-opt and fa-run are not found; give their folder by --bin")
    try:
        programs = choose_programs(options.only)
        rows = read_rows(options.results or sorted(glob.glob(os.path.join(RESULTS, TARGET + "*.json"))))
        page = make_page(tools, options.jobs, programs, rows)
        if options.check:
            check_page(options.check, page, is_whole=not options.only)
    except (OSError, RuntimeError) as error:
        sys.exit("gallery.py: %s" % error)
    if options.write:
        with open(options.write, "w") as file:
            file.write(page)
    elif not options.check:
        sys.stdout.write(page)


if __name__ == "__main__":
    main()
