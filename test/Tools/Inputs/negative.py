#===- negative.py - inputs whose scores are negative along tiles -------------===#
#
# Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
"""negative.py FILE ROWS KEYS: writes q, k, v of bf16, 64 columns, as safetensors.

Scores of odd rows are about 8 times the first column of k; those of even rows have the other
sign. So in most tiles of keys all scores of a row are negative.
"""

import json
import random
import struct
import sys

COLUMNS = 64
OF_KEYS = [-40, -64, -5, -5, 1, -30, 12, -90]

path, rows, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(0)


def tensor(count, first):
    """bf16 by truncation."""
    data = bytearray()
    for i in range(count):
        for column in range(COLUMNS):
            value = first(i) if column == 0 and first else random.gauss(0, 1)
            data += struct.pack("<f", value)[2:]
    return bytes(data)


parts = {"q": (rows, tensor(rows, lambda i: 8 if i % 2 else -8)),
         "k": (keys, tensor(keys, lambda j: OF_KEYS[j * len(OF_KEYS) // keys])),
         "v": (keys, tensor(keys, None))}
header, at = {}, 0
for name, (count, data) in parts.items():
    header[name] = {"dtype": "BF16", "shape": [1, 1, count, COLUMNS], "data_offsets": [at, at + len(data)]}
    at += len(data)
text = json.dumps(header).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in parts.values()))
