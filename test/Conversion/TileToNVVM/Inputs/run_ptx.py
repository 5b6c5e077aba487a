"""Runs PTX without loops, for all threads of each block at once.

    run(text, name, blocks, threads, parameters) returns {address: 32 bits} of what is stored to global memory.

Of PTX it knows what kernels of random bits come to; anything else is an error. 64 bits of a thread are
a Python integer, lanes exchange by movmatrix alone.
"""

import re


def sign(value, bits):
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def bits_of(op):
    return int(re.search(r"\.[bsuf](\d+)", op).group(1))


def transpose(values, lane, warp):
    """movmatrix: lane l holds elements 2 (l % 4) and the next one of row l / 4."""
    result = 0
    for half in (0, 1):
        row, column = 2 * (lane % 4) + half, lane // 4
        result |= (values[32 * warp + 4 * row + column // 2] >> (16 * (column % 2)) & 0xFFFF) << (16 * half)
    return result


def permute(low, high, selector):
    result = 0
    for byte in range(4):
        digit = selector >> (4 * byte) & 15
        value = (high << 32 | low) >> (8 * (digit & 7)) & 255
        result |= (255 * (value >> 7) if digit & 8 else value) << (8 * byte)
    return result


def evaluate(op, x):
    kind = op.split(".")[0]
    bits = bits_of(op) if kind not in ("and", "or", "xor", "not") or "pred" not in op else 1
    mask = (1 << bits) - 1
    if kind == "mul" and ".wide" in op:
        return (x[0] & mask) * (x[1] & mask)
    if kind in ("add", "sub", "mul"):
        return {"add": x[0] + x[1], "sub": x[0] - x[1], "mul": x[0] * x[1]}[kind] & mask
    if kind in ("min", "max"):
        return {"min": min, "max": max}[kind](sign(v & mask, bits) if ".s" in op else v & mask for v in x) & mask
    if kind == "mad":
        return (x[0] * x[1] + x[2]) & mask
    if kind in ("and", "or", "xor"):
        return {"and": x[0] & x[1], "or": x[0] | x[1], "xor": x[0] ^ x[1]}[kind] & mask
    if kind == "neg":
        return -x[0] & mask
    if kind == "not":
        return ~x[0] & mask
    if kind == "shl":
        return x[0] << x[1] & mask if x[1] < bits else 0
    if kind == "shr":
        return (sign(x[0], bits) if ".s" in op else x[0]) >> min(x[1], bits) & mask
    if kind == "bfe":
        value = x[0] >> x[1] & ((1 << x[2]) - 1)
        return (sign(value, x[2]) if ".s" in op else value) & mask
    if kind in ("mov", "cvt", "ld"):
        to, *source = re.findall(r"\.[bsu](\d+)", op)
        value = x[0] & ((1 << int(source[0] if source else to)) - 1)
        value = sign(value, int(source[0])) if source and re.search(r"\.s\d+$", op) else value
        return value & ((1 << int(to)) - 1)
    if kind == "setp":
        a, b = (sign(v & mask, bits) if ".s" in op else v & mask for v in x)
        return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op.split(".")[1]])
    if kind == "selp":
        return x[0] if x[2] else x[1]
    if kind == "prmt":
        return permute(*x)
    if kind == "lop3":
        table = x[3]
        return sum((table >> ((x[0] >> i & 1) * 4 + (x[1] >> i & 1) * 2 + (x[2] >> i & 1)) & 1) << i for i in range(32))
    raise ValueError("unknown instruction: " + op)


def run(text, name, blocks, threads, parameters):
    start = text.index("{", text.index(".entry %s(" % name))
    body = text[start:text.index("\n}", start)]
    stored = {}
    for block in range(blocks):
        registers = [{"%tid.x": t, "%ctaid.x": block} for t in range(threads)]

        def value(mine, name):
            name = name.strip()
            if name.startswith("%"):
                return mine[name]
            if name.startswith("0f"):
                return int(name[2:], 16)
            return int(name, 0) & 0xFFFFFFFFFFFFFFFF

        for line in body.split("\n"):
            line = line.split("//")[0].strip()
            match = re.match(r"(?:@(!?)(%p\d+)\s+)?([a-z][a-z0-9_.]*)\s+(.*);$", line)
            if not match or line.startswith("."):
                if line not in ("", "{", "}", "ret;") and not line.startswith((".", "$")):
                    raise ValueError("unknown line: " + line)
                continue
            negated, predicate, op, rest = match.groups()
            operands = [part.strip() for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,]+", rest) if part.strip()]
            if op.startswith("movmatrix"):
                values = [value(mine, operands[1]) for mine in registers]
                for t, mine in enumerate(registers):
                    mine[operands[0]] = transpose(values, t % 32, t // 32)
                continue
            for mine in registers:
                if predicate and bool(mine[predicate]) == bool(negated):
                    continue
                if op.startswith("ld.param"):
                    mine[operands[0]] = evaluate(op, [parameters[int(re.search(r"_param_(\d+)", operands[1]).group(1))]])
                elif op.startswith("st.global"):
                    base, _, offset = operands[0].strip("[]").partition("+")
                    stored[value(mine, base) + int(offset or 0)] = value(mine, operands[1]) & 0xFFFFFFFF
                elif operands[0].startswith("{"):
                    whole = value(mine, operands[1])
                    for place, name in enumerate(operands[0].strip("{}").split(",")):
                        mine[name.strip()] = whole >> (32 * place) & 0xFFFFFFFF
                elif len(operands) > 1 and operands[1].startswith("{"):
                    low, high = (value(mine, name) for name in operands[1].strip("{}").split(","))
                    mine[operands[0]] = high << 32 | low
                else:
                    mine[operands[0]] = evaluate(op, [value(mine, name) for name in operands[1:]])
    return stored
