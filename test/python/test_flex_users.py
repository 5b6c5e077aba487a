"""Masks and scores in the manner of users, not of the translator: every way to write and to hold a function."""

import collections
import enum
import functools
import math
import operator
import random
import sys
import time
import types
import typing
import unittest
import unittest.mock

from support import (attend, attend_flexibly, check, compile_at_once, count_graphs, count_programs, devices, needs_torch,
                     skip_without, torch)

if torch:
    import torch._dynamo.testing
    import torch.nn.functional as F
    import fa_mlir
    from fa_mlir import _flex, _translate
    from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention, noop_mask, or_masks

BATCH, HEADS = 2, 4
VERSION = tuple(map(int, torch.__version__.split(".")[:2])) if torch else ()


def make_functions(length):
    """Return name -> (mask_mod, score_mod) for a length."""
    generator = torch.Generator(torch.get_default_device()).manual_seed(length)
    integers = lambda most, *shape: torch.randint(0, most, shape, generator=generator)
    floats = lambda *shape: torch.rand(*shape, generator=generator)
    offsets = torch.tensor([0, length // 4, length // 2 + 1, length])
    document_id = torch.repeat_interleave(torch.arange(3, dtype=torch.int32), offsets.diff())
    pages = torch.stack([torch.randperm(length // 8 + 1, generator=generator) for _ in range(BATCH)])
    pages[0, 1] = -1
    bits = integers(256, length, length // 8 + 1).to(torch.uint8)
    roles, sees = integers(4, BATCH, length).to(torch.int8), floats(4, 4) > 0.4
    by_head = (floats(length, HEADS, BATCH) > 0.3).permute(2, 1, 0)  # in memory: keys, heads, batch
    every = floats(2, 2 * length)[:, ::2] > 0.5
    forget = F.logsigmoid(floats(BATCH, HEADS, length) * 8 - 2).cumsum(-1)
    table, image = floats(HEADS, 15 * 23) - 0.5, floats(31, HEADS)
    bias = (floats(HEADS, length, length) - 0.5).to(torch.bfloat16)
    gates = {"tau": torch.nn.Parameter(floats(HEADS) + 1), "cap": [30.0, floats(1, HEADS, 1) + 1]}
    is_causal, spans = True, [(0, 20), (20, 50), (50, 10**6)]

    def causal(b, h, q_idx, kv_idx):
        return q_idx >= kv_idx

    def within_documents(inner):
        def mask(b, h, q_idx, kv_idx):
            same = document_id[q_idx] == document_id[kv_idx]
            q_logical = q_idx - offsets[document_id[q_idx]]
            return same & inner(b, h, q_logical, kv_idx - offsets[document_id[kv_idx]])
        return mask

    def neighbours(b, h, q_idx, kv_idx):
        get_x_y = lambda idx: (idx // 12, idx % 12)
        (q_x, q_y), (kv_x, kv_y) = get_x_y(q_idx), get_x_y(kv_idx)
        center = q_x.clamp(2, 5), q_y.clamp(2, 9)
        return ((center[0] - kv_x).abs() <= 2) & ((center[1] - kv_y).abs() <= 2)

    def morton(b, h, q_idx, kv_idx):
        def compact(n):
            n = n & 0x55555555
            n = (n ^ (n >> 1)) & 0x33333333
            return (n ^ (n >> 2)) & 0x0F0F0F0F
        return or_masks(lambda *x: torch.abs(compact(q_idx) - compact(kv_idx)) <= 2,
                        lambda *x: compact(q_idx >> 1) == compact(kv_idx >> 1))(b, h, q_idx, kv_idx)

    def diffusion(b, h, q_idx, kv_idx, block_size=None, *, n=None):
        clean_q, clean_kv = q_idx >= n, kv_idx >= n
        block_q = torch.where(clean_q == 1, (q_idx - n) // block_size, q_idx // block_size)
        block_kv = torch.where(clean_kv == 1, (kv_idx - n) // block_size, kv_idx // block_size)
        diagonal = (block_q == block_kv) & (clean_q == clean_kv)
        return diagonal | (block_q > block_kv) & (clean_kv == 1) & (clean_q == 0) | clean_q & clean_kv & (block_q >= block_kv)

    def paged(b, h, q_idx, physical):
        logical = pages[b, physical // 8]
        return torch.where(logical >= 0, causal(b, h, q_idx, logical * 8 + physical % 8), False)

    def with_default(b, h, q_idx, kv_idx, window=9, seen=every):
        return (q_idx - kv_idx < window) & seen[0, kv_idx] | seen[-1, q_idx]

    def loop(b, h, q_idx, kv_idx):
        result = q_idx < 0
        for low, high in spans:
            result = result | (q_idx >= low) & (q_idx < high) & (kv_idx >= low) & (kv_idx < high)
        if is_causal:
            result = result & (kv_idx <= q_idx)
        return result

    def from_the_end(b, h, q_idx, kv_idx):
        return (q_idx < offsets[-2]) == (kv_idx < offsets[-2]) & (roles[b, q_idx - kv_idx] != 3)

    def in_place(score, b, h, q_idx, kv_idx):
        score = score.clone()
        score += (q_idx - kv_idx) * 0.01
        score.mul_(1.1)
        return score.masked_fill_(kv_idx > q_idx + 9, -1e9)

    def activations(score, b, h, q_idx, kv_idx):
        return F.silu(score) + F.gelu(score) * 0.1 + F.leaky_relu(score, 0.1) - F.softplus(score) + F.hardswish(score)

    def decay(score, b, h, q_idx, kv_idx):
        cap = gates["cap"][0] * gates["cap"][1][0, h, 0]
        return cap * torch.tanh(score / cap) * torch.exp(-(q_idx - kv_idx).abs() / (gates["tau"][h] * 10))

    def careful(score, b, h, q_idx, kv_idx):
        score = torch.nan_to_num(score / (q_idx - kv_idx), nan=0.5, posinf=3.0, neginf=-3.0)
        return torch.where(torch.isfinite(score) & ~torch.isnan(score), torch.lerp(score, torch.round(score, decimals=1), 0.7), 0)

    masks = {
        "documents": within_documents(and_masks(causal, lambda b, h, q, k: (q - k <= 7) | (k < 2))),
        "neighbours": neighbours, "morton": morton, "paged": paged, "default": with_default, "loop": loop,
        "partial": functools.partial(diffusion, block_size=8, n=length // 2),
        "bits": lambda b, h, q, k: ((bits[q, k // 8] >> (k % 8)) & 1).bool(),
        "roles": lambda b, h, q, k: sees[roles[b, q].long(), roles[b, k].int()],
        "strides": lambda b, h, q, k: by_head[b, h, k] | every[1][q],
        "from the end": from_the_end,
        "method": types.MethodType(lambda self, b, h, q, k: q.sub(k).abs().lt(self).logical_or(k.eq(0)), 6),
        "constant": lambda b, h, q, k: q - k < torch.tensor([3, 9, 20, 50], device=h.device)[h],
    }
    scores = {
        "alibi": lambda s, b, h, q, k: s + (k - q) * torch.exp2(-((h + 1) * 8.0 / HEADS)),
        "checkered": lambda s, b, h, q, k: torch.where(torch.abs(q - k) == 1, s * 0.5, s),
        "forget": lambda s, b, h, q, k: torch.where(q >= k, s + forget[b, h, q] - forget[b, h, k], -float("inf")),
        "swin": lambda s, b, h, q, k: s + table[h, (q // 12 - k // 12 + 7) % 15 * 23 + (q % 12 - k % 12 + 11)],
        "clipped": lambda s, b, h, q, k: s + image[torch.clamp(k - q, -16, 14), h],  # less than 0: from the end
        "bias": lambda s, b, h, q, k: s + bias[h, q, k].to(s.dtype) * math.sqrt(2),
        "bools": lambda s, b, h, q, k: s + (q < k) * -10.0 + (q > 3) - (k > 3).float() + h.to(s) / 3,
        "alpha": lambda s, b, h, q, k: torch.rsub(torch.add(s, s, alpha=2), 0.5, alpha=3) + s.clamp(max=0.5),
        "in place": in_place, "activations": activations, "decay": decay, "careful": careful,
    }
    return {**{name: (mask, None) for name, mask in masks.items()}, **{name: (None, x) for name, x in scores.items()}}


def draw(length):
    torch.manual_seed(length)
    return [torch.randn(BATCH, HEADS, length, 16) for _ in range(3)]


@needs_torch
class Users(unittest.TestCase):
    dtype = torch and torch.float32

    def dense(self, mask, length, device):
        """Return what FlexAttention makes of a mask: it takes no methods and no keywords, so by way of a lambda."""
        return mask and create_block_mask(lambda b, h, q, k: mask(b, h, q, k), BATCH, HEADS, length, length, device=device)

    def test_equals_flex_attention(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                with torch.no_grad(), torch.device(device):
                    self.compare(device)

    def compare(self, device):
        first = {}
        compile_at_once(*draw(24), make_functions(24).values())
        for length in (24, 57, 64, 96, 130):
            q, k, v = draw(length)
            for name, (mask, score) in make_functions(length).items():
                with self.subTest(name, length=length, device=device):
                    if name in ("default", "decay") and torch.__version__.startswith("2.6."):
                        self.skipTest("PyTorch 2.6's FlexAttention refuses an index that is a constant")
                    block = self.dense(mask, length, device)
                    (o, lse), (low_o, low_lse) = (
                        attend_flexibly(*[x.to(kind) for x in (q, k, v)], score_mod=score, block_mask=block)
                        for kind in (torch.float64, torch.float32))
                    count = count_programs()
                    results = fa_mlir.flex_attention(q, k, v, score_mod=score, block_mask=mask, return_lse=True)
                    # One, which another test may have compiled before. Numbers are constants: "partial" has another n.
                    self.assertLessEqual(count_programs() - count, name not in first or name == "partial")
                    first[name] = True
                    for result, reference, low in zip(results, (o, lse), (low_o, low_lse)):
                        rows = ~torch.isinf(reference)
                        self.assertTrue(torch.equal(torch.isinf(result), ~rows))
                        check(self, name, result[rows], reference[rows], low[rows])

    def test_views_of_captures(self):
        """Views that a function makes of what it closes over: of tensors that change, eager and compiled, with gradients."""
        skip_without(self, "cpu")
        q, k, v = draw(12)

        def make(m, c, d):
            return {
                "T": lambda s, b, h, i, j: s + m.T[i, j], "t": lambda s, b, h, i, j: s + m.t()[i][j],
                "column": lambda s, b, h, i, j: s + m[:, 1][j] + m[-1, j], "of keys": lambda s, b, h, i, j: s + m[:, j][i],
                "slices": lambda s, b, h, i, j: s + d[1:5][h, j] + d[-4:, j][h] + m[:, ::2][i, j // 2],
                "ellipsis": lambda s, b, h, i, j: s + c[..., j][h, i] + c[h, ..., j][i],
                "none": lambda s, b, h, i, j: s + c[None][0, h, i, j] + c[:, None, i][h, 0, j],
                "permuted": lambda s, b, h, i, j: s + c.permute(2, 0, 1)[j, h, i] + c.mT[h, j, i] + c.select(-1, 3)[h, i],
                "flat": lambda s, b, h, i, j: s + m.flatten()[i * 12 + j] + m.view(-1)[j] + m.diagonal()[j],
                "flat copies": lambda s, b, h, i, j: s + m.T.flatten()[i * 12 + j] + m.T.contiguous().view(-1)[j] + c.mT.reshape(-1)[i],
                "two": lambda s, b, h, i, j: s + m.T[i, j] - m[i, j] + m[:1].squeeze(0)[i] + m[:1, :1].squeeze(),
            }
        shapes = (12, 12), (HEADS, 12, 12), (6, 12)
        for seed in (1, 2):
            torch.manual_seed(seed)
            tensors = [torch.randn(shape, requires_grad=True) for shape in shapes]
            for name, score in make(*tensors).items():
                with self.subTest(name, seed=seed):
                    places = torch.meshgrid(*[torch.arange(n) for n in (BATCH, HEADS, 12, 12)], indexing="ij")
                    result = fa_mlir.flex_attention(q, k, v, score_mod=score)
                    expected = attend(q, k, v, score=lambda s: torch.stack([
                        score(*x) for x in zip(s.flatten(), *[x.flatten() for x in places])]).view_as(s))[0]
                    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
                    used = [x.cell_contents for x in score.__closure__]
                    do = torch.randn_like(result)
                    for one, other in zip(torch.autograd.grad(result, used, do), torch.autograd.grad(expected, used, do)):
                        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)

    def test_gradient_of_strided_captures(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                with torch.device(device):
                    q, k, v = draw(33)
                    table = torch.rand(33, HEADS, requires_grad=True)
                do, by_head = torch.randn_like(q), table.t()
                score = lambda s, b, h, i, j: s + by_head[h, j - i]
                result, = torch.autograd.grad(fa_mlir.flex_attention(q, k, v, score_mod=score), table, do)
                expected, = torch.autograd.grad(flex_attention(q, k, v, score_mod=score), table, do)
                torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-3)


WINDOW = 4


@needs_torch
class Changes(unittest.TestCase):
    """What a function depends on may change between calls."""

    def setUp(self):
        skip_without(self, "cpu")

    def check_changes(self, mask, change):
        q, k, v = draw(32)
        for _ in range(2):
            block = create_block_mask(lambda b, h, i, j: mask(b, h, i, j), BATCH, HEADS, 32, 32, device="cpu")
            expected, _ = attend_flexibly(q, k, v, block_mask=block)
            torch.testing.assert_close(fa_mlir.flex_attention(q, k, v, block_mask=mask), expected, rtol=1e-5, atol=1e-5)
            change()

    def skip_where_refused(self):
        if torch.__version__.startswith("2.6."):
            self.skipTest("PyTorch 2.6's FlexAttention refuses what the function calls")

    def test_globals(self):
        def change():
            global WINDOW
            WINDOW = 11
        self.addCleanup(globals().__setitem__, "WINDOW", WINDOW)
        self.check_changes(lambda b, h, q, k: (lambda distance: distance < WINDOW)(q - k), change)

    def test_modules(self):
        module = types.ModuleType("settings")
        module.window = 3
        self.check_changes(lambda b, h, q, k: q - k < module.window, lambda: setattr(module, "window", 9))

    def test_defaults(self):
        def mask(b, h, q, k, *, window=3):
            return q - k < window
        self.check_changes(mask, lambda: mask.__kwdefaults__.update(window=12))

    def test_attributes(self):
        class Mask:
            window = 3

            def __call__(self, b, h, q, k):
                return q - k < self.window
        mask = Mask()
        self.check_changes(mask, lambda: setattr(mask, "window", 12))

    def test_attributes_of_functions(self):
        def settings():
            pass
        settings.window = 3

        def mask(b, h, q, k):
            return q - k < mask.window
        mask.window = 3
        for name, function, of in (("another", lambda b, h, q, k: q - k < settings.window, settings), ("its own", mask, mask)):
            with self.subTest(name):
                self.check_changes(function, lambda: setattr(of, "window", 12))

    def test_methods_of_containers(self):
        sizes, order = {"window": 3}, [3]
        find, take = sizes.get, order.__getitem__
        self.skip_where_refused()
        self.check_changes(lambda b, h, q, k: q - k < find("window"), lambda: sizes.update(window=12))
        self.check_changes(lambda b, h, q, k: q - k < take(0), lambda: order.__setitem__(0, 12))

    def test_classes_of_users(self):
        """What classes make of numbers and containers may depend on what these do not hold."""
        global WINDOW
        self.addCleanup(globals().__setitem__, "WINDOW", WINDOW)
        WINDOW = 3

        class Settings(dict):
            window = 3

        class Pair(typing.NamedTuple):
            factor: int = 1
            window = property(lambda self: self.factor * WINDOW)

        class Kind(enum.IntEnum):
            LOCAL = 1
            window = property(lambda self: self.value * WINDOW)

        class Slot(list):
            __slots__ = ("window",)
        settings, pair, kind, slot, part = Settings(), Pair(), Kind.LOCAL, Slot(), functools.partial(print)
        slot.window = part.window = 3
        made = collections.defaultdict(lambda: WINDOW)
        widen = lambda: globals().__setitem__("WINDOW", 12)

        @functools.wraps(noop_mask)
        def wrapped(b, h, q, k):
            return q - k < WINDOW
        cases = [("dict", lambda b, h, q, k: q - k < settings.window, lambda: setattr(Settings, "window", 12)),
                 ("tuple", lambda b, h, q, k: q - k < pair.window, widen), ("enum", lambda b, h, q, k: q - k < kind.window, widen),
                 ("slot", lambda b, h, q, k: q - k < slot.window, lambda: setattr(slot, "window", 12)),
                 ("partial", lambda b, h, q, k: q - k < part.window, lambda: setattr(part, "window", 12)),
                 ("default", lambda b, h, q, k: q - k < made.default_factory(), widen), ("wrapped", wrapped, widen)]
        for name, mask, change in cases:
            with self.subTest(name):
                WINDOW = 3
                self.check_changes(mask, change)

    def test_wrapped_functions(self):
        """A wrapper's own signature counts, not that of what it wraps."""
        def by_position(function):
            return functools.wraps(function)(lambda b, h, q, k: function(q, k))
        self.check_changes(by_position(lambda q, k: q - k < 5), lambda: None)

    def test_long_containers_are_not_kept(self):
        q, k, v = draw(8)
        numbers = list(range(2000))
        before = len(_flex._traces)
        for _ in range(2):
            result = fa_mlir.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * (numbers[1999] / 1999))
            torch.testing.assert_close(result, fa_mlir.flex_attention(q, k, v))
        self.assertLessEqual(len(_flex._traces), before + 1)  # that without a function

    def test_imports(self):
        module = types.ModuleType("window_of_tests")
        module.window = 3
        self.addCleanup(sys.modules.pop, module.__name__)
        sys.modules[module.__name__] = module

        def mask(b, h, q, k):
            from window_of_tests import window
            return q - k < window
        self.check_changes(mask, lambda: setattr(module, "window", 12))
        self.skip_where_refused()
        self.check_changes(lambda b, h, q, k: q - k < globals()["WINDOW"], lambda: globals().__setitem__("WINDOW", 11))
        self.addCleanup(globals().__setitem__, "WINDOW", WINDOW)

    def test_random_numbers(self):
        q, k, v = draw(8)
        draw_number, now = random.random, time.perf_counter_ns
        for name, score in (("of Python", lambda s, b, h, i, j: s + j * draw_number()), ("time", lambda s, b, h, i, j: s + j * (now() % 9973 / 9973)),
                            ("seed", lambda s, b, h, i, j: s + j * (torch.initial_seed() % 7))):
            with self.subTest(name):
                results = []
                for seed in (1, 2):
                    torch.manual_seed(seed)
                    results.append(fa_mlir.flex_attention(q, k, v, score_mod=score))
                self.assertFalse(torch.equal(*results))

    def test_functions_of_modules_are_known(self):
        """Built-in functions that give the same for the same do not make a function unknown."""
        q, k, v = draw(8)
        root, add, exp = math.sqrt, operator.add, torch.exp
        mask = lambda s, b, h, i, j: add(s, exp(-j * 0.1) * root(2) * len((1, 2)))
        with unittest.mock.patch.object(_translate, "translate", wraps=_translate.translate) as traced:
            for _ in range(2):
                fa_mlir.flex_attention(q, k, v, score_mod=mask)
            self.assertEqual(traced.call_count, 1)

    def test_containers(self):
        sizes, seen = {"window": 3}, [torch.arange(32) % 3 != 0]
        self.check_changes(lambda b, h, q, k: (q - k < sizes["window"]) | seen[0][k], lambda: (
            sizes.update(window=8), seen.__setitem__(0, torch.arange(32) % 2 == 0)))


def make_readers(t):
    """Return scores that read of a tensor what Python sees without its elements."""
    wide = t[None]
    return {
        "shape": lambda s, b, h, i, j: torch.where(j < t.shape[0], s, -1.0), "len": lambda s, b, h, i, j: s * len(t),
        "numel": lambda s, b, h, i, j: torch.where(j < t.numel(), s, 2.0), "size": lambda s, b, h, i, j: s + t.size(-1) * j,
        "stride": lambda s, b, h, i, j: s + t.stride(0) * i, "of a part": lambda s, b, h, i, j: s + wide[0].shape[0] * j,
        "of an element": lambda s, b, h, i, j: s + t[0] + t[1].numel() * j,
        "requires_grad": lambda s, b, h, i, j: s * j if t.requires_grad else s, "values": lambda s, b, h, i, j: s + t.tolist()[0] * j,
    }


@needs_torch
class Attributes(unittest.TestCase):
    """What Python reads of a captured tensor without indexing it may change between calls as well."""

    def setUp(self):
        skip_without(self, "cpu")

    def test_equal_flex_attention(self):
        q, k, v = draw(12)
        for name in make_readers(torch.zeros(1)):
            for changed in (torch.arange(5.0), torch.arange(9.0), torch.ones(9), torch.arange(18.0)[::2],
                            torch.arange(5.0).requires_grad_(), torch.arange(5.0)):
                with self.subTest(name, size=len(changed), stride=changed.stride(0), grad=changed.requires_grad), torch.no_grad():
                    score = make_readers(changed)[name]
                    dense = lambda s: score(s, None, None, torch.arange(12)[:, None], torch.arange(12))
                    result, lse = fa_mlir.flex_attention(q, k, v, score_mod=score, return_lse=True)
                    expected = attend(q, k, v, score=dense)
                    torch.testing.assert_close(lse, expected[1], rtol=1e-5, atol=1e-5)
                    torch.testing.assert_close(result, expected[0], rtol=1e-4, atol=1e-5)

    def test_sign_of_zero(self):
        q, k, v = draw(8)
        make = lambda zero: lambda s, b, h, i, j: s + torch.where(torch.full_like(s, zero).reciprocal() > 0, j, -j)
        one, other = (fa_mlir.flex_attention(q, k, v, score_mod=make(zero)) for zero in (0.0, -0.0))
        self.assertFalse(torch.equal(one, other))

    def test_are_read_once(self):
        """A trace that reads no attribute serves all sizes; one that does, each size once."""
        q, k, v = draw(12)
        count = 0
        with unittest.mock.patch.object(_translate, "translate", wraps=_translate.translate) as traced:
            for size, reads in ((5, 1), (9, 2), (5, 2), (9, 2)):
                fa_mlir.flex_attention(q, k, v, score_mod=make_readers(torch.arange(float(size)))["shape"])
                self.assertEqual(traced.call_count - count, reads)
            count = traced.call_count
            make = lambda t: lambda s, b, h, i, j: s + t[j]
            for size in (20, 30, 40):
                fa_mlir.flex_attention(q, k, v, score_mod=make(torch.zeros(size)))
                self.assertEqual(traced.call_count - count, 1)


def make_documents(ids, window):
    documents = lambda b, h, q, k: ids[b, q] == ids[b, k]
    return and_masks(documents, lambda b, h, q, k: (q >= k) & (q - k < window))


def make_relative(table):
    return lambda s, b, h, q, k: s + table[h, q - k]


@needs_torch
class Broken(unittest.TestCase):
    """torch.compile with graph breaks, as older versions of PyTorch have them at functions."""

    def test_equals_eager(self):
        q, k, v = (x.requires_grad_() for x in draw(16))
        table = torch.rand(HEADS, requires_grad=True)
        step = lambda q, k, v: fa_mlir.flex_attention(q * 2, k, v, lambda s, b, h, i, j: s + table[h]) + 1
        results = []
        for function in (step, torch.compile(step, backend="eager"), torch.compile(step, backend="eager", dynamic=True)):
            o = function(q, k, v)
            results.append([o, *torch.autograd.grad(o, [q, k, v, table], torch.ones_like(o))])
        for result in results[1:]:
            for one, other in zip(results[0], result):
                torch.testing.assert_close(one, other)


def on_each_device(test):
    """Run a test on each device, on which new tensors then are."""
    @functools.wraps(test)
    def run(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch._dynamo.reset()
                with torch.device(device):
                    test(self)
    return run


NEAR = types.SimpleNamespace(size=5)


def within_window(b, h, q_idx, kv_idx):
    return abs(q_idx - kv_idx) < NEAR.size


@needs_torch
@unittest.skipUnless(VERSION >= (2, 11), "needs PyTorch >= 2.11")
class Compiled(unittest.TestCase):
    """torch.compile(fullgraph=True): functions of a compiled region's inputs."""

    def make(self, **options):
        self.counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        step = lambda q, k, v, score, mask: fa_mlir.flex_attention(q * 2, k, v, score_mod=score, block_mask=mask) + 1
        return step, torch.compile(step, fullgraph=True, backend=self.counter, **options)

    @on_each_device
    def test_one_graph_of_all_lengths(self):
        step, compiled = self.make(dynamic=True)
        for length in (33, 40, 47, 64, 65, 77, 96, 128, 150, 200):
            q, k, v = (x.requires_grad_() for x in draw(length))
            mask = make_documents(torch.randint(0, 3, (BATCH, length)).sort(1).values, 20)
            score = make_relative(torch.rand(HEADS, 2 * length, requires_grad=True))
            block = create_block_mask(mask, BATCH, HEADS, length, length, device=q.device)
            results, do = [], torch.randn_like(q)
            table = score.__closure__[0].cell_contents
            for function in (step, compiled):
                o = function(q, k, v, score, block)
                results.append([o, *torch.autograd.grad(o, [q, k, v, table], do)])
            for result, expected in zip(*results):
                torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
        self.assertEqual(count_graphs(self.counter), 1)

    # Of torch.tensor some versions of PyTorch have no value while a mode looks on.
    NOT_COMPILED = {"constant": "Missing FakeTensor"}

    def test_every_function(self):
        """All masks and scores of both tables, in one graph and one program over the lengths: what eager mode gives, bit for bit."""
        import test_flex
        for device in devices():
            tables = {"users": make_functions, "flex": lambda length: test_flex.make_functions(length, device)}
            for table, make in tables.items():
                with self.subTest(device=device, table=table), torch.no_grad(), torch.device(device):
                    skip_without(self, device)
                    self.compile_all(table, make, device)

    def compile_all(self, table, make, device):
        lengths = (57, 24, 64, 96, 130)  # of the first no size is another's, which PyTorch would take for the same
        made = [make(length) for length in lengths]
        compile_at_once(*draw(lengths[0]), made[0].values())
        for name in made[0]:
            with self.subTest(name, table=table, device=device):
                torch._dynamo.reset()
                counter = torch._dynamo.testing.CompileCounterWithBackend("eager")
                compiled = torch.compile(lambda q, k, v, score, mask: fa_mlir.flex_attention(
                    q, k, v, score_mod=score, block_mask=mask, return_lse=True), fullgraph=True, dynamic=True, backend=counter)
                if table == "users" and name in self.NOT_COMPILED:
                    try:
                        compiled(*draw(24), *made[0][name][::-1])
                        torch._dynamo.reset()
                    except Exception as error:
                        self.assertRegex(str(error), self.NOT_COMPILED[name])
                        continue
                for index, (length, functions) in enumerate(zip(lengths, made)):
                    x, (mask, score) = draw(length), functions[name]
                    expected = fa_mlir.flex_attention(*x, score_mod=score, block_mask=mask, return_lse=True)
                    count = count_programs()
                    for one, other in zip(compiled(*x, score, mask), expected):
                        self.assertTrue(torch.equal(one, other))
                    # A view or an index that is a constant is of the graph, so that the first may have another program.
                    self.assertLessEqual(count_programs(), count + (index == 0))
                # Of "partial" a number changes, too.
                self.assertEqual(count_graphs(counter) - (name in self.NOT_COMPILED), len(lengths) if name == "partial" else 1)

    @on_each_device
    def test_numbers_are_guarded(self):
        for options in ({}, dict(dynamic=True)):
            step, compiled = self.make(**options)
            q, k, v = draw(32)
            ids = torch.zeros(BATCH, 32, dtype=torch.int64)
            for window in (3, 5, 9, 3):
                mask = make_documents(ids, window)
                with self.subTest(window=window, **options):
                    torch.testing.assert_close(compiled(q, k, v, None, mask), step(q, k, v, None, mask))
            self.assertEqual(count_graphs(self.counter), 3)

    @on_each_device
    def test_attributes_are_guarded(self):
        for options in ({}, dict(dynamic=True)):
            for name in ("shape", "len", "stride", "requires_grad"):
                torch._dynamo.reset()
                step, compiled = self.make(**options)
                q, k, v = draw(12)
                for t in (torch.arange(5.0), torch.arange(9.0), torch.arange(18.0)[::2], torch.arange(5.0, requires_grad=True),
                          torch.arange(5.0)):
                    with self.subTest(name, size=len(t), stride=t.stride(0), grad=t.requires_grad, **options):
                        score = make_readers(t)[name]
                        torch.testing.assert_close(compiled(q, k, v, score, None), step(q, k, v, score, None))

    @on_each_device
    def test_views_of_captures(self):
        step, compiled = self.make()
        q, k, v = draw(16)
        for _ in range(2):
            m = torch.rand(16, 16)
            score = lambda s, b, h, i, j: s + m.T[i, j] + m[:, 1][j] + m[2:][h, j]
            torch.testing.assert_close(compiled(q, k, v, score, None), step(q, k, v, score, None))

    def make_module(self, make):
        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.slopes = torch.nn.Parameter(torch.rand(HEADS, 64)), torch.nn.Parameter(torch.rand(HEADS))
                self.window, self.scale = 7, 0.5

            def forward(self, q, k, v):
                return fa_mlir.flex_attention(q * 2, k, v, **make(self, q)) + 1
        return Module()

    @on_each_device
    def test_made_inside(self):
        """Functions made in forward: as in eager mode, gradients of what they read of the module too, in a graph for all lengths."""
        def relative(module, q):
            def score(s, b, h, i, j):
                return s + module.table[h, i - j] * module.scale
            return dict(score_mod=score, block_mask=lambda b, h, i, j: i >= j)

        def window(module, q):
            size = module.window
            inner = lambda b, h, i, j: i - j < size
            return dict(block_mask=and_masks(inner, lambda b, h, i, j: (i >= j) & ~(i == j + 2)))

        def views(module, q):
            t = module.table * 2
            return dict(score_mod=lambda s, b, h, i, j: s + t.T[i % 9, h] + t[h][j] - t[h, 3] + t[h, 2:][j] + t[-1, j])

        def steps(module, q):
            def score(s, b, h, i, j):
                same = s
                s += module.slopes[h]
                for n in range(2):
                    same.mul_(1.5)
                return torch.where(i >= j + n, s, torch.tanh(same / 2) + 2.0 ** -(i - j).abs() + i.to(s.dtype) * module.slopes[0])
            return dict(score_mod=score)

        def partial(module, q):
            return dict(score_mod=functools.partial(lambda s, b, h, i, j, t: s + t[h], t=module.slopes))

        def nested(module, q):
            inner = lambda t: lambda n: t[n]
            slope = inner(module.slopes)
            return dict(score_mod=lambda s, b, h, i, j: F.silu(s) + slope(h) * (i - j))
        for make in (relative, window, views, steps, partial, nested):
            for options in ({}, dict(dynamic=True)):
                torch._dynamo.reset()
                self.counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
                module = self.make_module(make)
                compiled = torch.compile(module, fullgraph=True, backend=self.counter, **options)
                for length in (24, 40, 33, 24):
                    with self.subTest(make.__name__, length=length, **options):
                        q, k, v = (x.requires_grad_() for x in draw(length))
                        results, do = [], torch.randn_like(q)
                        for function in (module, compiled):
                            o = function(q, k, v)
                            results.append([o, *torch.autograd.grad(o, [q, k, v, module.table, module.slopes], do, allow_unused=True)])
                        for result, expected in zip(*results):
                            self.assertEqual(result is None, expected is None)
                            if result is not None:
                                torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
                self.assertLessEqual(count_graphs(self.counter), 1 if options else 2)

    @on_each_device
    def test_made_inside_by_numbers(self):
        """What a function made inside reads is guarded: numbers and sizes, attributes of modules and of functions."""
        def settings():
            pass
        make = lambda module, q: dict(block_mask=lambda b, h, i, j: i - j < module.window + settings.more,
                                      score_mod=lambda s, b, h, i, j: s * module.scale + j * module.table.shape[1])
        module = self.make_module(make)
        for options in ({}, dict(dynamic=True)):
            torch._dynamo.reset()
            compiled = torch.compile(module, fullgraph=True, backend="aot_eager", **options)
            for module.window, module.scale, settings.more, size in ((7, 0.5, 0, 64), (3, 0.5, 0, 64), (3, -0.25, 1, 64), (3, 1.5, 2, 32)):
                module.table = torch.nn.Parameter(torch.rand(HEADS, size))
                x = draw(16)
                torch.testing.assert_close(compiled(*x), module(*x))

    @on_each_device
    def test_export(self):
        module = self.make_module(lambda module, q: dict(block_mask=lambda b, h, i, j: i >= j,
                                                         score_mod=lambda s, b, h, i, j: s + module.table[h, i - j]))
        x = draw(16)
        exported = torch.export.export(module, tuple(x)).module()
        torch.testing.assert_close(exported(*x), module(*x))

    @on_each_device
    def test_says_what_it_takes(self):
        q, k, v = draw(16)
        table = torch.rand(HEADS)
        cases = {"value": (lambda s, b, h, i, j: s if s > 0 else -s, "ata-dependent"), "detach": (lambda s, b, h, i, j: s + s.detach(), "cuts a gradient"),
                 "whole": (lambda s, b, h, i, j: s + h + table, "single elements"), "unknown": (lambda s, b, h, i, j: torch.lgamma(s), "no translation"),
                 "random": (lambda s, b, h, i, j: s * torch.rand_like(s), "draws random numbers"),
                 "change": (lambda s, b, h, i, j: s + table.add_(1)[h], "only read")}
        for name, (score, words) in cases.items():
            torch._dynamo.reset()
            _, compiled = self.make()
            with self.subTest(name), self.assertRaisesRegex(Exception, words):
                compiled(q, k, v, score, None)

    @on_each_device
    def test_unseen_operations(self):
        """What PyTorch does not hand on while it compiles, as abs(x) in some versions, is read in its graph."""
        q, k, v = draw(16)
        slopes, hardswish = torch.rand(HEADS), torch.nn.functional.hardswish
        power = pow if VERSION >= (2, 15) else lambda x, n: x ** n
        near = lambda x: power(abs(x), 2) < 30

        def score(s, b, h, i, j):
            distance, other = abs(i - j), abs(j - i)
            return hardswish(s) - slopes[h] * distance + other / (distance + 1) + abs(torch.nn.functional.hardsigmoid(abs(s)))
        mask = and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: near(i - j))
        calls = {"outside": lambda q: fa_mlir.flex_attention(q, k, v, score, mask),
                 "inside": lambda q: fa_mlir.flex_attention(q, k, v, lambda *x: score(*x),
                                                            and_masks(lambda *x: mask(*x), lambda b, h, i, j: abs(j) < 9)),
                 "result": lambda q: fa_mlir.flex_attention(q, k, v, lambda s, b, h, i, j: abs(s)),
                 "of a module": lambda q: fa_mlir.flex_attention(q, k, v, None, within_window)}
        for name, call in calls.items():
            torch._dynamo.reset()
            compiled = torch.compile(call, fullgraph=True, backend="eager")
            for NEAR.size in (5, 3) if name == "of a module" else (5,):
                with self.subTest(name, window=NEAR.size):
                    torch.testing.assert_close(compiled(q), call(q))

    @on_each_device
    def test_unseen_operations_where_it_matters_when(self):
        """What is read in the graph is not known to be before or after a change, or with gradients: it is right, or refused."""
        q, k, v = draw(16)

        def added(s, b, h, i, j):
            distance = i - j
            before = abs(distance)
            distance += 3
            return s + before * distance

        def changed(s, b, h, i, j):
            distance = s - j
            before = abs(distance)
            torch.nn.functional.relu(distance, True)
            return s + before * distance

        def unseen(s, b, h, i, j):
            double = s * 2
            torch.nn.functional.hardswish(double, inplace=True)
            return double

        def cut(s, b, h, i, j):
            with torch.no_grad():
                size = abs(s)
            return s + size
        for score in (added, changed, unseen, cut):
            torch._dynamo.reset()
            with self.subTest(score.__name__):
                call = lambda q: fa_mlir.flex_attention(q, k, v, score_mod=lambda *x: score(*x))
                try:
                    result = torch.compile(call, fullgraph=True, backend="eager")(q)
                except Exception as error:
                    self.assertRegex(str(error), "write it as a method|gradients are off")
                else:
                    self.assertIsNot(score, cut)
                    torch.testing.assert_close(result, call(q))


@needs_torch
class Refused(unittest.TestCase):
    def test_says_what_to_write(self):
        q = torch.randn(1, 1, 8, 16)
        table, array, small = torch.zeros(8), torch.zeros(8).numpy(), torch.zeros(8, dtype=torch.int8)
        complexes, words, five, sparse = table.to(torch.complex64), table.to(torch.uint16), torch.zeros(1, 1, 1, 8, 8), table.to_sparse()
        bytes_, number = table.to(torch.float8_e4m3fn), torch.tensor(3)
        special = type("Special", (torch.nn.Parameter,), {})(torch.ones(8))

        def change_view(b, h, i, j):
            view = i.view(())
            view *= 2
            return view > j

        def change_viewed(b, h, i, j):
            view = i.view(())
            i *= 2
            return view > j

        def write_element(b, h, i, j):
            table[3] = 5.0
            return table[j] > i
        cases = [
            (TypeError, r"cannot be called with \(b, h, q_idx, kv_idx\), as a mask_mod", lambda q, k: q >= k),
            (_translate.Untranslatable, r"users.py:\d+: Python asks for the value .*torch.where", lambda b, h, q, k: 0 <= q - k <= 5),
            (_translate.Untranslatable, r"users.py:\d+: NumPy is given a tensor.* torch.from_numpy before the call",
             lambda b, h, q, k: array[q] > 0),
            (_translate.Untranslatable, r"users.py:\d+: a dictionary is looked up by a tensor.* make its values a tensor",
             lambda b, h, q, k: {0: 1}[h] > q),
            (_translate.Untranslatable, r"users.py:\d+: .* an index of a list .* make a list a tensor", lambda b, h, q, k: [1, 2][h] > q),
            (_translate.Untranslatable, r"users.py:\d+: .*without the values of tensors, as take\(\)",
             lambda b, h, q, k: torch.take(table, q) > 0),
            (_translate.Untranslatable, r"users.py:\d+: 'aten.arange' makes a tensor of 1 dimensions; make it before the call",
             lambda b, h, q, k: torch.arange(4)[h] > q),
            (_translate.Untranslatable, r"users.py:\d+: an integer to the power of a tensor .*float\(\)", lambda b, h, q, k: q ** k > 3),
            (_translate.Untranslatable, r"users.py:\d+: an index has torch.float32.*long\(\)", lambda b, h, q, k: table[q / 2] > 0),
            (_translate.Untranslatable, r"users.py:\d+: .*no tensors of torch.complex64, expected float16.* x.real and x.imag",
             lambda b, h, q, k: complexes[q].real > 0),
            (_translate.Untranslatable, r"users.py:\d+: .*no tensors of torch.uint16.* x.to\(torch.int64\)", lambda b, h, q, k: words[q] > 0),
            (_translate.Untranslatable, r"users.py:\d+: .*no tensors of torch.float8_e4m3fn.* x.to\(torch.float32\)",
             lambda b, h, q, k: bytes_[q].float() > 0),
            (_translate.Untranslatable, r"users.py:\d+: a captured tensor has 5 dimensions, expected 4 at most.*flatten\(0, 1\)",
             lambda b, h, q, k: five[b, b, h, q, k] > 0),
            (_translate.Untranslatable, r"users.py:\d+: a captured tensor has the layout torch.sparse_coo.*to_dense",
             lambda b, h, q, k: sparse[q] > 0),
            (_translate.Untranslatable, r"users.py:\d+: .* compute what needs a whole tensor before the call",
             lambda b, h, q, k: (table > q).any()),
            (_translate.Untranslatable, r"users.py:\d+: 'add_' changes a captured tensor", lambda b, h, q, k: table.add_(q)[k] > 0),
            (_translate.Untranslatable, r"users.py:\d+: 'add_' changes a captured tensor", lambda b, h, q, k: number.add_(1) > k),
            (_translate.Untranslatable, r"users.py:\d+: 'add' changes a view, or what has one", lambda b, h, q, k: table[3].add_(1) > k),
            (_translate.Untranslatable, r"users.py:\d+: 'mul' changes a view, or what has one", change_view),
            (_translate.Untranslatable, r"users.py:\d+: 'mul' changes a view, or what has one", change_viewed),
            (_translate.Untranslatable, r"users.py:\d+: 'copy' changes a view, or what has one", write_element),
            (_translate.Untranslatable, r"users.py:\d+: NumPy is given a tensor; read a captured one by .tolist\(\)",
             lambda b, h, q, k: q < int(number.numpy())),
            (_translate.Untranslatable, r"users.py:\d+: NumPy is given a tensor; read a captured one by .tolist\(\)",
             lambda b, h, q, k: q < int(number.__array__())),
            (_translate.Untranslatable, r"users.py:\d+: operation 'aten.searchsorted' has no translation",
             lambda b, h, q, k: torch.searchsorted(table, q.float()) == k),
            (_translate.Untranslatable, r"users.py:\d+: operation 'aten.rand' has no translation", lambda b, h, q, k: torch.rand(()) > 0.5),
            (_translate.Untranslatable, r"users.py:\d+: a captured tensor is of a subclass .*as_subclass\(torch.Tensor\)",
             lambda b, h, q, k: special[q] > 0),
            (KeyError, "x", lambda b, h, q, k: {}["x"]),
            (_translate.Untranslatable, r"users.py:\d+: 'clamp' takes 300, but its tensor has int8, -128 to 127; .*long\(\)",
             lambda b, h, q, k: small[k].clamp(max=300) > 0),
            (_translate.Untranslatable, r"users.py:\d+: 'view' as torch.int32 reads bits.* write .to\(torch.int32\)",
             lambda b, h, q, k: table[k].view(torch.int32) > 0),
        ]
        for error, expected, mask in cases:
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                fa_mlir.flex_attention(q, q, q, block_mask=mask)
        self.assertEqual((int(number), float(table.abs().sum())), (3, 0.0))
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "an element of a tensor is written"):
            torch.compile(lambda x: fa_mlir.flex_attention(x, x, x, block_mask=write_element), backend="eager", fullgraph=True)(q)
        self.assertEqual(float(table.abs().sum()), 0.0)

    def test_gradients_of_parts(self):
        """Gradients are those of the values, so what PyTorch has others for is refused."""
        q = torch.randn(1, 1, 8, 16)
        table = torch.rand(8, requires_grad=True)

        class Straight(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return torch.round(x)

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        def without(s, b, h, i, j):
            with torch.no_grad():
                z = torch.tanh(s)
            return s + z

        def inference(s, b, h, i, j):
            with torch.inference_mode():
                return s + table[j]
        off = "computes a float where gradients are off.* write it in standard operations"
        cut = "cuts a gradient.* before the call"
        cases = [("without", off, without), ("inference", off, inference), ("function", off, lambda s, *x: Straight.apply(s)),
                 ("of a capture", off, lambda s, b, h, i, j: s + Straight.apply(table[j])),
                 ("score", cut, lambda s, *x: s.detach()), ("capture", cut, lambda s, b, h, i, j: s + table.detach()[j]),
                 ("element", cut, lambda s, b, h, i, j: s + table[j].detach()), ("data", cut, lambda s, *x: s.data * 2),
                 ("function of torch", cut, lambda s, *x: torch.detach(s)), ("op", cut, lambda s, *x: torch.ops.aten.detach(s)),
                 ("hook", "'register_hook' .* leave it out", lambda s, *x: s.register_hook(lambda g: g * 0) and s),
                 ("state", "'requires_grad' .* leave it out", lambda s, *x: s * 2 if s.requires_grad else s)]
        for name, words, score in cases:
            for keep in (True, False):
                with self.subTest(name, keep=keep), torch.set_grad_enabled(keep), \
                        self.assertRaisesRegex(NotImplementedError, r"users.py:\d+: .*" + words):
                    fa_mlir.flex_attention(q, q, q, score_mod=score)
        # Masks have no gradients, tensors without one nothing to cut; made before the call, it is a tensor as others.
        visible = lambda b, h, i, j: Straight.apply(table[j]).detach() > -1
        plain = table.detach()
        expected = fa_mlir.flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + plain[j])
        result = fa_mlir.flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + plain.detach()[j], block_mask=visible)
        self.assertTrue(torch.equal(result, expected))


if __name__ == "__main__":
    unittest.main()
