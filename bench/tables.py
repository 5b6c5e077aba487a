"""Prints the tables of docs/performance.md from what gpu_compare.py measured.

    tables.py FILE.json...

FILE.json: of `gpu_compare.py --json`; all of one target. Each cell says ours and, for each peer, theirs
with ours / theirs in parentheses, in TFLOP/s. Programs with a pass left out (`--ablation`) get a table of
their own, full / causal; so do times over those that the report estimates (`--estimate`).
"""

import argparse
import json

CASES = ("full", "causal")


def cell(row):
    """`ours / peer (ratio), ...` of one measurement."""
    ours = row["tflops"]["ours"]
    peers = [(name, value) for name, value in row["tflops"].items() if not name.startswith("ours")]
    return f"{ours:.0f}" + "".join(f" / {value:.0f} ({ours / value:.2f})" for _, value in peers)


def grid(rows, lse):
    rows = [row for row in rows if row["lse"] == lse]
    if not rows:
        return
    lengths = sorted({row["n"] for row in rows})
    peers = [name for name in rows[0]["tflops"] if not name.startswith("ours")]
    print(f"\nLSE {'on' if lse else 'off'}; ours{''.join(' / ' + name for name in peers)} (ratio):\n")
    print("| d | case |" + "".join(f" n = {n} |" for n in lengths))
    print("|---" * (2 + len(lengths)) + "|")
    for d, case in dict.fromkeys((row["d"], row["case"]) for row in rows):
        found = {row["n"]: cell(row) for row in rows if (row["d"], row["case"]) == (d, case)}
        print(f"| {d} | {case} |" + "".join(f" {found.get(n, '')} |" for n in lengths))


def estimates(rows):
    """Measured over estimated time of ours."""
    rows = [row for row in rows if row.get("estimated_tflops", {}).get("ours")]
    if not rows:
        return
    ratios = {(row["d"], row["case"], row["n"], row["lse"]):
              row["estimated_tflops"]["ours"] / row["tflops"]["ours"] for row in rows}
    lengths = sorted({row["n"] for row in rows})
    print("\nTime measured over time estimated, from %.2f to %.2f:\n"
          % (min(ratios.values()), max(ratios.values())))
    print("| d | case | LSE |" + "".join(f" n = {n} |" for n in lengths))
    print("|---" * (3 + len(lengths)) + "|")
    for d, case, lse in dict.fromkeys((row["d"], row["case"], row["lse"]) for row in rows):
        cells = [ratios.get((d, case, n, lse)) for n in lengths]
        print(f"| {d} | {case} | {'on' if lse else 'off'} |" +
              "".join(" |" if cell is None else f" {cell:.2f} |" for cell in cells))


def ablation(rows):
    rows = {(row["d"], row["case"]): row["tflops"] for row in rows
            if any("leave_out" in name for name in row["tflops"])}
    if not rows:
        return
    sizes = sorted({d for d, _ in rows})
    variants = dict.fromkeys(name for row in rows.values() for name in row if name.startswith("ours"))
    print("\n| full / causal |" + "".join(f" d = {d} |" for d in sizes))
    print("|---" * (1 + len(sizes)) + "|")
    for name in variants:
        label = "all passes" if name == "ours" else "without `" + name.split("=")[1] + "`"
        values = [" / ".join(f"{rows[d, case][name]:.0f}" if name in rows.get((d, case), {}) else "-"
                             for case in CASES) for d in sizes]
        print(f"| {label} |" + "".join(f" {value} |" for value in values))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    rows, seen = [], set()
    for path in parser.parse_args().files:
        with open(path) as file:
            data = json.load(file)
        seen.add((data["device"], data["torch"], data["target"]))
        rows += data["rows"]
    if len(seen) != 1:
        parser.error(f"the files are of different machines or targets: {sorted(seen)}")
    print("{}, PyTorch {}, --target={}".format(*seen.pop()))
    for lse in (True, False):
        grid(rows, lse)
    estimates(rows)
    ablation([row for row in rows if row["lse"]])


if __name__ == "__main__":
    main()
