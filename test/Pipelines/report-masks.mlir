// What tiles visit of a mask that divides positions: bounds of loops by shifts, products and divisions are known.

// RUN: fa-opt %S/../../examples/gallery/chunked.mlir --dtype=bf16 --target=sm_90a --emit=report --report-json \
// RUN:   --shape=1,1,1,8192,8192 > %t.json
// Tiles of 128 x 128 in chunks of 256: the first 128 rows of a chunk visit one, the others two.
// RUN: %python %S/Inputs/check_report.py %t.json "not c['depends_on_data']" "c['visited_flops'] == 32 * 3 * 128 * 128 * 4 * 64" \
// RUN:   "abs(c['visible_flops'] / (32 * 256 * 257 / 2 * 4 * 64) - 1) < 1e-2"

// Pixels of rows of 32, 2 of which a tile of 64 rows has: with 3 rows on either side that are 8, and 5 tiles of 64
// keys; 3 at either end, and 4 beside these.
// RUN: fa-opt %S/../../examples/gallery/neighbourhood.mlir --dtype=bf16 --target=sm_90a --emit=report --report-json \
// RUN:   --shape=1,1,1,8192,8192 > %t.json
// Each pixel sees 7 x 7, fewer at the borders of the 32 x 256.
// RUN: %python %S/Inputs/check_report.py %t.json "not c['depends_on_data']" "c['visited_flops'] == (128 * 5 - 6) * 64 * 64 * 4 * 64" \
// RUN:   "abs(c['visible_flops'] / ((7 * 32 - 12) * (7 * 256 - 12) * 4 * 64) - 1) < 3e-2"
