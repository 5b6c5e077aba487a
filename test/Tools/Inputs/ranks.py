#===- ranks.py - safetensors with a tensor of another rank -------------------===#
#
# Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
"""ranks.py PREFIX: writes PREFIX.q0 (q has rank 0) and so on."""

import json
import math
import struct
import sys

RIGHT = [1, 1, 64, 64]
SHAPES = [[], [64], [1, 64], [1, 64, 64], RIGHT, [1, *RIGHT]]

for wrong in "qkv":
    for rank in (0, 1, 3, 5):
        header, size = {}, 0
        for name in "qkv":
            shape = SHAPES[rank] if name == wrong else RIGHT
            end = size + 2 * math.prod(shape)
            header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [size, end]}
            size = end
        text = json.dumps(header).encode()
        with open(f"{sys.argv[1]}.{wrong}{rank}", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + bytes(size))
