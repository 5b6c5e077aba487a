"""check_dropout.py FILE SEED OFFSET THRESHOLD: sees that FILE holds what dropout keeps, by docs/semantics.md."""

import json
import struct
import sys

MASK = 0xFFFFFFFF


def byte(seed, offset, b, h, i, j):
    counter = [(i // 16) * 8 + i % 8, (j // 32) * 4 + (j % 8) // 2, b << 12 | h, offset & MASK]
    key = [seed & MASK, ((seed >> 32) + (offset >> 32)) & MASK]
    for _ in range(7):
        x, y = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [y >> 32 ^ counter[1] ^ key[0], y & MASK, x >> 32 ^ counter[3] ^ key[1], x & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    number = 8 * ((i // 8) % 2) + 4 * (j % 2) + (j // 8) % 4
    return counter[number // 4] >> 8 * (number % 4) & 0xFF


def check(file, seed, offset, threshold):
    contents = open(file, "rb").read()
    size, = struct.unpack("<Q", contents[:8])
    header = json.loads(contents[8:8 + size])
    keep = header["keep"]
    data = contents[8 + size:]
    batch, heads, rows, keys = keep["shape"]
    assert keep["dtype"] == "BOOL" and len(data) == batch * heads * rows * keys, keep
    expected = bytes(byte(seed, offset, b, h, i, j) >= threshold for b in range(batch) for h in range(heads)
                     for i in range(rows) for j in range(keys))
    assert data == expected, "the mask differs"
    print("kept %d of %d" % (sum(data), len(data)))


if __name__ == "__main__":
    check(sys.argv[1], *(int(x, 0) for x in sys.argv[2:]))
