"""Checks that documents say what was measured: check_results.py SOURCE-FOLDER. Each bench/results/*.json has its
tables in docs/performance*.md, and the one of sm_90a its plot in docs/performance.svg."""
import glob
import os
import subprocess
import sys

root = sys.argv[1]
tables = [sys.executable, os.path.join(root, "bench", "tables.py")]
documents = sorted(glob.glob(os.path.join(root, "docs", "performance*.md")))
picture = os.path.join(root, "docs", "performance.svg")
text = "".join(open(document).read() for document in documents)
results = {}
for path in sorted(glob.glob(os.path.join(root, "bench", "results", "*.json"))):
    # NAME.json and NAME-*.json are of the target NAME.
    results.setdefault(os.path.basename(path)[:-len(".json")].split("-")[0], []).append(path)
for target, paths in results.items():
    assert "<!-- begin %s " % target in text, "docs/performance*.md have no table of " + target
    for document in documents:
        subprocess.run([*tables, *paths, "--check=" + document], check=True)
if os.path.exists(picture):
    assert "sm_90a" in results, "docs/performance.svg is of no committed measurement"
    sys.path.insert(0, os.path.join(root, "bench"))
    import json
    import plot
    files = []
    for path in results["sm_90a"]:
        with open(path) as file:
            files.append(json.load(file))
    with open(picture) as file:
        assert file.read() == plot.draw(files), "docs/performance.svg is old; make it with tables.py --plot"
