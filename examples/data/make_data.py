#!/usr/bin/env python3
"""Makes causal.safetensors: q, k, v of the first attention layer of a small
causal transformer that was trained on real text, for a passage it never saw.

Model   byte-level decoder: 3 layers, width 256, 4 heads of 64, pre-norm
        (RMSNorm), rotary positions, trained here from scratch (Adam, 256
        bytes of context). q and k are taken after the rotation, so that

            o = softmax(causal_mask(q k^T / sqrt(64))) v

        is what the layer computes; no other scale or bias is needed.
Text    Jane Austen's novels. She died in 1817, so the text is in the public
        domain everywhere. Training uses five of them; the sixth, "Pride and
        Prejudice", is held out: its first sentences are the passage.
Source  the text is read from Debian's package r-cran-janeaustenr 1.0.0 (the
        package itself, not the text, is under the MIT licence). R is not
        needed: this script reads R's data file, and unpacking the package
        is enough.
Output  safetensors, F16, three tensors of shape (1, 4, 239, 64), row-major:
        batch, head, position, head dimension. The passage and the losses are
        in the file's metadata.

How to run (Debian, Python 3.11 or later; about 7 minutes on one core):

    apt-get download r-cran-janeaustenr
    dpkg-deb -x r-cran-janeaustenr_*.deb austen
    pip install "jax[cpu]==0.7.2" "numpy==2.4.6"
    python3 make_data.py --text austen/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb

    python3 make_data.py --check        # only reads the file and reports on it

Every seed is fixed and the script keeps to one CPU, so the same packages on the
same kind of CPU make the same bytes again; another kind rounds differently,
and training turns that into slightly different tensors.
"""
import argparse
import json
import math
import os
import pathlib
import struct
import time
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_PATH = "/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"

LAYERS, WIDTH, HEADS, HEAD_DIM, HIDDEN = 3, 256, 4, 64, 512
CONTEXT, BATCH, WARMUP, PEAK_LR = 256, 8, 50, 2e-3
SEED = 1813          # the year of "Pride and Prejudice"
SAVED_LAYER = 0      # the first: rows of the later ones are nearly one-hot
PASSAGE = 239        # positions saved; odd on purpose
PASSAGE_START = b"It is a truth universally acknowledged"


# --- text -------------------------------------------------------------------

def read_novels(path):
    """The novels in R's lazy-load database: records of a big-endian length
    and a zlib stream, each a serialised character vector (XDR)."""
    data, novels = pathlib.Path(path).read_bytes(), []
    while data:
        stream = zlib.decompressobj()
        novels.append(read_character_vector(stream.decompress(data[4:])))
        data = stream.unused_data
    return novels


def read_character_vector(blob):
    """The strings of a serialised STRSXP, joined as lines."""
    assert blob[:2] == b"X\n", "not R's XDR serialisation"
    version, = struct.unpack_from(">i", blob, 2)
    at = 14
    if version == 3:  # version 3 names its native encoding
        length, = struct.unpack_from(">i", blob, at)
        at += 4 + length
    flags, count = struct.unpack_from(">ii", blob, at)
    assert flags & 0xFF == 16, "not a character vector"
    at, lines = at + 8, []
    for _ in range(count):
        flags, length = struct.unpack_from(">ii", blob, at)
        assert flags & 0xFF == 9 and length >= 0, "not a string"
        lines.append(blob[at + 8:at + 8 + length])
        at += 8 + length
    return b"\n".join(lines)


def load_text(path):
    """(bytes to train on, held-out novel), both as symbol numbers, and the
    passage's place in the held-out novel."""
    novels = read_novels(path)
    held_out = [n for n in novels if PASSAGE_START in n]
    assert len(novels) == 6 and len(held_out) == 1, "unexpected data file"
    train = b"\n".join(n for n in novels if n is not held_out[0])
    symbols = np.unique(np.frombuffer(train + held_out[0], np.uint8))
    number = np.zeros(256, np.int32)
    number[symbols] = np.arange(len(symbols))
    encode = lambda text: number[np.frombuffer(text, np.uint8)]
    start = held_out[0].index(PASSAGE_START)
    passage = held_out[0][start:start + PASSAGE].decode()
    return encode(train), encode(held_out[0]), start, passage, len(symbols)


# --- model ------------------------------------------------------------------

def init(rng, vocabulary):
    def normal(*shape):
        scale = shape[0] ** -0.5
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    blocks = [dict(
        norm1=np.ones(WIDTH, np.float32), norm2=np.ones(WIDTH, np.float32),
        wq=normal(WIDTH, WIDTH), wk=normal(WIDTH, WIDTH),
        wv=normal(WIDTH, WIDTH), wo=normal(WIDTH, WIDTH) / LAYERS,
        up=normal(WIDTH, HIDDEN), down=normal(HIDDEN, WIDTH) / LAYERS,
    ) for _ in range(LAYERS)]
    embed = (0.5 * rng.standard_normal((vocabulary, WIDTH))).astype(np.float32)
    return dict(embed=embed, blocks=blocks, norm=np.ones(WIDTH, np.float32),
                head=0.1 * normal(WIDTH, vocabulary))


def make_model():
    """jax is imported here: --check needs numpy alone."""
    # One CPU, so one thread: the order of every sum is then fixed.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    def rms_norm(x, gain):
        return x * gain * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)

    def rotate(x):  # (B, H, S, D)
        half = HEAD_DIM // 2
        freq = 1e4 ** (-np.arange(half) / half)
        angle = np.arange(x.shape[2])[:, None] * freq
        cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    def qkv(block, x):
        y = rms_norm(x, block["norm1"])
        split = lambda w: (y @ w).reshape(*y.shape[:2], HEADS, HEAD_DIM).swapaxes(1, 2)
        return rotate(split(block["wq"])), rotate(split(block["wk"])), split(block["wv"])

    def forward(params, tokens):
        """Logits, and q, k, v of every layer."""
        x, saved = params["embed"][tokens], []
        s = tokens.shape[1]
        mask = np.tril(np.ones((s, s), bool))
        for block in params["blocks"]:
            q, k, v = qkv(block, x)
            saved.append((q, k, v))
            scores = jnp.where(mask, q @ k.swapaxes(2, 3) * HEAD_DIM ** -0.5, -1e30)
            o = (jax.nn.softmax(scores, -1) @ v).swapaxes(1, 2).reshape(x.shape)
            x = x + o @ block["wo"]
            x = x + jax.nn.relu(rms_norm(x, block["norm2"]) @ block["up"]) @ block["down"]
        return rms_norm(x, params["norm"]) @ params["head"], saved

    def loss(params, window):
        logits, _ = forward(params, window[:, :-1])
        chosen = jnp.take_along_axis(logits, window[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)

    def step(params, m, v, window, t, lr):
        value, grad = jax.value_and_grad(loss)(params, window)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grad)))
        grad = jax.tree.map(lambda g: g / jnp.maximum(1.0, norm), grad)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grad)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grad)
        c1, c2 = 1 - 0.9 ** t, 1 - 0.99 ** t
        params = jax.tree.map(
            lambda p, m, v: p - lr * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, m, v)
        return params, m, v, value

    return (jax.jit(forward), jax.jit(loss),
            jax.jit(step, donate_argnums=(0, 1, 2)), jax.tree.map)


def train(args):
    text, held_out, start, passage, vocabulary = load_text(args.text)
    rng = np.random.default_rng(SEED)
    forward, loss, step, tree_map = make_model()

    params = init(rng, vocabulary)
    m, v = tree_map(np.zeros_like, params), tree_map(np.zeros_like, params)
    windows = lambda source, at: np.stack([source[i:i + CONTEXT + 1] for i in at])
    test = windows(held_out, np.linspace(start, len(held_out) - CONTEXT - 1, 32).astype(int))
    held_out_loss = lambda: float(loss(params, test))

    before = held_out_loss()
    print(f"{len(text)} bytes of text, {vocabulary} symbols, loss in nats per byte")
    print(f"step    0  held-out {before:.3f}", flush=True)
    began = time.time()
    for t in range(1, args.steps + 1):
        at = rng.integers(0, len(text) - CONTEXT, BATCH)
        decay = 0.5 * (1 + math.cos(math.pi * t / args.steps))
        lr = PEAK_LR * min(1, t / WARMUP) * (0.02 + 0.98 * decay)
        params, m, v, value = step(params, m, v, windows(text, at),
                                   np.float32(t), np.float32(lr))
        if t % 100 == 0 or t == args.steps:
            print(f"step {t:4}  held-out {held_out_loss():.3f}  training "
                  f"{float(value):.3f}  {time.time() - began:.0f} s", flush=True)
    after = held_out_loss()

    _, saved = forward(params, held_out[None, start:start + PASSAGE])
    for layer, tensors in enumerate(saved):
        report(f"layer {layer}", *(np.asarray(x, np.float16) for x in tensors))
    tensors = dict(zip("qkv", (np.asarray(x, np.float16) for x in saved[SAVED_LAYER])))
    write_safetensors(args.out, tensors, dict(
        made_by="make_data.py",
        model=f"byte-level causal transformer, {LAYERS} layers, {HEADS} heads of "
              f"{HEAD_DIM}; layer {SAVED_LAYER}, counted from 0",
        scale="1/8 (1/sqrt(64)), causal mask, q and k after rotary positions",
        text='Jane Austen, "Pride and Prejudice", 1813, public domain: ' + passage,
        loss=f"held-out, nats per byte: {before:.3f} before and {after:.3f} after "
             f"{args.steps} steps"))


# --- file -------------------------------------------------------------------

def write_safetensors(path, tensors, metadata):
    header, at = {"__metadata__": metadata}, 0
    for name, x in tensors.items():
        header[name] = dict(dtype="F16", shape=list(x.shape), data_offsets=[at, at + x.nbytes])
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            file.write(np.ascontiguousarray(x, "<f2").tobytes())


def read_safetensors(path):
    blob = pathlib.Path(path).read_bytes()
    length, = struct.unpack_from("<Q", blob)
    header, data = json.loads(blob[8:8 + length]), blob[8 + length:]
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F16", entry
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], "<f2").reshape(entry["shape"])
    return tensors, metadata


def report(title, q, k, v):
    """How far from trivial the attention is: causal, in float64."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    s = q.shape[2]
    mask = np.tril(np.ones((s, s), bool))
    scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3])
    masked = np.where(mask, scores, -np.inf)
    e = np.exp(masked - masked.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(-1)
    rms = lambda x: math.sqrt(np.mean(x * x))
    uniform = np.log(np.arange(1, s + 1)).mean()
    print(f"{title}: rms q {rms(q):.2f} k {rms(k):.2f} v {rms(v):.2f} o {rms(p @ v):.2f}, "
          f"max |q|,|k|,|v| {max(abs(x).max() for x in (q, k, v)):.1f}; mean entropy of a "
          f"row in nats (uniform: {uniform:.2f}):")
    for h in range(q.shape[1]):
        seen = scores[:, h][:, mask]
        print(f"  head {h}: scores rms {rms(seen):.2f}, from {seen.min():.1f} to "
              f"{seen.max():.1f}; entropy {entropy[:, h].mean():.2f}, last row "
              f"{entropy[0, h, -1]:.2f}; mean of the rows' largest weight "
              f"{p[:, h].max(-1).mean():.2f}")


def check(path):
    tensors, metadata = read_safetensors(path)
    for name, x in tensors.items():
        assert np.isfinite(x).all(), name
        print(name, x.dtype, x.shape)
    for name, value in metadata.items():
        print(f"{name}: {value}")
    report(os.path.basename(path), tensors["q"], tensors["k"], tensors["v"])


def main():
    parser = argparse.ArgumentParser(description="Makes causal.safetensors.")
    parser.add_argument("--text", default=DEBIAN_PATH,
                        help="Rdata.rdb of Debian's r-cran-janeaustenr")
    parser.add_argument("--out", default=HERE / "causal.safetensors")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--check", action="store_true",
                        help="only read the file and report on it")
    args = parser.parse_args()
    if not args.check:
        train(args)
    check(args.out)


if __name__ == "__main__":
    main()
