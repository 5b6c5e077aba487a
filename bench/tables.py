#!/usr/bin/env python3
"""Prints the tables of docs/performance.md from what gpu_compare.py measured.

    tables.py FILE.json...

FILE.json: of `gpu_compare.py --json`, of a preset or of one table's worth; all of one target. A row says of
which section it is, and each section has its table: the grid (LSE on, and LSE off) with, for each peer, theirs
and ours / theirs in parentheses, in TFLOP/s of visible pairs; modified scores, also as parts of plain attention; a window,
by the FLOP of visited tiles; what each pass is worth. Times over those that the report estimates (`--estimate`)
and what tiles visit get tables of their own. Where a rival has no figure, the table says none, and below it why.
"""

import argparse
import json

CASES = ("full", "causal")


def section_of(row):
    """Files that gpu_compare.py wrote before there were sections have none."""
    if "section" in row:
        return row["section"]
    if any("leave_out" in name for name in row["tflops"]):
        return "ablation"
    return "grid" if row["lse"] else "lse-off"


def rivals_of(rows):
    """In the order in which they were asked for."""
    return list(dict.fromkeys(name for row in rows for name in row.get("rivals", row["tflops"])))


def peers_of(rows):
    return [name for name in rivals_of(rows) if not name.startswith("ours")]


def figure(row, name, compared=False):
    """`value` or `value (ours / value)` of one rival; `none` where it was to have one, else nothing."""
    value, ours = row["tflops"].get(name), row["tflops"].get("ours")
    if value is None:
        return "none" if name in row.get("missing", {}) else ""
    return f"{value:.0f}" + (f" ({ours / value:.2f})" if compared and ours else "")


def visited_of(row, name="ours"):
    return row.get("visited", {}).get(name)


def number(value):
    return "" if value is None else f"{value:.2f}"


def header(*cells):
    print("\n" + line(*cells))
    print("|---" * len(cells) + "|")


def line(*cells):
    return "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells)


def reasons(rows):
    """Why rivals have no figure, each reason once."""
    places = {}
    for row in rows:
        for name, reason in row.get("missing", {}).items():
            places.setdefault((name, reason), []).append(f"d = {row['d']} n = {row['n']} {row['case']}")
    if places:
        print()
    for (name, reason), where in places.items():
        print(f"- none of {name}, {', '.join(where)}: {reason}")


def by_length(rows, key, names, cell):
    """A line for each value of `key`, a column for each length."""
    lengths = sorted({row["n"] for row in rows})
    header(*names, *(f"n = {n}" for n in lengths))
    for head in dict.fromkeys(key(row) for row in rows):
        found = {row["n"]: cell(row) for row in rows if key(row) == head}
        print(line(*head, *(found.get(n, "") for n in lengths)))


def of_case(row):
    return row["d"], row["case"]


def grid(rows):
    for lse in (True, False):
        part = [row for row in rows if row["lse"] == lse]
        if not part:
            continue
        peers = peers_of(part)
        print(f"\nLSE {'on' if lse else 'off'}; ours{''.join(' / ' + name for name in peers)} (ratio):")
        by_length(part, of_case, ("d", "case"), lambda row: " / ".join(
            [figure(row, "ours") or "none"] + [figure(row, name, True) or "-" for name in peers]))
        reasons(part)


def visited(rows):
    """What tiles of ours visit, over what the mask lets see."""
    rows = [row for row in rows if visited_of(row)]
    if not rows:
        return
    print("\nElements that tiles visit, over those that the mask lets see:")
    by_length(rows, of_case, ("d", "case"), lambda row: number(visited_of(row)))


def scores(rows):
    if not rows:
        return
    peers = peers_of(rows)
    print("\nModified scores and masks, TFLOP/s of visible pairs (ours / theirs):")
    header("d", "n", "case", "ours", *peers, "visited / visible")
    for row in rows:
        print(line(row["d"], row["n"], row["case"], figure(row, "ours") or "none",
                   *(figure(row, name, True) for name in peers), number(visited_of(row))))
    reasons(rows)


def shares(rows):
    """Beside `ours full`, plain attention, which was timed in the same rounds on the same tensors."""
    if not rows:
        return
    print("\nModified scores and masks beside plain attention of the same rounds, TFLOP/s of visible pairs:")
    header("d", "n", "case", "ours", "plain", "of plain")
    for row in rows:
        ours, plain = row["tflops"].get("ours"), row["tflops"].get("ours full")
        print(line(row["d"], row["n"], row["case"], figure(row, "ours") or "none",
                   figure(row, "ours full") or "none", number(ours / plain) if ours and plain else ""))
    reasons(rows)


def window(rows):
    """Beside `ours causal`, which was timed in the same rounds on the same tensors."""
    if not rows:
        return
    print("\nTFLOP/s of visible pairs and of visited tiles; the latter as a part of causal attention's:")
    header("d", "n", "case", "visible", "visited / visible", "visited", "of causal", "causal beside it")
    for row in rows:
        speed = {name: row["tflops"][name] * visited_of(row, name) for name in ("ours", "ours causal")
                 if name in row["tflops"] and visited_of(row, name)}
        print(line(row["d"], row["n"], row["case"], figure(row, "ours") or "none", number(visited_of(row)),
                   f"{speed['ours']:.0f}" if "ours" in speed else "",
                   number(speed["ours"] / speed["ours causal"]) if len(speed) == 2 else "",
                   figure(row, "ours causal")))
    reasons(rows)


def ablation(rows):
    cells = {(row["n"], *of_case(row)): row for row in rows}
    for n in sorted({n for n, _, _ in cells}):
        sizes = sorted({d for length, d, _ in cells if length == n})
        variants = [name for name in rivals_of([row for row in rows if row["n"] == n])
                    if name.startswith("ours")]
        print(f"\nWhat each pass is worth at n = {n}, TFLOP/s:")
        header("full / causal", *(f"d = {d}" for d in sizes))
        for name in variants:
            label = "all passes" if name == "ours" else name.removeprefix("ours ")
            if "leave_out=" in name:
                label = "without `" + name.split("=")[-1] + "`"
            print(line(label, *(" / ".join(figure(cells[n, d, case], name) or "none" if (n, d, case) in cells
                                           else "-" for case in CASES) for d in sizes)))
    reasons(rows)


def estimates(rows):
    """Measured over estimated time of ours; of what was measured twice, the first."""
    first = {}
    for row in rows:
        if row.get("estimated_tflops", {}).get("ours") and "ours" in row["tflops"]:
            first.setdefault((*of_case(row), row["n"], row["lse"]), row)
    if not first:
        return
    ratio = lambda row: row["estimated_tflops"]["ours"] / row["tflops"]["ours"]
    ratios = [ratio(row) for row in first.values()]
    print("\nTime measured over time estimated, from %.2f to %.2f:" % (min(ratios), max(ratios)))
    by_length(list(first.values()), lambda row: (*of_case(row), "on" if row["lse"] else "off"),
              ("d", "case", "LSE"), lambda row: number(ratio(row)))


def print_tables(files):
    """`files`: what gpu_compare.py wrote, as objects."""
    seen = {(data["device"], data["torch"], data["target"]) for data in files}
    if len(seen) != 1:
        raise ValueError(f"the files are of different machines or targets: {sorted(seen)}")
    rows = [row for data in files for row in data["rows"]]
    of = lambda *names: [row for row in rows if section_of(row) in names]
    print("{}, PyTorch {}, --target={}".format(*seen.pop()))
    grid(of("grid", "lse-off"))
    visited(of("grid"))
    scores(of("scores"))
    shares(of("shares"))
    window(of("window"))
    ablation(of("ablation"))
    estimates(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    files = []
    for path in parser.parse_args().files:
        with open(path) as file:
            files.append(json.load(file))
    try:
        print_tables(files)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
