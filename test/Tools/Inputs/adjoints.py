#===- adjoints.py - safetensors with inputs of attention and dO --------------===#
#
# Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
"""adjoints.py FILE: writes q, k, v and do of f32, drawn, for 2 query heads on 1 key head."""

import json
import math
import random
import struct
import sys

SHAPES = {"q": [1, 2, 33, 64], "k": [1, 1, 40, 64], "v": [1, 1, 40, 64], "do": [1, 2, 33, 64]}

random.seed(1)
header, data = {}, b""
for name, shape in SHAPES.items():
    count = math.prod(shape)
    values = struct.pack(f"<{count}f", *(random.gauss(0, 1) for _ in range(count)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
