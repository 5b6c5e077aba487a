#===- ranks.py - safetensors with a tensor of another rank -------------------===#
#
# Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
"""ranks.py PREFIX [F32]: writes PREFIX.q0 (q has rank 0) and so on, of f16 or of that."""

import json
import math
import struct
import sys

RIGHT = [1, 1, 64, 64]
DTYPE = sys.argv[2] if len(sys.argv) > 2 else "F16"
BYTES = {"F16": 2, "F32": 4}
SHAPES = [[], [64], [1, 64], [1, 64, 64], RIGHT, [1, *RIGHT]]

for wrong in "qkv":
    for rank in (0, 1, 3, 4, 5):
        header, size = {}, 0
        for name in "qkv":
            shape = SHAPES[rank] if name == wrong else RIGHT
            end = size + BYTES[DTYPE] * math.prod(shape)
            header[name] = {"dtype": DTYPE, "shape": shape, "data_offsets": [size, end]}
            size = end
        text = json.dumps(header).encode()
        with open(f"{sys.argv[1]}.{wrong}{rank}", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + bytes(size))
