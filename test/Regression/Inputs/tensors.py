"""Write tensors of f32 to a safetensors file: OUT name=SIZES[:VALUES][@INDEX:VALUE...] ...

Without values they are drawn, N(0,1); few values repeat; an index, in row-major order, has a value of its own."""

import json
import random
import struct
import sys

random.seed(1)
header, data = {}, b""
for name, _, text in (argument.partition("=") for argument in sys.argv[2:]):
    what, *changes = text.split("@")
    sizes, _, values = what.partition(":")
    shape = [int(size) for size in sizes.split(",")]
    count = 1
    for size in shape:
        count *= size
    numbers = [float(value) for value in values.split(",")] if values else []
    tensor = [numbers[i % len(numbers)] if numbers else random.gauss(0, 1) for i in range(count)]
    for change in changes:
        index, _, value = change.partition(":")
        tensor[int(index)] = float(value)
    begin = len(data)
    data += struct.pack("<%df" % count, *tensor)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
