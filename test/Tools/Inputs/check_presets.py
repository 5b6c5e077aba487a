"""Checks bench/gpu_presets.py, without PyTorch: check_presets.py BENCH-FOLDER."""
import shutil
import subprocess
import sys

folder = sys.argv[1]
sys.path.insert(0, folder)
sys.modules["torch"] = None  # importing it fails, also where it is installed
import estimate
import gpu_presets
from gpu_cases import CASES, program, refusal

compiler = shutil.which("fa-opt")


def sections_of(*arguments, target="sm_90a"):
    options = gpu_presets.parse_options(["libfa.so", *arguments])
    return options, gpu_presets.make_sections(options, target, compiler)


# What docs/performance.md shows of Hopper.
options, sections = sections_of("--preset=sm_90a")
assert options.target == "sm_90a" and options.estimate and options.repeats == 15
cells = {(section.name, section.lse, d, n, name): section for section in sections
         for d, n, name in section.cells()}
for d in (64, 128, 256):
    for name in ("full", "causal"):
        for n in (512, 1024, 2048, 4096, 8192, 16384):
            assert cells["grid", True, d, n, name].peers == ["cudnn", "fa2"]
        for n in (8192, 16384):
            assert cells["lse-off", False, d, n, name].peers == ["cudnn"]
        assert cells["ablation", True, d, 8192, name].ablation
for name in ("full", "tanh", "alibi", "softcap", "window", "document", "dropout"):
    section = cells["scores", True, 128, 8192, name]
    assert "flex" in section.peers and not section.beside
    if name != "full":
        section = cells["shares", True, 128, 8192, name]
        assert section.peers == [] and section.beside == "full"
for name in ("causal", "window"):
    section = cells["window", True, 128, 65536, name]
    assert section.peers == [] and section.beside == "causal"

# The passes are those of the compiler, for the target, and the first rival has all of them.
for preset, some, other in ("sm_90a", "tile-defer-sums", "cse"), ("sm_80", "tile-pipeline", "tile-defer-sums"):
    section = [s for s in sections_of("--preset=" + preset, target=preset)[1] if s.ablation][0]
    passes = estimate.optional_passes(compiler, preset)
    assert section.variant == ["", *("leave_out=" + name for name in passes)]
    assert some in passes and other not in passes
    error = subprocess.run([compiler, "-", "--target=" + preset, "--leave-out=cse"], input="",
                           capture_output=True, text=True).stderr
    assert passes == error.split("expected one of ")[1].strip().split(", ")
    assert all(section.variant == [""] for section in gpu_presets.PRESETS[preset]), "presets stay as they are"

# Parts of a preset, and what is no preset.
assert {s.name for s in sections_of("--preset=sm_90a", "--only=window,scores")[1]} == {"window", "scores"}
options, (section,) = sections_of("--d=128", "--n=512", "--case=tanh", "--peers=flex", "--variant=rows=128")
assert options.target == "cuda" and section.name == "scores" and section.variant == ["", "rows=128"]
options, (section,) = sections_of("--no-lse")
assert section.name == "lse-off" and not section.lse and section.peers == ["cudnn", "fa2"]
assert gpu_presets.parse_variant("rows=128,leave_out=a+b") == {"rows": 128, "leave_out": "a,b"}

# Each program compiles, and what its tiles visit is known; peers are refused by a reason alone.
seen = {}
for preset in gpu_presets.PRESETS:
    for section in gpu_presets.PRESETS[preset]:
        for d, n, name in section.cells():
            case, heads = CASES[name], 2048 // d
            for peer in section.peers:
                assert not refusal(peer, case) or (peer, name) == ("flex", "dropout")
            key = (preset, d, name, section.lse)
            if key not in seen:
                seen[key] = estimate.visited(
                    compiler, program(case, d, section.lse), preset, "NVIDIA H200",
                    (2, heads, heads, 8192, 8192), {}, 4 * 2 * heads * case.visible(8192) * d)
                assert 1 <= seen[key] < (1.5 if name != "document" else 9), (key, seen[key])
assert seen["sm_90a", 128, "window", True] > seen["sm_90a", 128, "causal", True] > 1.01
assert refusal("cudnn", CASES["tanh"]) and refusal("cudnn", CASES["dropout"])

# gpu_compare.py itself says what it lacks.
try:
    import gpu_compare  # noqa: F401
except SystemExit as error:
    assert "pip install torch" in str(error)
else:
    raise AssertionError("gpu_compare.py takes no PyTorch for one")
