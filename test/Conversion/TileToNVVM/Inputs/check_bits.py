"""check_bits.py FILE.ptx KERNEL KEYS: runs a kernel of random-bits-transposed.mlir, with blocks of so many keys, and sees
that it stores which pairs are kept, by docs/semantics.md: keys x rows, 1.0 or 0.0 each."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../../Tools/Inputs"))
from check_dropout import byte  # noqa: E402
from run_ptx import run  # noqa: E402

KERNEL, BLOCK = sys.argv[2], int(sys.argv[3])
ROWS, KEYS, SEED, OFFSET, LIMIT, ONE = 64, 2 * BLOCK, 0x123456789ABCDEF0, 0x100000003, 77, 0x3F800000

stored = run(open(sys.argv[1]).read(), KERNEL, 8, 128, [SEED, OFFSET, LIMIT, 0, KEYS, ROWS, ROWS])
# The grid's ids are b, h and the block of rows; blocks of keys go by h, and the last b writes last.
for key in range(KEYS):
    for row in range(ROWS):
        kept = byte(SEED, OFFSET, 1, key // BLOCK, row, key) >= LIMIT
        assert stored[4 * (key * ROWS + row)] == (ONE if kept else 0), (key, row)
print("kept %d of %d" % (sum(value == ONE for value in stored.values()), len(stored)))
