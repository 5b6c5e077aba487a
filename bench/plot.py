"""Draws the grid that gpu_compare.py measured, TFLOP/s over the length, as an SVG for README.

The colours are told apart by readers with any kind of colour vision (Okabe and Ito's, for a light ground and for a
dark one, which the reader's browser chooses), and each rival has a mark of its own. No font is embedded.
"""

import math

NAMES = {"ours": "fa-mlir", "fa4": "FlashAttention-4", "fa3": "FlashAttention-3", "cudnn": "cuDNN",
         "fa2": "FlashAttention-2", "flex": "FlexAttention"}
# rival: (on a light ground, on a dark one, mark)
STYLES = {"ours": ("#0072b2", "#56b4e9", "circle"), "fa4": ("#d55e00", "#e69f00", "square"),
          "fa3": ("#8a5a00", "#f0e442", "diamond"), "cudnn": ("#007a59", "#2cc295", "up"),
          "fa2": ("#a8487e", "#cc79a7", "down"), "flex": ("#555555", "#aaaaaa", "cross")}
GROUNDS = {"light": "#ffffff", "dark": "#0d1117"}
TEXT = {"light": "#1f2328", "dark": "#e6edf3"}
LINES = {"light": "#d0d7de", "dark": "#3d444d"}
WIDTH, HEIGHT, LEFT, TOP, GAP, BOTTOM = 226, 130, 46, 74, 28, 30


def mark(kind, x, y, r=3.2):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    corners = {"square": [(-1, -1), (1, -1), (1, 1), (-1, 1)], "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
               "up": [(0, -1.2), (1.2, 1), (-1.2, 1)], "down": [(0, 1.2), (1.2, -1), (-1.2, -1)],
               "cross": [(-1, -.4), (1, -.4), (1, .4), (-1, .4)]}[kind]
    return '<path d="M' + "L".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in corners) + 'Z"/>'


def style(rivals):
    def colours(scheme, index):
        return "".join([f".t{{fill:{TEXT[scheme]}}}.g{{stroke:{LINES[scheme]}}}"] + [
            f".{name}{{stroke:{STYLES[name][index]};fill:{STYLES[name][index]}}}" for name in rivals])
    return ("<style>text{font:12px system-ui,sans-serif}.b{font-weight:600}.n{font-size:11px}"
            "path.l{fill:none;stroke-width:1.8;stroke-linejoin:round}path.ours.l{stroke-width:3}"
            f"{colours('light', 0)}@media(prefers-color-scheme:dark){{{colours('dark', 1)}}}</style>")


def panel(rows, rivals, lengths, top, x, y):
    """One head dimension and mask: a line for each rival, from `x` and `y`."""
    at = lambda n: x + (WIDTH - 12) * lengths.index(n) / max(1, len(lengths) - 1)
    of = lambda value: y + HEIGHT * (1 - value / top)
    parts = [f'<text class="t b" x="{x}" y="{y - 6}">d = {rows[0]["d"]}, {rows[0]["case"]}</text>']
    for value in range(0, top + 1, 200):
        parts.append(f'<path class="g" d="M{x},{of(value):.1f}h{WIDTH - 12}"/>')
        if x == LEFT:
            parts.append(f'<text class="t n" text-anchor="end" x="{x - 6}" y="{of(value) + 4:.1f}">{value}</text>')
    for n in lengths:
        said = f"{n // 1024}k" if n >= 1024 else str(n)
        parts.append(f'<text class="t n" text-anchor="middle" x="{at(n):.1f}" y="{y + HEIGHT + 15}">{said}</text>')
    for name in reversed(rivals):  # ours lies above the others
        points = [(at(row["n"]), of(row["tflops"][name])) for row in rows if name in row["tflops"]]
        if points:
            parts.append(f'<path class="{name} l" d="M' + "L".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
            parts.append(f'<g class="{name}">' + "".join(mark(STYLES[name][2], a, b) for a, b in points) + "</g>")
    return parts


def draw(files):
    """-> the text of the SVG of the rows of the grid, LSE on"""
    rows_of = lambda data: [row for row in data["rows"] if row.get("section") == "grid" and row["lse"]]
    files = [data for data in files if rows_of(data)]
    rows = [row for data in files for row in rows_of(data)]
    if not rows:
        raise ValueError("the plot is of the section grid, of which the files have no rows")
    rivals = [name for name in STYLES if any(name in row["tflops"] for row in rows)]
    lengths = sorted({row["n"] for row in rows})
    sizes, cases = sorted({row["d"] for row in rows}), [case for case in ("full", "causal")
                                                       if any(row["case"] == case for row in rows)]
    top = 200 * math.ceil(max(row["tflops"][name] for row in rows for name in rivals if name in row["tflops"]) / 200)
    parts, x = [], LEFT
    for name in rivals:
        parts.append(f'<g class="{name}">{mark(STYLES[name][2], x + 4, 36, 4)}</g>'
                     f'<text class="t{" b" if name == "ours" else ""}" x="{x + 14}" y="40">{NAMES[name]}</text>')
        x += 30 + 7 * len(NAMES[name])
    for down, case in enumerate(cases):
        for right, d in enumerate(sizes):
            cell = sorted((row for row in rows if (row["d"], row["case"]) == (d, case)), key=lambda row: row["n"])
            if cell:
                parts += panel(cell, rivals, lengths, top, LEFT + right * (WIDTH + GAP),
                               TOP + down * (HEIGHT + 52))
    width = LEFT + len(sizes) * (WIDTH + GAP) - GAP + 8
    height = TOP + len(cases) * (HEIGHT + 52) - 52 + BOTTOM
    title = (f"Attention on {files[0]['device']}, bf16, TFLOP/s over the sequence length, each at its own clock "
             "(higher is better)")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{title}">', style(rivals),
        f'<text class="t" x="{LEFT}" y="16">{title}</text>', *parts, "</svg>", ""])
