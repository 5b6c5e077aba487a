#!/usr/bin/env python3
"""Prints the tables of docs/performance.md from what gpu_compare.py measured, and draws README's plot of it.

    tables.py FILE.json... [--write=docs/performance.md] [--check=docs/performance.md] [--plot=docs/performance.svg]

FILE.json: of `gpu_compare.py --json`, of a preset or of one table's worth; all of one target. A row says of
which section it is, and each section has its table: the grid (LSE on, and LSE off) with, for each peer, theirs
and ours / theirs in parentheses, in TFLOP/s of visible pairs; the same beside clock, power and energy; modified scores,
also as parts of plain attention; a window, by the FLOP of visited tiles; what each pass is worth. Times over those
that the report estimates (`--estimate`) and what tiles visit get tables of their own. Where a rival has no figure,
the table says none, and below it why.

--write puts each table between the lines `<!-- begin TARGET TABLE -->` and `<!-- end -->` of a file, where it has
such lines; --check only says whether that would change the file.
"""

import argparse
import json
import re
import statistics
import sys

CASES = ("full", "causal")
OWN = ("ours", "before")  # what is no peer


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


def is_own(name):
    return name.split(" ")[0] in OWN


def peers_of(rows):
    return [name for name in rivals_of(rows) if not is_own(name) and any(name in row["tflops"] for row in rows)]


def figure(row, name, compared=False):
    """Return `value` or `value (ours / value)` of one rival, `none` where it has no figure for a reason, `same`
    where its code is that of all passes, else nothing."""
    value, ours = row["tflops"].get(name), row["tflops"].get("ours")
    if name in row.get("same", ()):
        return "same"
    if value is None:
        return "none" if name in row.get("missing", {}) else ""
    return f"{value:.0f}" + (f" ({ours / value:.2f})" if compared and ours else "")


def visited_of(row, name="ours"):
    return row.get("visited", {}).get(name)


def energy_of(row, name):
    """Joules for a TFLOP."""
    watts, tflops = row.get("watts", {}).get(name), row["tflops"].get(name)
    return watts / tflops if watts and tflops else None


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def compare_line(row, name):
    """One rival of a cell, as gpu_compare.py prints it."""
    if name in row.get("same", ()):
        return "%s: the same code" % name
    if name not in row["tflops"]:
        return "%s: none: %s" % (name, row["missing"][name])
    said = ["%-8s %4.0f TFLOP/s" % (name, row["tflops"][name])]
    for key, form in ("mhz", "%4.0f MHz"), ("watts", "%3.0f W"), ("bursts", "%4.0f in bursts"):
        if name in row.get(key, {}):
            said.append(form % row[key][name])
    if energy_of(row, name):
        said.append("%.2f J/TFLOP" % energy_of(row, name))
    said += ["%s busy %.0f %%" % item for item in row.get("busy", {}).get(name, {}).items()]
    said += ["clock lowered by %s %.2f" % item for item in row.get("reasons", {}).get(name, {}).items()]
    same = name.replace("ours", "before", 1)  # the same variant of another build
    others = [other for other in row["tflops"] if not is_own(other) or other == same]
    if name.startswith("ours") and others:
        said.append(", ".join("%.2f of %s" % (row["tflops"][name] / row["tflops"][other], other)
                              for other in others))
    if name in row.get("estimated_tflops", {}):
        said.append("%.2f of the estimated time" % (row["estimated_tflops"][name] / row["tflops"][name]))
    return "  ".join(said)


def line(*cells):
    return "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells)


def header(*cells):
    return [line(*cells), "|---" * len(cells) + "|"]


def reasons(rows):
    """Why rivals have no figure, each reason once."""
    places = {}
    for row in rows:
        for name, reason in row.get("missing", {}).items():
            places.setdefault((name, reason), []).append(f"d = {row['d']} n = {row['n']} {row['case']}")
    lines = [f"- none of {name}, {', '.join(where)}: {reason}" for (name, reason), where in places.items()]
    return ["", *lines] if lines else []


def by_length(rows, key, names, cell):
    """A line for each value of `key`, a column for each length."""
    lengths = sorted({row["n"] for row in rows})
    lines = header(*names, *(f"n = {n}" for n in lengths))
    for head in sorted({key(row) for row in rows}, key=lambda head: (head[0], rank(head[1]), head)):
        found = {row["n"]: cell(row) for row in rows if key(row) == head}
        lines.append(line(*head, *(found.get(n, "") for n in lengths)))
    return lines


def rank(case):
    """The order of cases: plain and causal attention first."""
    return CASES.index(case) if case in CASES else len(CASES)


def of_case(row):
    return row["d"], row["case"]


def best(rows):
    """Ours over the best peer of each cell: the median, the least and the greatest."""
    ratios = []
    for row in rows:
        theirs = [value for name, value in row["tflops"].items() if not is_own(name)]
        if theirs and "ours" in row["tflops"]:
            ratios.append((row["tflops"]["ours"] / max(theirs), f"d = {row['d']}, n = {row['n']}, {row['case']}"))
    if not ratios:
        return []
    return ["", "Ours over the best of {}: {:.2f} in the median, {:.2f} at worst ({}), {:.2f} at best ({}).".format(
        ", ".join(peers_of(rows)), statistics.median(ratio for ratio, _ in ratios), *min(ratios), *max(ratios))]


def grid(rows):
    peers = peers_of(rows) + ["before"] * any("before" in row["tflops"] for row in rows)
    state = {True: "on", False: "off"}[rows[0]["lse"]]
    lines = [f"LSE {state}; ours{''.join(' / ' + name for name in peers)} (ratio):", ""]
    return lines + by_length(rows, of_case, ("d", "case"), lambda row: " / ".join(
        [figure(row, "ours") or "none"] + [figure(row, name, True) or "-" for name in peers])) + (
        best(rows)) + reasons(rows)


def rivals(rows):
    """A line for each rival of each cell, with its clock, power and energy; `--bursts` and `--energy-seconds` add
    columns. What peers lack a figure for is below."""
    bursts = any("bursts" in row for row in rows)
    busy = any(row.get("busy") for row in rows)
    lines = header("d", "n", "case", "rival", "TFLOP/s", "ours / theirs", "MHz", "W", "J per TFLOP",
                   *(["in bursts"] if bursts else []),
                   *(["TFLOP/s per GHz", "tensor cores busy"] if busy else []))
    for row in sorted(rows, key=lambda row: (row["d"], row["n"])):
        ours = row["tflops"].get("ours")
        for name in rivals_of([row]):
            value = row["tflops"].get(name)
            if value is None and not is_own(name):
                continue
            lines.append(line(row["d"], row["n"], row["case"], name, figure(row, name),
                              number(ours / value) if ours and value and name != "ours" else "",
                              number(row.get("mhz", {}).get(name), 0), number(row.get("watts", {}).get(name), 0),
                              number(energy_of(row, name)),
                              *([number(row.get("bursts", {}).get(name), 0)] if bursts else []),
                              *([*utilization(row, name)] if busy else [])))
    return lines + reasons(rows)


def utilization(row, name):
    """-> what a clock is used for: TFLOP/s per GHz, and the part of the time that tensor cores are busy"""
    mhz, part = row.get("mhz", {}).get(name), row.get("busy", {}).get(name, {}).get("tensor")
    return number(1000 * row["tflops"][name] / mhz if mhz else None, 0), "" if part is None else f"{part:.0f} %"


def energy(rows):
    """Of one length."""
    lengths = sorted({row["n"] for row in rows if row.get("mhz")})
    n = 8192 if 8192 in lengths else lengths[-1] if lengths else None
    rows = [row for row in rows if row["n"] == n]
    if not rows:
        return []
    return [f"Clock, power and energy at n = {n}:", ""] + rivals(rows)


def visited(rows):
    """What tiles of ours visit, over what the mask lets see."""
    rows = [row for row in rows if visited_of(row)]
    if not rows:
        return []
    return ["Elements that tiles visit, over those that are visible:", ""] + by_length(
        rows, of_case, ("d", "case"), lambda row: number(visited_of(row)))


def scores(rows):
    return ["Modified scores and masks, TFLOP/s of visible pairs:", ""] + rivals(rows)


def gqa(rows):
    return ["Eight query heads share a head of keys and values:", ""] + rivals(rows)


def gallery(rows):
    return ["The programs of examples/gallery, TFLOP/s of visible pairs:", ""] + rivals(rows)


def shares(rows):
    """As parts of plain attention."""
    plain = {(row["d"], row["n"]): row["tflops"].get("ours") for row in rows if row["case"] == "full"}
    sizes = sorted({row["d"] for row in rows})
    lines = ["Ours, TFLOP/s of visible pairs (as a part of plain attention):", ""]
    lines += header("n", "case", *(f"d = {d}" for d in sizes))
    for n, case in dict.fromkeys((row["n"], row["case"]) for row in rows):
        cells = []
        for d in sizes:
            found = [row for row in rows if (row["d"], row["n"], row["case"]) == (d, n, case)]
            ours = found[0]["tflops"].get("ours") if found else None
            part = f" ({ours / plain[d, n]:.2f})" if ours and plain.get((d, n)) and case != "full" else ""
            cells.append(f"{ours:.0f}{part}" if ours else "none" if found else "")
        lines.append(line(n, case, *cells))
    return lines + reasons(rows)


def window(rows):
    """Visible pairs and visited tiles beside those of causal attention, or of what rows name as their base, of the same
    section."""
    base = rows[0].get("base", "causal")

    def visible(row):
        return row["tflops"].get("ours")

    def speed(row):
        ratio = visited_of(row)
        return row["tflops"]["ours"] * ratio if ratio and "ours" in row["tflops"] else None

    def part(speed_of, row):
        beside = [speed_of(other) for other in rows if (other["d"], other["n"], other["case"]) == (row["d"], row["n"], base)]
        mine = speed_of(row) if row["case"] != base else None
        return number(mine / beside[0]) if mine and beside and beside[0] else ""
    with_visible = "base" in rows[0]
    lines = ["TFLOP/s of visible pairs and of visited tiles; the latter as a part of causal attention's:" if not with_visible else
             f"{section_of(rows[0])}, TFLOP/s of visible pairs and of visited tiles; both as parts of those of `{base}`:", ""]
    lines += header("d", "n", "case", "visible", *[f"of {base}"] * with_visible, "visited / visible", "visited", f"of {base}")
    for row in sorted(rows, key=lambda row: row["d"]):
        lines.append(line(row["d"], row["n"], row["case"], figure(row, "ours") or "none",
                          *[part(visible, row)] * with_visible, number(visited_of(row)), number(speed(row), 0), part(speed, row)))
    return lines + (["", *rivals(rows)] if peers_of(rows) else reasons(rows))


def ablation(rows):
    cells = {(row["n"], *of_case(row)): row for row in rows}
    lines = []
    for n in sorted({n for n, _, _ in cells}):
        sizes = sorted({d for length, d, _ in cells if length == n})
        variants = [name for name in rivals_of([row for row in rows if row["n"] == n]) if is_own(name)]
        lines += [f"What each pass is worth at n = {n}, TFLOP/s; `same` where it changes nothing of the code:", ""]
        lines += header("full / causal", *(f"d = {d}" for d in sizes))
        unchanged = {}
        for name in variants:
            whose, _, label = name.partition(" ")
            base, _, left_out = label.partition("leave_out=")
            of_base = " (" + base.rstrip(",") + ")" if base else ""
            measured = [figure(cells[n, d, case], name) for d in sizes for case in CASES if (n, d, case) in cells]
            if all(value in ("same", "") for value in measured) and "same" in measured:
                unchanged.setdefault(of_base, []).append("`%s`" % left_out)
                continue
            if left_out:
                label = "without `" + left_out + "`" + of_base
            label = (label or "all passes") + (", before" if whose == "before" else "")
            lines.append(line(label, *(" / ".join(
                figure(cells[n, d, case], name) or "-" if (n, d, case) in cells else "-"
                for case in CASES) for d in sizes)))
        lines += [""] * bool(unchanged) + ["- the same code%s without %s" % (of_base, ", ".join(names))
                                           for of_base, names in unchanged.items()]
        lines.append("")
    return lines[:-1] + reasons(rows)


def of_program(row):
    section = row.get("section", "")
    if section.startswith("backward"):
        return "deterministic gradients" if section == "backward-det" else "gradients"
    return "forward" if row["lse"] else "forward without LSE"


def estimates(rows):
    """Measured over estimated time of ours; of what was measured twice, the first."""
    first = {}
    for row in rows:
        if row.get("estimated_tflops", {}).get("ours") and "ours" in row["tflops"]:
            first.setdefault((*of_case(row), row["n"], of_program(row)), row)
    if not first:
        return []
    ratio = lambda row: row["estimated_tflops"]["ours"] / row["tflops"]["ours"]
    ratios = [ratio(row) for row in first.values()]
    return ["Time measured over time estimated, from %.2f to %.2f:" % (min(ratios), max(ratios)), ""] + by_length(
        list(first.values()), lambda row: (*of_case(row), of_program(row)),
        ("d", "case", "of"), lambda row: number(ratio(row)))


def orders(rows):
    """Of the order of products that the compiler takes, and of others, by the clocks that it expects of them."""
    of = {"orders": "forward", "orders-q": "split, dQ", "orders-kv": "split, dK and dV", "orders-fused": "fused"}
    most = max(len(row["tflops"]) for row in rows)
    lines = ["The order of products taken, and others as parts of its speed (`--product-order`):", ""]
    lines += header("program", "d", "taken, TFLOP/s", *map(str, range(1, most)))
    for row in rows:
        taken, *others = row["tflops"].values()
        lines.append(line(of[row["section"]], row["d"], number(taken, 0),
                          *(number(other / taken) for other in others), *[""] * (most - 1 - len(others))))
    return lines + reasons(rows)


# The tables in order: a name, the sections that it is of (none: all), and what makes it. Of several with one name the
# first is made for which there are rows.
TABLES = [("grid", ("grid",), grid), ("energy", ("energy",), energy), ("energy", ("grid",), energy), ("backward-energy", ("backward-energy",), energy),
          ("lse-off", ("lse-off",), grid), ("flash", ("flash",), grid), ("backward-flash", ("backward-flash",), grid),
          ("flash-3", ("flash-3",), grid), ("backward-flash-3", ("backward-flash-3",), grid),
          ("visited", ("grid",), visited), ("scores", ("scores",), scores), ("gqa", ("gqa",), gqa),
          ("shares", ("shares",), shares), ("window", ("window",), window), ("backward", ("backward",), grid), ("backward-det", ("backward-det",), grid),
          ("backward-gqa", ("backward-gqa",), gqa), ("backward-scores", ("backward-scores",), scores),
          ("backward-sizes", ("backward-sizes",), grid), ("backward-wide", ("backward-wide",), grid),
          ("backward-bias", ("backward-bias",), scores),
          ("backward-ablation", ("backward-ablation",), ablation),
          ("ablation", ("ablation",), ablation),
          ("orders", ("orders", "orders-q", "orders-kv", "orders-fused"), orders), ("gallery", ("gallery",), gallery),
          ("backward-gallery", ("backward-gallery",), gallery),
          *((part + name, (part + name,), window) for part in ("", "backward-")
            for name in ("documents", "documents-sizes", "packed", "packed-sizes", "holes", "limits", "blocks", "sinks")),
          ("estimates", (), estimates)]


def make_tables(files):
    """-> {name of a table: its lines}; `files`: what gpu_compare.py wrote, as objects. A table is of one device;
    where that is not the one of most rows, its first line says so."""
    seen = {(data["torch"], data["target"]) for data in files}
    if len(seen) != 1:
        raise ValueError(f"the files are of different targets or PyTorches: {sorted(seen)}")
    home = statistics.mode(data["device"] for data in files for _ in data["rows"])
    tables = {}
    for name, sections, make in TABLES:
        if name in tables:
            continue
        part = [(data["device"], row) for data in files for row in data["rows"]
                if (section_of(row) in sections if sections else data["device"] == home)]
        devices = sorted({device for device, _ in part})
        if len(devices) > 1:
            raise ValueError(f"the table {name} is of different machines: {devices}")
        lines = make([row for _, row in part]) if part else []
        if lines:
            tables[name] = lines if devices == [home] else [f"On {devices[0]}:", "", *lines]
    return tables


def print_tables(files):
    tables = make_tables(files)
    print("\n{device}, PyTorch {torch}, --target={target}".format(**files[0]))
    for lines in tables.values():
        print("\n" + "\n".join(lines))
    for data in files:
        for peer, reason in data.get("missing_peers", {}).items():
            print(f"\n{peer} is not measured: {reason}")
        if data.get("left_out"):
            print("\nLeft out for want of time: " + ", ".join(data["left_out"]))


def fill(path, files):
    """-> (the text of a file, the text with the tables between its marks); a mark whose table was not measured is
    an error"""
    target, tables = files[0]["target"], make_tables(files)

    def replace(match):
        if match[1] not in tables:
            raise ValueError(f"the files have no rows for <!-- begin {target} {match[1]} -->")
        return f"<!-- begin {target} {match[1]} -->\n" + "\n".join(tables[match[1]]) + "\n<!-- end -->"
    with open(path) as file:
        text = file.read()
    return text, re.sub(rf"<!-- begin {re.escape(target)} ([\w-]+) -->\n.*?<!-- end -->", replace, text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    for option in ("--write", "--check", "--plot"):
        parser.add_argument(option)
    options, files = parser.parse_args(), []
    for path in options.files:
        with open(path) as file:
            files.append(json.load(file))
    try:
        if not (options.write or options.check or options.plot):
            print_tables(files)
        if options.write:
            text, filled = fill(options.write, files)
            with open(options.write, "w") as file:
                file.write(filled)
        if options.check:
            text, filled = fill(options.check, files)
            if filled != text:
                sys.exit(f"tables.py: {options.check} has other tables than the files; "
                         f"make them with --write={options.check}")
        if options.plot:
            from plot import draw
            with open(options.plot, "w") as file:
                file.write(draw(files))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
