"""Checks bench/gpu_presets.py, without PyTorch: check_presets.py BENCH-FOLDER."""
import shutil
import subprocess
import sys

folder = sys.argv[1]
sys.path.insert(0, folder)
sys.modules["torch"] = None  # importing it fails, also where it is installed
import estimate
import gpu_cases
import gpu_gallery
import gpu_masks
import gpu_presets
from gpu_cases import program, refusal
from gpu_presets import CASES

compiler = shutil.which("fa-opt")


def sections_of(*arguments, target="sm_90a"):
    options = gpu_presets.parse_options(["libfa.so", *arguments])
    return options, gpu_presets.make_sections(options, target, compiler)


# What docs/performance.md shows of Hopper.
options, sections = sections_of("--preset=sm_90a")
assert options.target == "sm_90a" and options.estimate and options.rounds == 3 and options.milliseconds == 300
cells = {(section.name, section.lse, d, n, name): section for section in sections
         for d, n, name in section.cells()}
for d in (64, 128, 256):
    for name in ("full", "causal"):
        for n in (512, 1024, 2048, 4096, 8192, 16384):
            assert cells["grid", True, d, n, name].peers == ["cudnn", "fa3", "fa4", "fa2"]
        for n in (8192, 16384):
            assert cells["lse-off", False, d, n, name].peers == ["cudnn", "fa3", "fa4"]
        assert cells["ablation", True, d, 8192, name].ablation
    for name in ("full", "tanh", "alibi", "softcap", "window", "document", "dropout"):
        assert cells["shares", True, d, 8192, name].peers == []
    for name in ("causal", "window"):
        assert cells["window", True, d, 65536, name].peers == ["fa3", "fa4"]
    for name in ("gqa", "gqa-causal"):
        assert "cudnn" in cells["gqa", True, d, 8192, name].peers
# Cells of other sections are timed again only where that is asked for.
for suffix, rival in ("", "fa4"), ("-3", "fa3"):
    names = ["flash" + suffix, "backward-flash" + suffix]
    assert not set(names) & {section.name for section in sections}
    asked = sections_of("--preset=sm_90a", "--only=" + ",".join(names))[1]
    assert [section.name for section in asked] == [names[0], names[1], names[1]]
    assert all(section.peers == ["cudnn", rival] for section in asked)
for name in ("full", "tanh", "alibi", "softcap", "window", "document"):
    assert "flex" in cells["scores", True, 128, 8192, name].peers
assert cells["scores", True, 128, 8192, "dropout"].peers == ["fa2"]
for preset in ("sm_90a", "sm_80"):
    for name, peer in ("tanh", "flex"), ("document", "flex"), ("dropout", "fa2"):
        assert [s.peers for s in gpu_presets.PRESETS[preset] if s.name == "backward-scores" and name in s.case] == [[peer]]
    assert all(512 in s.n for s in gpu_presets.PRESETS[preset] if s.name == "backward")
# Every program of the gallery that takes batches, beside FlexAttention, where that can say it.
for name in gpu_presets.TIMED:
    for section in ("gallery", "backward-gallery"):
        assert cells[section, True, 128, 8192, name].peers == ["flex"]
assert set(gpu_gallery.GALLERY) - set(gpu_presets.TIMED) == {"gallery-packed-causal", "gallery-packed-alibi"}
assert [name for name in gpu_presets.TIMED if refusal("flex", CASES[name])] == [
    "gallery-sink-window", "gallery-dropout-bias"]
# All of one length before the next.
assert [n for _, n, _ in sections[0].cells()] == [8192] * 6 + [16384] * 6

# The passes are those of the compiler, for the target, and the first rival has all of them.
for preset, some, other in ("sm_90a", "tile-defer-row-sum-reduction", "cse"), ("sm_80", "tile-pipeline", "tile-defer-row-sum-reduction"):
    ablations = {s.name: s for s in sections_of("--preset=" + preset, target=preset)[1] if s.ablation}
    passes = estimate.optional_passes(compiler, preset)
    assert ablations["ablation"].variant == ["", *("leave_out=" + name for name in passes)]
    if preset == "sm_90a":
        assert ablations["backward-ablation"].variant == ["deterministic=1", "fused=1", *(
            form + ",leave_out=" + name for form in ("deterministic=1", "fused=1") for name in passes)]
    assert some in passes and other not in passes
    error = subprocess.run([compiler, "-", "--target=" + preset, "--leave-out=cse"], input="",
                           capture_output=True, text=True).stderr
    assert passes == error.split("expected one of ")[1].strip().split(", ")
    assert all(section.variant == [""] or section.backward and section.ablation or section.name.startswith("orders")
               for section in gpu_presets.PRESETS[preset]), "presets stay as they are"

# Parts of a preset, and what is no preset.
assert {s.name for s in sections_of("--preset=sm_90a", "--only=window,scores")[1]} == {"window", "scores"}
options, (section,) = sections_of("--d=128", "--n=512", "--case=tanh", "--peers=flex", "--variant=rows=128")
assert options.target == "cuda" and section.name == "ablation" and section.variant == ["", "rows=128"]
assert sections_of("--d=128", "--n=512", "--case=tanh", "--peers=flex")[1][0].name == "scores"
options, (section,) = sections_of("--no-lse")
assert section.name == "lse-off" and not section.lse and section.peers == ["cudnn", "fa3", "fa4", "fa2"]
options, sections = sections_of("--preset=sm_90a", "--only=grid,scores", "--peers=fa4,cudnn")
assert {peer for section in sections for peer in section.peers} == {"cudnn", "fa4"}
assert {peer for section in gpu_presets.remove_peers(sections, {"fa4": "why"}) for peer in section.peers} == {"cudnn"}
assert gpu_presets.parse_variant("rows=128,leave_out=a+b") == {"rows": 128, "leave_out": "a,b"}

# Each program compiles, and what its tiles visit is known; peers are refused by a reason alone.
seen, besides = {}, {}
for preset in gpu_presets.PRESETS:
    for section in gpu_presets.PRESETS[preset]:
        for d, n, name in section.cells():
            case, heads = CASES[name], 2048 // d
            for peer in section.peers:
                assert (not refusal(peer, case) or name in gpu_gallery.GALLERY
                        or peer in ("fa3", "fa4") and name in ("softcap", "alibi", "document"))
            key = (preset, d, name, section.lse)
            if section.base:
                besides.setdefault((d, n, name), []).append(section)
            elif key not in seen:
                seen[key] = estimate.visited(
                    compiler, program(case, d, section.lse), preset, "NVIDIA H200",
                    (2, heads, case.key_heads(heads), 8192, 8192), {}, 4 * 2 * heads * case.visible(8192) * case.pair_size(d))
                # Documents are data: the loop's bounds are not known before the launch.
                if name == "document":
                    assert seen[key] is None, (key, seen[key])
                elif name in gpu_gallery.GALLERY:
                    assert seen[key] is None or 1 <= seen[key] < 16, (key, seen[key])
                else:
                    assert 1 <= seen[key] < 1.5, (key, seen[key])
assert seen["sm_90a", 128, "window", True] > seen["sm_90a", 128, "causal", True] > 1.01

# Masks that are data stand beside one case, which is measured at the same size; what they visit is counted from their lengths.
ratios = {}
for (d, n, name), sections in besides.items():
    case = CASES[name]
    assert {section.backward for section in sections} == {False, True}, name
    assert not any(refusal(peer, case) for section in sections for peer in section.peers), name
    for section in sections:
        assert (d, n, section.base) in besides
        if not case.lengths and not case.visits:
            assert name.endswith("window-128") or section.name.endswith("holes")
            continue
        each = len(case.lengths(n)) if case.packed else 1
        tiles = estimate.block_and_step(compiler, program(case, d, True), "sm_90a", "NVIDIA H200",
                                        (each, 16, 16, n // each, n // each), {}, section.backward)
        ratios[name, d, n, section.backward] = gpu_cases.visits(case, n, *tiles, section.backward) / case.visible(n)
assert all(1 <= ratio < 1.7 for ratio in ratios.values()), ratios
assert cells["limits", True, 128, 8192, "limits_documents"].base == "causal"
assert ratios["limits_causal", 128, 8192, False] == ratios["causal", 128, 8192, False] == 1.015625
assert ratios["packed-64", 128, 16384, False] > ratios["packed-12", 128, 16384, False] > ratios["causal", 128, 16384, False]
assert ratios["documents-12", 128, 16384, True] > ratios["documents-12", 128, 16384, False], "of whole blocks"
# Tiles of 192 x 80, as docs/performance.md counts them: by warpgroups, and by blocks.
assert [round(gpu_cases.visits(CASES["documents-8"], 8192, rows, 80, False) / CASES["documents-8"].visible(8192), 2)
        for rows in (64, 192)] == [1.19, 1.46]
assert [max(gpu_masks.SETS[name](16384)) for name in ("12", "12-equal", "64", "long")] == [4331, 1366, 1295, 8192]
assert all(sum(lengths(n)) == n for lengths in gpu_masks.SETS.values() for n in (777, 16384))
assert [CASES["blocks-%s" % part].visible(16384) / 16384**2 for part in ("0.10", "0.25", "0.50")] == [13 / 128, 0.25, 0.5]
assert CASES["window-128"].key_heads(CASES["window-128"].heads) == 8

assert refusal("cudnn", CASES["tanh"]) and refusal("cudnn", CASES["dropout"]) and refusal("flex", CASES["dropout"])
assert CASES["gqa"].key_heads(32) == 4 and CASES["gqa"].key_heads(8) == 1 and CASES["full"].key_heads(8) == 8

# Like is compared with like: where our tanh is the approximate one, and only there, theirs is.
scores = lambda name, *tanh: CASES[name].score({}, *tanh)(Score(60.0), 0, 0, 0, 0)


class Score(float):
    def __truediv__(self, other):
        return Score(float(self) / other)

    def tanh(self):
        return 0.5


for name, case in gpu_cases.CASES.items():
    assert case.approximate == ("afn" in case.text), name
    assert not case.approximate or scores(name, lambda x: x / 4) == 15.0 and case.flash == {"softcap": 30.0}
assert scores("softcap") == scores("tanh") == 15.0 and CASES["softcap"].flash is None

# A budget: what takes longer than expected leaves out the last cells.
options, sections = sections_of("--preset=sm_90a", "--only=shares", "--seconds=60")
budget, (section,) = gpu_presets.Budget(options), sections
each = budget.cell_seconds(section, 64, "full")
assert 0.9 < each < 3, each
assert budget.allows(section, 64, "full", 60 - each - 0.01) and not budget.allows(section, 64, "full", 60 - each + 0.01)
budget.add(section, 64, "full", 3 * each)
assert budget.allows(section, 64, "full", 60 - 3 * each - 0.01)
assert not budget.allows(section, 64, "full", 60 - 3 * each + 0.01)
budget.add(section, 64, "full", 0)
assert budget.allows(section, 64, "full", 60 - 1.5 * each - 0.01)
budget.options.seconds = None
assert budget.allows(section, 64, "full", 1e9)
# FlexAttention compiles each cell, FlashAttention-4 each head dimension and case once; --against doubles ours.
options, (section,) = sections_of("--d=64", "--n=512,1024", "--case=full", "--peers=fa4,flex", "--bursts")
budget = gpu_presets.Budget(options)
first = budget.cell_seconds(section, 64, "full")
budget.add(section, 64, "full", first)
assert abs(first - budget.cell_seconds(section, 64, "full") - gpu_presets.COMPILE_SECONDS["fa4"]) < 1e-9
options.against = "before/libfa.so"
assert 0.9 < budget.cell_seconds(section, 64, "full") - (first - gpu_presets.COMPILE_SECONDS["fa4"]) < 1.2
lines, total = gpu_presets.Budget(options).plan([section])
assert len(lines) == 3 and abs(sum(float(line.split()[1]) for line in lines[:-1]) - total) < 2, lines

# gpu_compare.py itself says what it lacks.
try:
    import gpu_compare  # noqa: F401
except SystemExit as error:
    assert "pip install torch" in str(error)
else:
    raise AssertionError("gpu_compare.py takes no PyTorch for one")
