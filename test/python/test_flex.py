"""flex_attention beside FlexAttention's eager result; the table of translations; what has none."""

import inspect
import math
import os
import random
import sys
import tempfile
import types
import unittest
from concurrent.futures import ThreadPoolExecutor

from support import attend, attend_flexibly, check, compile_at_once, count_programs, devices, needs_torch, skip_without, torch

if torch:
    import fa_mlir
    from fa_mlir import _translate
    from fa_mlir._flex import _CAN_LOOK as CAN_LOOK
    from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention, or_masks


def make_functions(length, device):
    """Return name -> (mask_mod, score_mod) of 4 heads and 2 sequences, and tensors for a length."""
    random = torch.Generator(device).manual_seed(9)
    integers = lambda most, *shape: torch.randint(0, most, shape, device=device, generator=random)
    floats = lambda *shape: torch.randn(*shape, device=device, generator=random)
    ids = integers(4, 2, length).sort(1).values
    slopes, bias, keep = floats(4).abs(), floats(2, 4, length, length).half(), floats(2, length) > -0.5
    table, lengths, spans = floats(4, 1024), integers(length, 2), integers(length, 4) + 1
    offsets = torch.tensor([0, length // 3, length // 2, length], device=device)
    window = torch.tensor(length // 4, device=device)
    minus = torch.tensor(-float("inf"), device=device)
    causal = lambda b, h, q, k: q >= k
    packed = lambda b, h, q, k: sum(((q >= offsets[n]) & (k >= offsets[n])).to(torch.int32) -
                                    ((q >= offsets[n]) ^ (k >= offsets[n])).int() * 9 for n in range(3)) > 0
    within = lambda b, h, q, k: (q - k).abs() <= 11
    masks = {
        "causal": causal, "window": within, "tensor window": lambda b, h, q, k: (q - k < window) & (q >= k),
        "prefix": lambda b, h, q, k: (k < lengths[b]) | (q >= k),
        "documents": lambda b, h, q, k: ids[b, q] == ids[b, k],
        "packed": packed, "padding": lambda b, h, q, k: keep[b, k] & keep[b][q],
        "dilated": lambda b, h, q, k: ((q - k) % 3 == 0) & (k <= q),
        "neighbourhood": lambda b, h, q, k: ((q // 8 - k // 8).abs() <= 1) & ((q % 8 - k % 8).abs() <= 2),
        "heads": lambda b, h, q, k: torch.where(h < 2, q - k < spans[h], k - q < spans[h]),
        "and": and_masks(causal, lambda b, h, q, k: ids[b, q] == ids[b, k]),
        "or": or_masks(within, lambda b, h, q, k: k < 4), "not": lambda b, h, q, k: ~torch.logical_or(q < k, k == h),
        "floats": lambda b, h, q, k: torch.floor(q * 0.37) >= k / 3,
    }
    scores = {
        "alibi": lambda s, b, h, q, k: s + slopes[h] * (k - q), "softcap": lambda s, b, h, q, k: 5 * torch.tanh(s / 5),
        "bias": lambda s, b, h, q, k: s + bias[b, h, q, k], "table": lambda s, b, h, q, k: s + table[h, q - k + 512],
        "where": lambda s, b, h, q, k: torch.where(q >= k, s, minus),
        "gated": lambda s, b, h, q, k: s * torch.sigmoid(s),
        "decay": lambda s, b, h, q, k: s - torch.log1p((q - k).abs().float()) * (h + 1) * 0.25,
        "clamped": lambda s, b, h, q, k: s.clamp(-1.5, 2) + torch.minimum(s, 0.1 * s) - s ** 2 * 0.01,
    }
    both = {"documents, softcap": (masks["documents"], scores["softcap"]),
            "heads, alibi": (masks["heads"], scores["alibi"])}
    return {**{name: (mask, None) for name, mask in masks.items()},
            **{name: (None, score) for name, score in scores.items()}, **both, **make_more(length, device)}


def make_more(length, device):
    """Return more of them, as users of FlexAttention have them."""
    random = torch.Generator(device).manual_seed(10)
    draw = lambda most, *shape: torch.randint(0, most, shape, device=device, generator=random)
    is_global, modality = draw(9, length) == 0, draw(3, 2, length).sort(1).values
    ancestors, doc = draw(2, length, length).bool(), draw(3, 2, length).sort(1).values
    starts = torch.stack([(doc < n).sum(1) for n in range(3)], 1)
    buckets, gain = torch.randn(32, 4, device=device, generator=random), torch.rand(4, device=device, generator=random)

    def global_tokens(b, h, q_idx, kv_idx):
        return is_global[q_idx] | is_global[kv_idx] | (torch.abs(q_idx - kv_idx) <= 4)

    def images(b, h, q_idx, kv_idx):
        same = modality[b, q_idx] == modality[b, kv_idx]
        return torch.logical_or(q_idx >= kv_idx, same & (modality[b, q_idx] > 0))

    def tree(b, h, q_idx, kv_idx):
        return ancestors[q_idx, kv_idx] | q_idx.eq(kv_idx)

    def hashed(b, h, q_idx, kv_idx):
        return ((q_idx * 7 + h) ^ (kv_idx * 13)) % 5 != 0

    def local_positions(b, h, q_idx, kv_idx):
        first, second = doc[b, q_idx], doc[b, kv_idx]
        return (first == second) & (q_idx - starts[b, first] >= (kv_idx - starts[b, second]) // 2 * 2)

    def chunks(b, h, q_idx, kv_idx):
        return (q_idx // 24 == kv_idx // 24) & (kv_idx <= q_idx)

    def t5(score, b, h, q_idx, kv_idx):
        distance = (kv_idx - q_idx).abs()
        far = 8 + (torch.log(distance.float().clamp(min=1) / 8) / 2.7725887 * 8).to(torch.int64)
        bucket = torch.where(distance < 8, distance, torch.clamp(far, max=15)) + torch.where(kv_idx > q_idx, 16, 0)
        return score + buckets[bucket, h]

    def gained(score, b, h, q_idx, kv_idx):
        return torch.tanh(score * gain[h]) * 3.0 - 0.01 * torch.sqrt((q_idx - kv_idx).abs() + 1.0)

    masks = (global_tokens, images, tree, hashed, local_positions, chunks)
    return {**{f.__name__: (f, None) for f in masks}, "t5": (None, t5), "gained": (chunks, gained)}


def attend_densely(q, k, v, mask, score):
    """Return output and lse with functions applied to every pair, for gradients: FlexAttention has none on CPUs, and
    elsewhere takes seconds to trace each."""
    # Older versions of PyTorch index by batched tensors in this mode only.
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    def spread(function, *first):
        for n, dims in enumerate(((0, None, None, None), (None, 0, None, None), (None, None, 0, None),
                                  (None, None, None, 0))[::-1]):
            function = torch.vmap(function, in_dims=((0,) * len(first)) + dims)
        with TransformGetItemToIndex():
            return function(*first, *[torch.arange(n, device=q.device) for n in (*q.shape[:3], k.shape[2])])
    seen = None if mask is None else spread(mask)
    return attend(q, k, v, seen, score and (lambda s: spread(score, s).to(s.dtype)))


def draw_score(chance):
    """Return what makes a random score of captured tensors: at heads, at rows, at keys, and at pairs of each head, or of
    each head and batch, one of them read twice."""
    def draw(depth):
        if depth == 0:
            return chance.choice([lambda x: x.s, lambda x: x.s, lambda x: (x.i - x.j) * 0.125])
        a, b = draw(depth - 1), draw(depth - 1)
        return chance.choice([
            lambda x: a(x) + b(x), lambda x: a(x) * torch.tanh(b(x)), lambda x: torch.sin(a(x)) - b(x),
            lambda x: torch.exp(-a(x).abs()) + b(x), lambda x: torch.where(x.i > x.j, a(x), b(x)),
            lambda x: torch.maximum(a(x), b(x)), lambda x: torch.sqrt(1 + a(x) * a(x)) - b(x)])

    def read(n, x):
        at = [(x.h,), (x.b, x.h, x.i), (x.b, x.h, x.j), (x.h, x.i, x.j), (x.b, x.h, x.i, x.j)][n]
        return x.captured[n][at]
    first, second = draw(2), draw(1)
    chosen = chance.sample(range(5), 3)

    def make(captured):
        def score(s, b, h, i, j):
            x = types.SimpleNamespace(s=s, b=b, h=h, i=i, j=j, captured=captured)
            y = first(x) + read(chosen[0], x) * torch.tanh(second(x))
            return y + torch.where(i < 2 * j, read(chosen[1], x), read(chosen[0], x)) * read(chosen[2], x)
        return score
    return make


@needs_torch
class Functions(unittest.TestCase):
    def draw(self, length, device, dtype):
        torch.manual_seed(13)
        self.dtype = dtype
        return [torch.randn(2, 4, length, 32, device=device).to(dtype).requires_grad_() for _ in range(3)]

    def compare(self, length, device, dtype, gradients, only=None):
        made = {name: functions for name, functions in make_functions(length, device).items() if not only or name in only}
        compile_at_once(*self.draw(length, device, dtype), made.values(), ["q,k,v"] if gradients else [])
        for name, functions in made.items():
            with self.subTest(name, length=length, device=device, dtype=dtype):
                self.compare_one(length, device, dtype, gradients, *functions)

    def compare_one(self, length, device, dtype, gradients, mask, score):
        q, k, v = self.draw(length, device, dtype)
        block = mask and create_block_mask(mask, 2, 4, length, length, device=device)
        o, lse = fa_mlir.flex_attention(q, k, v, score_mod=score, block_mask=block, return_lse=True)
        do, plain = torch.randn_like(o), []
        results = [o, lse] + (list(torch.autograd.grad(o, [q, k, v], do)) if gradients else [])
        for kind in (torch.float64, dtype):
            leaves = [x.detach().to(kind).requires_grad_(gradients) for x in (q, k, v)]
            plain.append(list(attend_flexibly(*[x.detach() for x in leaves], score_mod=score, block_mask=block)))
            if gradients:
                plain[-1] += torch.autograd.grad(attend_densely(*leaves, mask, score)[0], leaves, do.to(kind))
        for what, result, reference, low in zip(("o", "lse", "dq", "dk", "dv"), results, *plain):
            rows = ~torch.isinf(reference)
            self.assertTrue(torch.equal(torch.isinf(result), ~rows), what)
            check(self, what, result[rows], reference[rows].double(), low[rows])

    def test_lengths(self):
        """Each function equals FlexAttention's result over five lengths, in one program."""
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                compile_at_once(*self.draw(17, device, torch.float32), make_functions(17, device).values())
                for length in (17, 61, 64, 128, 150):
                    for name, functions in make_functions(length, device).items():
                        with self.subTest(name, length=length, device=device), torch.no_grad():
                            count = count_programs()
                            self.compare_one(length, device, torch.float32, False, *functions)
                            self.assertEqual(count_programs(), count)

    def test_random_scores(self):
        """Gradients of random scores, and of all that these capture, equal autograd's in float64."""
        batch, heads, length = 2, 4, 24
        for device in devices():
            for seed in range(5):
                with self.subTest(device=device, seed=seed):
                    skip_without(self, device)
                    queries = self.draw(length, device, torch.float32)
                    captures = [torch.randn(shape, device=device).requires_grad_() for shape in (
                        (heads,), (batch, heads, length), (batch, heads, length), (heads, length, length),
                        (batch, heads, length, length))]
                    make = draw_score(random.Random(seed))
                    o = fa_mlir.flex_attention(*queries, score_mod=make(captures))
                    do, plain = torch.randn_like(o), []
                    for kind in (torch.float64, torch.float32):
                        leaves = [x.detach().to(kind).requires_grad_() for x in queries + captures]
                        dense, _ = attend_densely(*leaves[:3], None, make(leaves[3:]))
                        plain.append(torch.autograd.grad(dense, leaves, do.to(kind), allow_unused=True))
                    results = torch.autograd.grad(o, queries + captures, do, allow_unused=True)
                    self.assertGreaterEqual(sum(x is not None for x in plain[0]), 5)
                    for n, (result, reference, low) in enumerate(zip(results, *plain)):
                        if reference is None:
                            self.assertTrue(result is None or not result.any(), n)
                        else:
                            check(self, n, result, reference, low)

    def test_causal_with_sink(self):
        """A sink is a key more that has no value: of FlexAttention's output and lse, what each row keeps and what is added."""
        causal = lambda b, h, q, k: q >= k
        run = lambda q, k, v, sink: fa_mlir.attention(q, k, v, mask=causal, sink=sink, return_lse=True)
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch._dynamo.reset()
                sink, counts = torch.randn(4, device=device), set()
                compiled = torch.compile(run, dynamic=True, backend="eager", fullgraph=CAN_LOOK)
                for length in (17, 61, 64, 128, 150):
                    with self.subTest(length=length, device=device), torch.no_grad():
                        x, plain = [y.detach() for y in self.draw(length, device, torch.float32)], []
                        block = create_block_mask(causal, None, None, length, length, device=device)
                        for kind in (torch.float64, torch.float32):
                            o, lse = attend_flexibly(*[y.to(kind) for y in x], block_mask=block)
                            column = sink.to(kind)[None, :, None]
                            plain.append((o * torch.sigmoid(lse - column)[..., None], torch.logaddexp(lse, column)))
                        results = run(*x, sink)
                        for name, result, reference, low in zip(("o", "lse"), results, *plain):
                            check(self, name, result, reference.double(), low)
                        for one, other in zip(compiled(*x, sink), results):
                            self.assertTrue(torch.equal(one, other))
                        counts.add(count_programs())
                self.assertEqual(len(counts), 1)

    def test_gradients_on_cpu(self):
        skip_without(self, "cpu")
        self.compare(61, "cpu", torch.float32, gradients=True,
                     only=("causal", "documents", "table", "gated", "documents, softcap", "t5"))

    def test_cuda(self):
        skip_without(self, "cuda")
        self.compare(200, "cuda", torch.bfloat16, gradients=True)
        self.compare(200, "cuda", torch.float32, gradients=False, only=("documents", "heads", "table"))

    def test_tensors_may_change(self):
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(32, "cpu", torch.float32))

        def run(slopes):
            return fa_mlir.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * j)
        first = torch.rand(4)
        expected = run(first)
        self.assertFalse(torch.equal(run(first * 2), expected))
        first *= 2
        self.assertTrue(torch.equal(run(first.clone()), run(first)))

    def test_attributes_may_change(self):
        """Those of a captured tensor, and of a class of the user's that is also one of Python's."""
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(9, "cpu", torch.float32))

        class Settings(dict):
            pass
        tensor, settings = torch.randn(9), Settings()
        scores = (lambda s, b, h, i, j: s + tensor[j] * tensor.factor, lambda s, b, h, i, j: s * settings.factor)
        for score in scores:
            for factor in (1.0, 30.0):
                tensor.factor = settings.factor = factor
                score_of = tensor * factor
                constants = (lambda s, b, h, i, j: s + score_of[j], lambda s, b, h, i, j: s * score_of[0] / tensor[0])
                result = fa_mlir.flex_attention(q, k, v, score_mod=score)
                expected = flex_attention(q, k, v, score_mod=constants[score is scores[1]])
                torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)

    def test_what_is_read_may_change(self):
        """What a function asks of tensors and names without their values."""
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(9, "cpu", torch.float32))
        base = torch.randn(4, 100)
        first, second = {"few": 2.0}, {"many": 2.0}

        def check(score, factor):
            expected = fa_mlir.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * factor)
            self.assertTrue(torch.equal(fa_mlir.flex_attention(q, k, v, score_mod=score), expected))

        for tensor, factor in ((base[:1, :8], 2.0), (base[:2, :8], 3.0)):  # of the same strides
            check(lambda s, b, h, i, j: s * (2.0 if tensor.is_contiguous() else 3.0), factor)
        for tensor, factor in ((base[0, :8], 2.0), (base[0, 1:9], 3.0)):
            check(lambda s, b, h, i, j: s * (2.0 + tensor[3].storage_offset() - 3), factor)
        source = "def score(s, b, h, i, j):\n    try:\n        return s * few\n    except NameError:\n        return s * (many + 1)\n"
        code = compile(source, "users.py", "exec").co_consts[0]
        for names, factor in ((first, 2.0), (second, 3.0)):
            check(types.FunctionType(code, names), factor)

    def test_numbers_of_a_launch(self):
        """Offsets of a cache beside a captured tensor: a program has its arguments in an order of its own."""
        from fa_mlir.transformers import attend as attend_model, make_mask
        for rows, start, length in ((21, 0, 21), (1, 21, 22), (8, 15, 23)):
            with self.subTest(rows=rows):
                torch.manual_seed(29)
                q, k, v = (torch.randn(2, 2, count, 16) for count in (rows, length, length))
                keep = torch.ones(2, length, dtype=torch.bool)
                keep[0, :5] = False
                mask = make_mask(2, rows, length, start, 0, lambda b, h, i, j: i >= j, keep)
                seen = (torch.arange(rows)[:, None] + start >= torch.arange(length)) & keep[:, None, None]
                result = attend_model(None, q, k, v, mask, is_causal=True)[0].transpose(1, 2)
                torch.testing.assert_close(result, attend(q, k, v, seen)[0], rtol=1e-5, atol=1e-5)

    def test_gradient_of_a_capture(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = (x.detach() for x in self.draw(61, device, torch.float32))
                slopes = torch.rand(4, device=device, requires_grad=True)
                score = lambda s, b, h, i, j: s - slopes[h] * (i - j).abs()
                do = torch.randn_like(q)
                result, = torch.autograd.grad(fa_mlir.flex_attention(q, k, v, score_mod=score), slopes, do)
                expected, = torch.autograd.grad(flex_attention(q, k, v, score_mod=score), slopes, do)
                torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-3)

    def test_checkpoints(self):
        """What is kept for gradients is the same in the call that traces the functions and in later ones."""
        from torch.utils.checkpoint import checkpoint
        skip_without(self, "cpu")
        q, k, v = self.draw(33, "cpu", torch.float32)
        table = torch.randn(4, 33, requires_grad=True)

        def run(q, k, v):
            return fa_mlir.flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h, j], lambda b, h, i, j: i >= j)
        found = []
        for call in (lambda *x: checkpoint(run, *x, use_reentrant=False), run):
            found.append(torch.autograd.grad(call(q, k, v).sum(), (q, table)))
        self.assertTrue(all([torch.equal(*pair) for pair in zip(*found)]))

    def test_gradient_of_a_longer_capture(self):
        """What a capture has beyond the positions has a gradient of 0, whatever was in memory."""
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(12, "cpu", torch.float32))
        for size in (12, 150, 700):
            bias = torch.randn(size, requires_grad=True)
            for name, score in (("key", lambda s, b, h, i, j: s + bias[j]), ("query", lambda s, b, h, i, j: s * bias[i])):
                for _ in range(3):
                    waste = torch.full((size,), float("nan"))
                    del waste
                    o = fa_mlir.flex_attention(q, k, v, score_mod=score)
                    gradient, = torch.autograd.grad(o, bias, torch.ones_like(o))
                    with self.subTest(name, size=size):
                        self.assertFalse(gradient[12:].any())

    def test_blocks_without_a_function(self):
        from torch.nn.attention.flex_attention import BlockMask
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch.manual_seed(23)
                q, k, v = (torch.randn(2, 2, 64, 16, device=device) for _ in range(3))
                visible = torch.rand(2, 1, 4, 2, device=device) > 0.4
                counts = visible.sum(3, dtype=torch.int32)
                order = torch.argsort(visible.int(), dim=3, descending=True, stable=True).int()
                blocks = BlockMask.from_kv_blocks(counts, order, BLOCK_SIZE=(16, 32), seq_lengths=(64, 64))
                seen = visible.repeat_interleave(16, 2).repeat_interleave(32, 3)
                expected = attend(q, k, v, seen)[0]
                torch.testing.assert_close(fa_mlir.flex_attention(q, k, v, block_mask=blocks), expected, rtol=1e-4,
                                           atol=1e-5)

    def test_signature(self):
        parameters = inspect.signature(fa_mlir.flex_attention).parameters.values()
        names = [str(p.replace(annotation=p.empty)).replace(" ", "") for p in parameters]
        self.assertEqual(names, ["query", "key", "value", "score_mod=None", "block_mask=None", "scale=None",
                                 "enable_gqa=False", "return_lse=False", "kernel_options=None", "return_aux=None"])

    def test_options(self):
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(9, "cpu", torch.float32))
        output, lse = fa_mlir.flex_attention(q, k, v, return_lse=True, kernel_options={})
        with self.assertRaisesRegex(NotImplementedError, "kernel_options 'BLOCK_M' are those of PyTorch's kernels; leave them out"):
            fa_mlir.flex_attention(q, k, v, kernel_options={"BLOCK_M": 64})
        flex = torch.nn.attention.flex_attention
        if not hasattr(flex, "AuxRequest"):
            return
        for asked in (True, False):
            same, aux = fa_mlir.flex_attention(q, k, v, return_aux=flex.AuxRequest(lse=asked))
            self.assertTrue(torch.equal(same, output))
            self.assertEqual(aux.lse is not None and torch.equal(aux.lse, lse), asked)
        with self.assertRaisesRegex(NotImplementedError, "max_scores are never stored"):
            fa_mlir.flex_attention(q, k, v, return_aux=flex.AuxRequest(max_scores=True))
        for function in (fa_mlir.flex_attention, flex_attention):
            with self.assertRaisesRegex(ValueError, "both"):
                function(q, k, v, return_lse=True, return_aux=flex.AuxRequest(lse=True))

    def test_gradient_of_relu(self):
        """At 0 it is 0, as of what is padded with zeros."""
        skip_without(self, "cpu")
        q, k, v = (x.detach() for x in self.draw(9, "cpu", torch.float32))
        bias = torch.tensor([0.0, -1.0, 2.0] * 3, requires_grad=True)
        found = [torch.autograd.grad(f(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[j].relu()).square().sum(), bias)[0]
                 for f in (fa_mlir.flex_attention, flex_attention)]
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
        self.assertFalse(found[0][::3].any())


# ATen's name -> expressions of floats x, y, integers m, n (n > 0) and bools p, r, where a name does not say it.
EXPRESSIONS = {
    "add": ["x + y", "m + n", "x + m", "torch.add(x, y, alpha=2)", "p + r"],
    "sub": ["x - y", "m - n", "1 - x", "3 - m"],
    "mul": ["x * y", "m * n", "x * 0.3", "m * x"], "div": ["x / y", "m / n", "x / 3", "1 / y",
                                                             "torch.div(m, n, rounding_mode='trunc')",
                                                             "torch.div(m, n, rounding_mode='floor')"],
    "minimum": ["torch.minimum(x, y)", "torch.minimum(m, n)"],
    "maximum": ["torch.maximum(x, y)", "torch.maximum(m, n)"],
    "floor_divide": ["m // n", "m // 3"], "remainder": ["m % n", "m % 5", "x % 0.7", "x % y", "-1.5 % x"],
    "fmod": ["torch.fmod(m, n)", "torch.fmod(x, y)"],
    "abs": ["x.abs()", "m.abs()"], "neg": ["-x", "-m"], "sign": ["x.sign()", "m.sign()"], "sgn": ["x.sgn()"],
    "relu": ["x.relu()"], "bitwise_and": ["m & n", "p & r"], "bitwise_or": ["m | n", "p | r"],
    "bitwise_xor": ["m ^ n", "p ^ r"],
    "__lshift__": ["n << 2"], "__rshift__": ["m >> 1"], "bitwise_left_shift": ["torch.bitwise_left_shift(n, 1)"],
    "bitwise_right_shift": ["torch.bitwise_right_shift(m, 1)"], "clamp_min": ["x.clamp_min(0.1)", "m.clamp_min(2)"],
    "clamp_max": ["x.clamp_max(0.1)"], "clamp": ["x.clamp(-0.5, 0.5)", "m.clamp(max=3)"], "square": ["x.square()"],
    "pow": ["x ** 2", "x ** 3", "y ** 0.5", "y ** x", "m ** 2"],
    "atan2": ["torch.atan2(x, y)"],
    "hypot": ["torch.hypot(x, y)", "torch.hypot(y, x * 1e3)", "torch.hypot(x * 1e38, y * 1e38) / 1e38", "torch.hypot(x * 1e-38, y * 1e-38) * 1e38",
              "torch.hypot(x * 0, y * 0)", "1 / torch.hypot(x / 0, y)", "1 / torch.hypot(x / 0, x * 0 / 0)", "torch.hypot(f, f + 1)", "torch.hypot(x.double(), y.double())"],
    "copysign": ["torch.copysign(y, x)", "torch.copysign(x, m)"],
    "fmax": ["torch.fmax(x, y)", "torch.fmax(m, n)"], "fmin": ["torch.fmin(x, y)"],
    "decomposed": ["torch.round(x, decimals=2)", "torch.nn.functional.gelu(x)", "torch.nn.functional.silu(x)",
                   "torch.nn.functional.softplus(x)", "torch.nn.functional.mish(x)", "x.frac()", "torch.lerp(x, y, 0.3)",
                   "x.masked_fill(p, 2.0)", "torch.isnan(x / 0 * 0)", "torch.isinf(x / 0)", "torch.logaddexp(x, y)",
                   "torch.addcmul(x, y, y, value=0.5)", "torch.xlogy(x, y)", "torch.clamp(x, max=0.5)", "x.clone().add_(y)",
                   "torch.rsub(x, 2, alpha=3)", "torch.rsub(x, y, alpha=3)", "torch.sub(m, n, alpha=2)", "torch.logit(y / 3)"], "rsub": ["torch.rsub(x, 2)"],
    "where": ["torch.where(p, x, y)", "torch.where(m > n, m, n)", "torch.where(p, x, 2.0)"],
    "bitwise_not": ["~m", "~p"], "logical_not": ["torch.logical_not(m)"], "logical_and": ["torch.logical_and(p, m)"],
    "logical_or": ["torch.logical_or(p, r)"], "logical_xor": ["torch.logical_xor(p, x)"],
    "_to_copy": ["x.to(torch.float16)", "x.int()", "m.float()", "p.float()", "x.bool()",
                 "(x.bfloat16() * y.bfloat16())"],
    "new_ones": ["x.new_ones(())"], "full_like": ["torch.full_like(x, 2.5)"], "zeros_like": ["torch.zeros_like(m)"],
    "ones_like": ["torch.ones_like(x) * 2"], "scalar_tensor": ["torch.scalar_tensor(2.5) + x"], "clone": ["x.clone()"],
    "acosh": ["torch.acosh(1 + y)"], "rsqrt": ["y.rsqrt()"], "sqrt": ["y.sqrt()"], "reciprocal": ["y.reciprocal()"],
    **{name: ["torch.%s(y)" % name] for name in ("log", "log2", "log10", "log1p")},
    **{name: ["torch.%s(x / 3)" % name] for name in ("asin", "acos", "atanh")},
}
# Of numbers that are multiples but for rounding, z and w, where a quotient rounds up to the next one; of infinity; of 40 bits.
MULTIPLES = ["z % 0.1", "z // 0.1", "torch.fmod(z, 0.1)", "z % -0.1", "z // -0.1", "torch.fmod(z, -0.1)", "z % w", "z // w",
             "torch.fmod(z, w)", "torch.div(z, w, rounding_mode='floor')", "torch.div(z, w, rounding_mode='trunc')", "(x % math.inf).clamp(max=9)",
             "x // -math.inf", "torch.fmod(x, math.inf)", "(z * 2e10) % 0.3", "x // 0.3", "x.double() % 0.7", "z.double() // 0.1"]
# Integers that wrap: a of uint8, c of int8, d of int16, e of int32.
SMALL = ["a + a", "a - 200", "-a", "~a", "a * 3", "a * 300", "a << 2", "a // 7", "a.clamp(3, 200)", "c + c", "c * 3", "c * c", "-c",
         "c.abs()", "c + 300", "c // 3", "c % 5", "c % -5", "c ** 2", "c.square()", "c << 3", "c << 9", "c >> 1", "c >> 64", "(m - 3) >> 70", "(m - 3) >> (e.long() + 60)", "c * a", "c == 300", "c < 300",
         "torch.sub(c, c, alpha=3)", "d * d", "d + d", "d.to(torch.int8)", "e * e", "e + e", "e - 5", "e.to(torch.int16)", "e + m",
         "m.to(torch.int8)", "(m * 77).to(torch.uint8)", "(m * 2 ** 31).int()", "c * 0.5", "c + x", "torch.where(p, c, e)",
         "torch.maximum(a, c)", "c.float()", "(c + c).float()", "c.clone().mul_(e)", "a.bool()", "(e + e) < 0", "-e // 3"]
# f of float16 and g of bfloat16 beside numbers of Python, which take their dtype.
HALVES = ["(%s %s %s)" % (x, op, number) for x in ("f", "g") for op in ("==", "<", "<=", ">", ">=", "!=") for number in ("0.1", "0.7")]
HALVES += ["f % 0.1", "g % 0.1", "g // 0.1", "torch.fmod(g, 0.1)", "g * 0.1", "g + 0.1", "g / 0.1", "g // 0.3", "g * f", "(g * f) == 0.1",
           "g < x", "torch.copysign(g, -0.1)", "g.clamp(0.1, 0.7)", "torch.where(p, g, 0.1)", "0.1 < g", "g * 0.1 == 0.07",
           "torch.div(g, 0.1, rounding_mode='trunc')", "m == 0.5", "c == 0.5", "p == 1"]
UNARY = ("sigmoid", "exp", "exp2", "expm1", "tanh", "sin", "cos", "tan", "sinh", "cosh", "atan", "asinh", "erf", "erfc",
         "floor", "ceil", "trunc", "round")


@needs_torch
class Translations(unittest.TestCase):
    """With one key lse is the score, so that each operation is seen by itself."""

    def evaluate(self, expressions):
        """Return lse and what PyTorch computes of expressions, one a head."""
        skip_without(self, "cpu")
        torch.manual_seed(17)
        count, size = len(expressions), 64
        x, y = (torch.rand(size) - 0.5) * 5, torch.rand(size) * 2 + 0.1
        m, n = torch.randint(-40, 40, (size,)), torch.randint(1, 9, (size,))
        p, r = torch.rand(size) > 0.5, torch.rand(size) > 0.5
        draw = lambda dtype: torch.randint(torch.iinfo(dtype).min, torch.iinfo(dtype).max, (size,), dtype=dtype)
        halves = torch.arange(size) % 8 * 0.1
        names = dict(x=x, y=y, m=m, n=n, p=p, r=r, z=(torch.arange(size) - 30) * 0.1, w=torch.arange(1, size + 1) % 7 * 0.1 + 0.1,
                     a=draw(torch.uint8), c=draw(torch.int8), d=draw(torch.int16), e=draw(torch.int32), f=halves.half(),
                     g=halves.bfloat16())
        functions = [eval("lambda %s: %s" % (", ".join(names), text), {"torch": torch, "math": math}) for text in expressions]

        def score(s, b, h, q, k):
            read = {name: tensor[q] for name, tensor in names.items()}
            result = 0.0
            for head, function in enumerate(functions):
                result = torch.where(h == head, function(**read).to(torch.float32), result)
            return result
        zeros = torch.zeros(1, count, size, 8)
        _, lse = fa_mlir.flex_attention(zeros, zeros[:, :, :1], zeros[:, :, :1], score_mod=score, return_lse=True)
        return lse[0], [function(**names).to(torch.float32).expand(size) for function in functions]

    def test_every_operation(self):
        tables = set(_translate.ARITHMETIC) | set(_translate.FUNCTIONS) | set(_translate.LOGIC)
        tables -= {"__and__", "__or__", "__xor__"}
        expressions = dict(EXPRESSIONS, **{name: ["torch.%s(x)" % name] for name in UNARY})
        self.assertEqual(sorted(tables - set(expressions)), [], "operations without a test")
        texts = [text for name in sorted(expressions) for text in expressions[name]]
        for first in range(0, len(texts), 12):
            part = texts[first:first + 12]
            for text, result, expected in zip(part, *self.evaluate(part)):
                with self.subTest(text):
                    torch.testing.assert_close(result, expected, rtol=2e-6, atol=2e-6)

    def check_exactly(self, texts):
        for first in range(0, len(texts), 12):
            part = texts[first:first + 12]
            for text, result, expected in zip(part, *self.evaluate(part)):
                with self.subTest(text):
                    self.assertTrue(torch.equal(result, expected), (result - expected).abs().max())

    def test_small_integers(self):
        self.check_exactly(SMALL)

    def test_halves(self):
        self.check_exactly(HALVES)

    def test_multiples(self):
        self.check_exactly(MULTIPLES)

    def test_gradients_of_two(self):
        """What a rest gives back is what PyTorch's does: 1 for the dividend, minus the quotient for the divisor; so is what hypot does."""
        skip_without(self, "cpu")
        torch.manual_seed(7)
        x, y = torch.randn(8, requires_grad=True), (torch.rand(8) + 0.3).requires_grad_()
        q = torch.randn(1, 1, 8, 16)
        for text in ("x % y", "torch.fmod(x, y)", "torch.div(x, y, rounding_mode='floor')", "torch.hypot(x, y)", "torch.hypot(y, x * 1e3)",
                     "torch.hypot(x, x)", "torch.hypot(x.double(), y.double()).float()"):
            function = eval("lambda x, y: %s + 0 * (x + y)" % text, {"torch": torch})
            o, lse = fa_mlir.flex_attention(q, q[:, :, :1], q[:, :, :1], score_mod=lambda s, b, h, i, j: s * 0 + function(x[i], y[i]),
                                            return_lse=True)
            for one, other in zip(torch.autograd.grad(lse.sum(), [x, y]), torch.autograd.grad(function(x, y).sum(), [x, y])):
                with self.subTest(text):
                    torch.testing.assert_close(one, other)

    def test_comparisons(self):
        texts = ["(%s %s %s)" % (a, op, b) for op in ("==", "!=", "<", "<=", ">", ">=")
                 for a, b in (("x", "y"), ("m", "n"), ("m", "x"), ("m", "3"))]
        for text, result, expected in zip(texts, *self.evaluate(texts)):
            with self.subTest(text):
                self.assertTrue(torch.equal(result, expected))


    def test_bools(self):
        """Of each pair of bools, and from float64 to halves."""
        first, second = torch.tensor([0, 0, 1, 1]).bool(), torch.tensor([0, 1, 0, 1]).bool()
        wide, q = torch.randn(4, dtype=torch.float64), torch.zeros(1, 1, 4, 4)
        for text in ("x + y", "x * y", "torch.fmin(x, y)", "torch.fmax(x, y)", "torch.minimum(x, y)", "torch.maximum(x, y)", "x & y", "x | y",
                     "x ^ y", "~x", "x.sign()", "(x & y).sgn()", "z.half()", "z.bfloat16()"):
            function = eval("lambda x, y, z: %s" % text, {"torch": torch})
            with self.subTest(text):
                _, lse = fa_mlir.flex_attention(q, q[:, :, :1], q[:, :, :1], return_lse=True, score_mod=lambda s, b, h, i, j:
                                                s + function(first[i], second[i], wide[i]).float())
                self.assertTrue(torch.equal(lse[0, 0], function(first, second, wide).float()))


@needs_torch
class Refused(unittest.TestCase):
    def test_kinds(self):
        q = torch.zeros(1, 1, 4, 4)
        for score, words in ((lambda s, b, h, i, j: (i == j).abs(), "'abs' of bools has no translation; convert them by .int"),
                             (lambda s, b, h, i, j: s & 1, "and.*' of floats has no translation; convert them by .long"),
                             (lambda s, b, h, i, j: torch.fmod(i == j, i > j), "'fmod' of bools has no translation")):
            with self.subTest(words), self.assertRaisesRegex(NotImplementedError, words):
                fa_mlir.flex_attention(q, q, q, score)

    def test_says_where(self):
        q = torch.randn(1, 1, 8, 16)
        table = torch.zeros(8, 8)
        source = """
import torch
def branches(b, h, q, k):
    if q > k:
        return q > k
    return q == k
def unknown(b, h, q, k):
    near = q - k
    return torch.special.i0(near.float()) > 0
def slices(b, h, q, k):
    return table[q][1:][k] > 0
def whole(b, h, q, k):
    return table[q] > 0
def number(b, h, q, k):
    return q - k
def double(b, h, q, k):
    return torch.tanh(table[q, k].double()) > 0
def random(b, h, q, k):
    return torch.rand(()) > 0.5
def dropped(b, h, q, k):
    return torch.nn.functional.dropout(q.float()) > 0
"""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "users.py")
            with open(path, "w") as file:
                file.write(source)
            names = {"table": table}
            exec(compile(source, path, "exec"), names)
            cases = [("branches", 4, "Python asks for the value of a tensor.*write torch.where"),
                     ("unknown", 9, "operation 'aten.i0' has no translation"), ("slices", 11, "'slice' of a captured tensor that is indexed already.* before the first index"),
                     ("whole", 13, "a tensor of 1 dimensions; .* index"), ("number", 14, "expected a bool"),
                     ("double", 17, "'tanh' of float64 has no translation; convert its operand by .float"),
                     ("random", 19, "'aten.rand' has no translation, for it draws random numbers; draw a tensor before"),
                     ("dropped", 21, "it draws random numbers")]
            for name, line, words in cases:
                with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "users.py:%d.*%s" % (line, words)):
                    fa_mlir.flex_attention(q, q, q, block_mask=names[name])

    def test_gradients_by_atomics(self):
        """Where gradients are to be deterministic, the error says which line reads a capture at a computed index."""
        q, table = torch.randn(1, 1, 8, 16), torch.randn(15, requires_grad=True)

        def score(s, b, h, i, j):
            return s + table[i - j + 7]
        line = score.__code__.co_firstlineno + 1
        self.addCleanup(torch.use_deterministic_algorithms, False)
        torch.use_deterministic_algorithms(True)
        with self.assertRaisesRegex(fa_mlir.Error, r"the gradient of 't0' \(.*test_flex.py:%d: captured tensor 0 .*atomics" % line):
            fa_mlir.flex_attention(q, q, q, score).sum().backward()

    def test_float64_has_roots(self):
        q, table = torch.randn(1, 1, 8, 16), torch.rand(8, dtype=torch.float64) + 1
        output = fa_mlir.flex_attention(q, q, q, lambda s, b, h, i, j: s + torch.rsqrt(table[j]) + torch.sqrt(table[j]))
        expected = attend_flexibly(q, q, q, score_mod=lambda s, b, h, i, j: s + (table.rsqrt() + table.sqrt()).float()[j])[0]
        torch.testing.assert_close(output.float(), expected, rtol=1e-5, atol=1e-5)

    def test_block_mask_of_other_lengths(self):
        """A BlockMask serves the lengths that it was made for, as in FlexAttention; its function serves all."""
        causal = lambda b, h, i, j: i >= j
        block = create_block_mask(causal, None, None, 256, 200, device="cpu")
        for rows, keys in ((256, 200), (128, 200), (256, 300), (300, 200), (256, 100)):
            with self.subTest(rows=rows, keys=keys):
                q, k = torch.randn(1, 2, rows, 16), torch.randn(1, 2, keys, 16)
                expected = attend(q, k, k, causal(0, 0, torch.arange(rows)[:, None], torch.arange(keys)))[0]
                torch.testing.assert_close(fa_mlir.flex_attention(q, k, k, block_mask=causal), expected, rtol=1e-4, atol=1e-5)
                if (rows, keys) == (256, 200):
                    fa_mlir.flex_attention(q, k, k, block_mask=block)
                    continue
                with self.assertRaisesRegex(ValueError, "block_mask is for 256 queries and 200 keys, expected %d and %d; .*"
                                            "pass its mask_mod" % (rows, keys)):
                    fa_mlir.flex_attention(q, k, k, block_mask=block)
                self.assertRaises(Exception, attend_flexibly, q, k, k, block_mask=block)

    def test_one_batch_of_keys(self):
        """With a block_mask, key and value may have a batch of 1, as FlexAttention has it."""
        from torch.nn.attention.flex_attention import create_block_mask
        torch.manual_seed(4)
        q, k, v = [torch.randn(b, 2, 8, 16, requires_grad=True) for b in (3, 1, 1)]
        block = create_block_mask(lambda b, h, i, j: j <= i + b, 3, None, 8, 8, device="cpu")
        output = fa_mlir.flex_attention(q, k, v, block_mask=block)
        torch.testing.assert_close(output, attend_flexibly(*[x.detach() for x in (q, k, v)], block_mask=block)[0])
        wide = [x.detach().expand(3, -1, -1, -1).clone().requires_grad_() for x in (q, k, v)]
        do = torch.randn_like(output)
        expected = torch.autograd.grad(fa_mlir.flex_attention(*wide, block_mask=block), wide, do)
        for x, y in zip(torch.autograd.grad(output, [q, k, v], do), expected):
            torch.testing.assert_close(x, y.sum(0, keepdim=True) if len(x) == 1 else y)
        with self.assertRaisesRegex(fa_mlir.Error, "dimension 0 of 'k' .B. has size 1"):
            fa_mlir.flex_attention(q, k, v)

    def test_threads_trace(self):
        """Tracing keeps state of the process: new functions of several threads take turns."""
        x, interval = torch.randn(1, 1, 8, 16), sys.getswitchinterval()

        def work(first):
            return [fa_mlir.to_mlir(x, x, x, score=lambda s, b, h, i, j: s + c * torch.where(i >= j, 1.0, 0.0))
                    for c in range(first, first + 10)]
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(4) as pool:
                found = list(pool.map(work, (100, 200, 300, 400)))
        finally:
            sys.setswitchinterval(interval)
        self.assertEqual(found, [work(first) for first in (100, 200, 300, 400)])
        self.assertEqual(len({text for texts in found for text in texts}), 40)

    def test_grouped_heads(self):
        q = torch.randn(1, 4, 8, 16)
        with self.assertRaisesRegex(ValueError, "set enable_gqa=True"):
            fa_mlir.flex_attention(q, q[:, :2], q[:, :2])
        fa_mlir.flex_attention(q, q[:, :2], q[:, :2], enable_gqa=True)


if __name__ == "__main__":
    unittest.main()
