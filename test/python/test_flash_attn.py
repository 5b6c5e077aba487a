"""flash-attn's functions on tensors: numbers, gradients, dropout, what is refused."""

import inspect
import unittest
import warnings
from unittest import mock

from support import attend, check, count_graphs, count_programs, devices, needs_torch, skip_without, torch, visible

if torch:
    import fa_mlir
    from fa_mlir import _program, flash_attn, flash_attn_3

# Each a row of choices: of the function, of the mask, a factor on scores.
CASES = [
    dict(), dict(causal=True), dict(left=5), dict(left=5, right=3), dict(right=2), dict(causal=True, left=40),
    dict(causal=True, softcap=2.0), dict(alibi="heads"), dict(alibi="batch", causal=True), dict(scale=0.3),
    dict(chunk=17, causal=True), dict(chunk=40),
]
SIGNATURES = {
    "flash_attn_func": "q k v dropout_p=0.0 softmax_scale=None causal=False window_size=(-1,-1) softcap=0.0 "
                       "alibi_slopes=None deterministic=False return_attn_probs=False",
    "flash_attn_qkvpacked_func": "qkv dropout_p=0.0 softmax_scale=None causal=False window_size=(-1,-1) softcap=0.0 "
                                 "alibi_slopes=None deterministic=False return_attn_probs=False",
    "flash_attn_kvpacked_func": "q kv dropout_p=0.0 softmax_scale=None causal=False window_size=(-1,-1) softcap=0.0 "
                                "alibi_slopes=None deterministic=False return_attn_probs=False",
    "flash_attn_varlen_func": "q k v cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p=0.0 "
                              "softmax_scale=None causal=False window_size=(-1,-1) softcap=0.0 alibi_slopes=None "
                              "deterministic=False return_attn_probs=False block_table=None",
    "flash_attn_varlen_qkvpacked_func": "qkv cu_seqlens max_seqlen dropout_p=0.0 softmax_scale=None causal=False "
                                        "window_size=(-1,-1) softcap=0.0 alibi_slopes=None deterministic=False "
                                        "return_attn_probs=False",
    "flash_attn_varlen_kvpacked_func": "q kv cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p=0.0 "
                                       "softmax_scale=None causal=False window_size=(-1,-1) softcap=0.0 alibi_slopes=None "
                                       "deterministic=False return_attn_probs=False",
    "flash_attn_with_kvcache": "q k_cache v_cache k=None v=None rotary_cos=None rotary_sin=None cache_seqlens=None "
                               "cache_batch_idx=None cache_leftpad=None block_table=None softmax_scale=None causal=False "
                               "window_size=(-1,-1) softcap=0.0 rotary_interleaved=True alibi_slopes=None num_splits=0 "
                               "return_softmax_lse=False",
    # flash-attn 1's.
    "flash_blocksparse_attn_func": "qkv cu_seqlens blockmask dropout_p max_s softmax_scale=None causal=False "
                                   "return_attn_probs=False convert_mask=True",
}
SIGNATURES_3 = {
    "flash_attn_func": "q k v softmax_scale=None causal=False qv=None q_descale=None k_descale=None v_descale=None "
                       "window_size=(-1,-1) attention_chunk=0 softcap=0.0 num_splits=1 pack_gqa=None "
                       "deterministic=False sm_margin=0 return_attn_probs=False",
    "flash_attn_qkvpacked_func": "qkv softmax_scale=None causal=False q_descale=None k_descale=None v_descale=None "
                                 "window_size=(-1,-1) attention_chunk=0 softcap=0.0 deterministic=False "
                                 "num_heads_q=None sm_margin=0 return_attn_probs=False",
    "flash_attn_varlen_func": "q k v cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k seqused_q=None "
                              "seqused_k=None softmax_scale=None causal=False qv=None q_descale=None k_descale=None "
                              "v_descale=None window_size=(-1,-1) attention_chunk=0 softcap=0.0 num_splits=1 "
                              "pack_gqa=None deterministic=False sm_margin=0 return_attn_probs=False",
    "flash_attn_with_kvcache": "q k_cache v_cache k=None v=None qv=None rotary_cos=None rotary_sin=None "
                               "cache_seqlens=None cache_batch_idx=None cache_leftpad=None page_table=None "
                               "cu_seqlens_q=None cu_seqlens_k_new=None max_seqlen_q=None rotary_seqlens=None "
                               "q_descale=None k_descale=None v_descale=None softmax_scale=None causal=False "
                               "window_size=(-1,-1) attention_chunk=0 softcap=0.0 rotary_interleaved=True "
                               "scheduler_metadata=None num_splits=0 pack_gqa=None sm_margin=0 "
                               "return_softmax_lse=False",
    "flash_attn_combine": "out_partial lse_partial out=None out_dtype=None",
}


@needs_torch
class Numbers(unittest.TestCase):
    def draw(self, device, dtype, shapes=((2, 113, 4, 64), (2, 203, 2, 64), (2, 203, 2, 64))):
        torch.manual_seed(5)
        self.dtype = dtype
        return [torch.randn(*shape, device=device).to(dtype).requires_grad_() for shape in shapes]

    def compare(self, device, dtype, case):
        q, k, v = self.draw(device, dtype)
        slopes = None
        if "alibi" in case:
            slopes = torch.rand(*((4,) if case["alibi"] == "heads" else (2, 4)), device=device)
        mask = {name: case[name] for name in ("left", "right", "causal", "chunk") if name in case}
        seen = visible(113, 203, device, **mask)
        distance = (torch.arange(113, device=device)[:, None] + 90 - torch.arange(203, device=device)).abs()

        def score(s):
            if "softcap" in case:
                s = case["softcap"] * torch.tanh(s / case["softcap"])
            return s if slopes is None else s - slopes.to(s.dtype).reshape(-1, 4, 1, 1) * distance

        shared = dict(softmax_scale=case.get("scale"), causal=case.get("causal", False), return_attn_probs=True,
                      window_size=(case.get("left", -1), case.get("right", -1)), softcap=case.get("softcap", 0.0))
        if "chunk" in case:
            o, lse = flash_attn_3.flash_attn_func(q, k, v, attention_chunk=case["chunk"], **shared)
        else:
            o, lse, none = flash_attn.flash_attn_func(q, k, v, alibi_slopes=slopes, **shared)
            self.assertEqual(none.numel(), 0)
        self.assertTrue(o.is_contiguous() and o.dtype == dtype and lse.dtype == torch.float32)
        do, dlse = torch.randn_like(o), torch.randn_like(lse)
        results = (o, lse, *torch.autograd.grad([o, lse], [q, k, v], [do, dlse]))
        plain = []
        for kind in (torch.float64, dtype):
            leaves = [x.detach().to(kind).requires_grad_() for x in (q, k, v)]
            out, sums = attend(*(x.transpose(1, 2) for x in leaves), seen, score, scale=case.get("scale"))
            out = out.transpose(1, 2)
            plain.append((out, sums, *torch.autograd.grad([out, sums], leaves, [do.to(kind), dlse.to(sums.dtype)])))
        for name, result, reference, low in zip(("o", "lse", "dq", "dk", "dv"), results, *plain):
            self.assertFalse(result.isnan().any(), name)
            check(self, name, result, reference, low)

    def test_cpu(self):
        skip_without(self, "cpu")
        for case in CASES:
            with self.subTest(**case):
                self.compare("cpu", torch.float32, case)
        for dtype in (torch.bfloat16, torch.float16):
            with self.subTest(dtype=dtype):
                self.compare("cpu", dtype, CASES[1])

    def test_cuda(self):
        skip_without(self, "cuda")
        for dtype, cases in ((torch.bfloat16, CASES), (torch.float16, CASES[1:4]), (torch.float32, CASES[6:8])):
            for case in cases:
                with self.subTest(dtype=dtype, **case):
                    self.compare("cuda", dtype, case)

    def test_packed(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = self.draw(device, torch.float16, ((2, 65, 4, 32),) * 3)
                expected = flash_attn.flash_attn_func(q, k, v, causal=True)
                qkv, kv = torch.stack([q, k, v], 2).detach().requires_grad_(), torch.stack([k, v], 2)
                do = torch.randn_like(expected)
                for results in (flash_attn.flash_attn_qkvpacked_func(qkv, causal=True),
                                flash_attn.flash_attn_kvpacked_func(q, kv, causal=True),
                                flash_attn_3.flash_attn_qkvpacked_func(qkv.flatten(2, 3), causal=True, num_heads_q=4)):
                    self.assertTrue(torch.equal(results, expected))
                flash_attn.flash_attn_qkvpacked_func(qkv, causal=True).backward(do)
                gradients = torch.autograd.grad(expected, [q, k, v], do)
                self.assertTrue(torch.equal(qkv.grad, torch.stack(gradients, 2)))

    def test_packed_gradients(self):
        """A gradient of qkv or kv is what kernels wrote: no operation puts it together, whatever the layout."""
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                self.check_packed_gradients(device)

    def check_packed_gradients(self, device):
        draw = lambda *shape: torch.randn(shape, dtype=torch.float16, device=device)
        q, long = draw(2, 33, 4, 16), draw(66, 4, 16)
        offsets = torch.tensor([0, 20, 66], dtype=torch.int32, device=device)
        seed = lambda: torch.manual_seed(3)
        split, concatenate = lambda x: x.split([4, 2, 2], 2), lambda parts: torch.cat(parts, 2)
        cases = {
            "qkv": (draw(2, 33, 3, 4, 16), lambda x: flash_attn.flash_attn_qkvpacked_func(x, causal=True), 2),
            "dropout": (draw(2, 33, 3, 4, 16), lambda x: flash_attn.flash_attn_qkvpacked_func(x, seed() and 0.25), 2),
            "permuted": (draw(2, 3, 4, 33, 16), lambda x: flash_attn.flash_attn_qkvpacked_func(x.permute(0, 3, 1, 2, 4)), 1),
            "kv": (draw(2, 40, 2, 2, 16), lambda x: flash_attn.flash_attn_kvpacked_func(q, x), 2),
            "heads": (draw(2, 33, 8, 16), lambda x: flash_attn_3.flash_attn_qkvpacked_func(x, num_heads_q=4), None),
            "varlen qkv": (draw(66, 3, 4, 16),
                           lambda x: flash_attn.flash_attn_varlen_qkvpacked_func(x, offsets, 46, causal=True), 1),
            "varlen kv": (draw(66, 2, 4, 16),
                          lambda x: flash_attn.flash_attn_varlen_kvpacked_func(long, x, offsets, offsets, 46, 46), 1)}
        for name, (packed, call, dim) in cases.items():
            with self.subTest(case=name):
                unpack, pack = (split, concatenate) if dim is None else (lambda x: x.unbind(dim), lambda x: torch.stack(x, dim))
                packed.requires_grad_()
                output = call(packed)
                do = torch.randn_like(output)
                with torch.profiler.profile() as profiler:
                    output.backward(do)
                self.assertEqual({event.key for event in profiler.key_averages()}
                                 & {"aten::stack", "aten::cat", "aten::copy_", "aten::clone", "aten::contiguous"}, set())
                self.assertEqual(packed.grad.stride(), packed.stride())
                # Parts that are packed by an operation of PyTorch's have the same gradients.
                parts = [x.detach().requires_grad_() for x in unpack(packed)]
                again = call(pack(parts))
                self.assertTrue(torch.equal(again, output))
                self.assertTrue(torch.equal(packed.grad, pack(torch.autograd.grad(again, parts, do))))

    def test_packed_parts(self):
        """Where a gradient of qkv cannot be what kernels wrote, it is put together."""
        qkv = torch.randn(2, 33, 3, 4, 16, requires_grad=True)
        once = torch.autograd.grad(flash_attn.flash_attn_qkvpacked_func(qkv, causal=True).sum(), qkv)[0]
        twice = [flash_attn.flash_attn_qkvpacked_func(qkv, causal=True) for _ in range(2)]
        (twice[0] + twice[1]).sum().backward()
        self.assertTrue(torch.equal(qkv.grad, 2 * once))
        run = lambda x: flash_attn.flash_attn_qkvpacked_func(x, causal=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            output = run(qkv)
        self.assertTrue(torch.equal(torch.autograd.grad(output.sum(), qkv)[0], once))
        output = torch.utils.checkpoint.checkpoint(run, qkv, use_reentrant=False)
        self.assertTrue(torch.equal(torch.autograd.grad(output.sum(), qkv)[0], once))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            gradient = torch.autograd.grad(run(qkv).float().sum(), qkv)[0]
        self.assertEqual(gradient.dtype, torch.float32)
        self.assertLess((gradient - once).abs().max().item(), 0.05)
        with self.assertRaisesRegex(NotImplementedError, "no second derivatives"):
            torch.autograd.grad(torch.autograd.grad(run(qkv).sum(), qkv, create_graph=True)[0].sum(), qkv)
        # Gradients that flow in may have no memory, or memory of the other sign.
        do = torch.randn_like(output)
        negative, given = torch._neg_view(do), torch.autograd.grad(run(qkv), qkv, do)[0]
        self.assertTrue(torch.equal(torch.autograd.grad(run(qkv), qkv, negative)[0], -given))
        self.assertFalse(torch.autograd.grad(run(qkv), qkv, torch._efficientzerotensor(do.shape))[0].any())
        for call in (run, lambda x: flash_attn.flash_attn_func(*x.unbind(2), causal=True)):
            with self.assertRaisesRegex(NotImplementedError, "no rules for batched gradients"):
                torch.autograd.grad(call(qkv), qkv, torch.stack([do, do]), is_grads_batched=True)
        on_meta = torch.randn(2, 9, 3, 2, 16, device="meta", requires_grad=True)
        run(on_meta).sum().backward()
        self.assertEqual(on_meta.grad.shape, on_meta.shape)

    def test_takes_strides(self):
        q, k, v = self.draw("cpu", torch.float32)
        expected = flash_attn.flash_attn_func(q, k, v)
        wide = torch.zeros(2, 203, 7, 80)
        wide[:, :, 3:5, :64] = k.detach()
        self.assertTrue(torch.equal(flash_attn.flash_attn_func(q, wide[:, :, 3:5, :64], v), expected))
        with self.assertRaisesRegex(fa_mlir.Error, "the last dimension of 'k' has stride 406, expected 1; copy"):
            flash_attn.flash_attn_func(q, k.detach().permute(0, 3, 2, 1).clone(memory_format=torch.contiguous_format)
                                       .permute(0, 3, 2, 1), v)

    def test_new_windows_compile_nothing(self):
        # Without gradients, whose programs are compiled beside what runs.
        q, k, v = (x.detach() for x in self.draw("cpu", torch.float32))
        run = lambda left, cap: flash_attn.flash_attn_func(q, k, v, window_size=(left, 0), softcap=cap)
        run(3, 5.0)
        count = count_programs()
        for left, cap in ((4, 5.0), (70, 1.5), (0, 30.0)):
            run(left, cap)
        self.assertEqual(count_programs(), count)


@needs_torch
class Packed(unittest.TestCase):
    """Sequences one after the other give what each gives alone."""

    ROWS, KEYS = (5, 0, 33, 1, 64), (9, 3, 33, 17, 40)

    def draw(self, device):
        torch.manual_seed(6)
        offsets = [torch.tensor((0,) + lengths, device=device).cumsum(0).int() for lengths in (self.ROWS, self.KEYS)]
        return *offsets, *[torch.randn(count, heads, 32, device=device, requires_grad=True)
                           for count, heads in ((sum(self.ROWS), 4), (sum(self.KEYS), 2), (sum(self.KEYS), 2))]

    def compare(self, device, one, packed, used=None):
        """Compare outputs, lse and gradients; `used` are the lengths of which only so many tokens count."""
        rows, keys, q, k, v = self.draw(device)
        output, lse = packed(q, k, v, rows, keys)[:2]
        do, dlse = torch.randn_like(output), torch.randn_like(lse)
        expected, sums = torch.zeros_like(output), torch.full_like(lse, -float("inf"))
        for n in range(len(self.ROWS)):
            ends = (rows[n + 1], keys[n + 1]) if used is None else (rows[n] + used[0][n], keys[n] + used[1][n])
            if ends[0] == rows[n]:
                continue
            row, key = slice(rows[n], ends[0]), slice(keys[n], ends[1])
            alone = one(n, q[None, row], k[None, key], v[None, key])
            expected[row], sums[:, row] = alone[0][0], alone[1][0]
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(lse, sums, rtol=1e-5, atol=1e-5)
        seen = ~torch.isinf(sums)
        for a, b in zip(torch.autograd.grad([output, lse], [q, k, v], [do, dlse]),
                        torch.autograd.grad([expected, sums[seen]], [q, k, v], [do, dlse[seen]])):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)

    def test_equals_each_alone(self):
        from functools import partial
        for device in devices():
            slopes = {1: torch.rand(4), 2: torch.rand(5, 4)}
            for case in (dict(causal=True, window_size=(7, -1)), dict(window_size=(4, 3), softcap=3.0), dict(alibi=1),
                         dict(alibi=2, causal=True)):
                with self.subTest(device=device, **case):
                    skip_without(self, device)
                    shared = {name: x for name, x in case.items() if name != "alibi"}
                    of = lambda n: None
                    if "alibi" in case:
                        given = slopes[case["alibi"]].to(device)
                        of = lambda n: given if n is None or given.dim() == 1 else given[n:n + 1]
                    self.compare(
                        device,
                        lambda n, *x: flash_attn.flash_attn_func(*x, alibi_slopes=of(n), return_attn_probs=True,
                                                                 **shared),
                        lambda *x: flash_attn.flash_attn_varlen_func(*x, 64, 40, alibi_slopes=of(None),
                                                                     return_attn_probs=True, **shared))
            with self.subTest(device=device, flash_attn=3):
                skip_without(self, device)
                used = [torch.tensor(lengths, dtype=torch.int32, device=device)
                        for lengths in ((4, 0, 20, 1, 64), (9, 1, 33, 0, 31))]
                one = partial(flash_attn_3.flash_attn_func, attention_chunk=13, causal=True, return_attn_probs=True)
                self.compare(device, lambda n, *x: one(*x),
                             lambda *x: flash_attn_3.flash_attn_varlen_func(
                                 *x, 64, 40, *used, attention_chunk=13, causal=True, return_attn_probs=True), used)

    def test_dropout_and_slopes_as_alone(self):
        """Sequences of one length draw the bits of a batch, and give the gradients of slopes that a batch gives."""
        for device in devices():
            for size in ((4,), (3, 4)):
                with self.subTest(device=device, slopes=size):
                    skip_without(self, device)
                    torch.manual_seed(9)
                    q, k, v = (torch.randn(3, s, h, 32, device=device, requires_grad=True)
                               for s, h in ((21, 4), (33, 2), (33, 2)))
                    slopes = torch.rand(size, device=device, requires_grad=True)
                    offsets = [torch.arange(4, dtype=torch.int32, device=device) * s for s in (21, 33)]
                    do = torch.randn_like(q)
                    shared = dict(dropout_p=0.3, causal=True, alibi_slopes=slopes)
                    results = []
                    for run in (lambda: flash_attn.flash_attn_func(q, k, v, **shared),
                                lambda: flash_attn.flash_attn_varlen_func(
                                    *(x.flatten(0, 1) for x in (q, k, v)), *offsets, 21, 33, **shared).view_as(q)):
                        torch.manual_seed(10)
                        output = run()
                        results.append((output, *torch.autograd.grad(output, [q, k, v, slopes], do)))
                    for one, other in zip(*results):
                        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)

    def test_nothing_behind_lengths_is_read(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                rows, keys, q, k, v = self.draw(device)
                used = [torch.tensor(lengths, dtype=torch.int32, device=device)
                        for lengths in ((4, 0, 20, 1, 64), (9, 1, 33, 0, 31))]
                seen = []
                for starts, lengths, count in ((rows, used[0], len(q)), (keys, used[1], len(k))):
                    place = torch.arange(count, device=device)
                    of = torch.searchsorted(starts, place.int(), right=True) - 1
                    seen.append(place < (starts[:-1] + lengths)[of])
                run = lambda *x: flash_attn_3.flash_attn_varlen_func(*x, rows, keys, 64, 40, *used, causal=True,
                                                                     return_attn_probs=True)
                expected, sums = run(q, k, v)
                leaves = [torch.where(inside[:, None, None], x.detach(), float("nan")).requires_grad_()
                          for x, inside in ((q, seen[0]), (k, seen[1]), (v, seen[1]))]
                output, lse = run(*leaves)
                self.assertTrue(torch.equal(output, expected) and torch.equal(lse, sums))
                self.assertFalse(output[~seen[0]].any())
                self.assertTrue((lse[:, ~seen[0]] == -float("inf")).all())
                do = torch.where(seen[0][:, None, None], torch.randn_like(q), float("nan"))
                for gradient, inside in zip(torch.autograd.grad(output, leaves, do), (seen[0], seen[1], seen[1])):
                    self.assertFalse(gradient[~inside].any())
                    self.assertTrue(gradient.isfinite().all())

    def test_packed_operands(self):
        rows, _, q, _, _ = self.draw("cpu")
        expected = flash_attn.flash_attn_varlen_func(q, q, q, rows, rows, 64, 64, causal=True)
        qkv = torch.stack([q, q, q], 1)
        for result in (flash_attn.flash_attn_varlen_qkvpacked_func(qkv, rows, 64, causal=True),
                       flash_attn.flash_attn_varlen_kvpacked_func(q, qkv[:, 1:], rows, rows, 64, 64, causal=True)):
            self.assertTrue(torch.equal(result, expected))

    def test_probabilities(self):
        rows, keys, q, k, v = self.draw("cpu")
        output, _, signed = flash_attn.flash_attn_varlen_func(q, k, v, rows, keys, 64, 40, dropout_p=0.3, causal=True,
                                                              return_attn_probs=True)
        self.assertEqual(tuple(signed.shape), (5, 4, 64, 40))
        kept = signed.detach().clamp(min=0) / 0.7
        for n, (count, length) in enumerate(zip(self.ROWS, self.KEYS)):
            values = v[keys[n]:keys[n + 1]].repeat_interleave(2, 1).transpose(0, 1)
            torch.testing.assert_close(output[rows[n]:rows[n + 1]].transpose(0, 1),
                                       kept[n, :, :count, :length] @ values, rtol=1e-4, atol=1e-4)
            self.assertFalse(signed[n, :, count:].any() or signed[n, :, :, length:].any())

    def test_one_program_and_one_graph(self):
        compiled = torch.compile(lambda q, rows, most: flash_attn.flash_attn_varlen_func(
            q, q, q, rows, rows, most, most, causal=True), fullgraph=True, dynamic=True, backend="aot_eager")
        counts = []
        for lengths in ((3, 8), (20, 1), (0, 12), (9, 9), (33, 40)):
            rows = torch.tensor((0,) + lengths).cumsum(0).int()
            q = torch.randn(sum(lengths), 2, 16)
            expected = flash_attn.flash_attn_varlen_func(q, q, q, rows, rows, max(lengths), max(lengths), causal=True)
            self.assertTrue(torch.equal(compiled(q, rows, max(lengths)), expected))
            counts.append(count_programs())
        self.assertEqual(len(set(counts)), 1)

    def test_a_step_is_one_graph(self):
        import torch._dynamo.testing
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        step = lambda q, k, v, *rest: flash_attn_3.flash_attn_varlen_func(q * 2, k, v, *rest, causal=True, softcap=5.0)
        compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
        for lengths in ((5, 9), (30, 1), (8, 8), (50, 70)):
            offsets = torch.tensor((0,) + lengths).cumsum(0).int()
            used = (offsets.diff() - 1).int()
            x = [torch.randn(sum(lengths), heads, 32, requires_grad=True) for heads in (4, 2, 2)]
            rest = offsets, offsets.clone(), max(lengths), max(lengths), used, used.clone()
            results = []
            for run in (step, compiled):
                output = run(*x, *rest)
                results.append((output, *torch.autograd.grad(output, x, torch.ones_like(output))))
            for one, other in zip(*results):
                torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
        self.assertEqual(count_graphs(counter), 1)

    def test_blocks(self):
        torch.manual_seed(8)
        offsets, length = torch.tensor([0, 300, 900]).int(), 600
        qkv = torch.randn(900, 3, 2, 16)
        blocks = torch.rand(-(-length // 16), -(-length // 256)) > 0.3
        output = flash_attn.flash_blocksparse_attn_func(qkv, offsets, blocks.int(), 0.0, length, causal=True)
        wide = blocks.repeat_interleave(16, 0).repeat_interleave(256, 1)
        for begin, end in zip(offsets[:-1], offsets[1:]):
            count = end - begin
            q, k, v = (x[None].transpose(1, 2) for x in qkv[begin:end].unbind(1))
            seen = wide[:count, :count] & visible(count, count, "cpu", causal=True)
            expected = attend(q, k, v, seen)[0][0].transpose(0, 1)
            torch.testing.assert_close(output[begin:end], expected, rtol=1e-4, atol=1e-5)


@needs_torch
class Dropout(unittest.TestCase):
    def test_probabilities(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch.manual_seed(7)
                q, k, v = (torch.randn(2, s, h, 32, device=device, dtype=torch.float16)
                           for s, h in ((65, 4), (150, 2), (150, 2)))
                o, lse, signed = flash_attn.flash_attn_func(q, k, v, dropout_p=0.25, causal=True,
                                                           return_attn_probs=True)
                self.assertEqual(tuple(signed.shape), (2, 4, 65, 150))
                seen = visible(65, 150, device, causal=True)
                self.assertAlmostEqual((signed < 0).sum().item() / (8 * seen.sum().item()), 0.25, delta=0.02)
                kept = signed.double().clamp(min=0) / 0.75
                expected = kept @ v.double().repeat_interleave(2, 2).transpose(1, 2)
                self.assertLess((o.transpose(1, 2) - expected).abs().max().item(), 4e-3)
                self.assertLess((signed.double().abs().sum(3) - 1).abs().max().item(), 4e-3)

    def test_scales_by_the_probability_given(self):
        torch.manual_seed(4)
        q = torch.randn(1, 40, 2, 32)
        for p in (0.17, 0.1, 0.25, 0.005):
            o, _, signed = flash_attn.flash_attn_func(q, q, q, dropout_p=p, return_attn_probs=True)
            expected = (signed.clamp(min=0) / (1 - p)) @ q.transpose(1, 2)
            torch.testing.assert_close(o.transpose(1, 2), expected, rtol=1e-5, atol=1e-5)

    def test_mean_stays(self):
        """Outputs of a column of ones, of equal scores, are kept parts of 1: their mean is that of the output without dropout."""
        q = torch.zeros(2, 512, 8, 16)
        for p in (1e-6, 0.001, 0.003, 0.005, 0.1, 0.17, 0.25, 0.5, 0.9, 0.999, 1 - 1e-9):
            with self.subTest(p=p):
                torch.manual_seed(11)
                value = torch.ones(2, 512, 8, 16, requires_grad=True)
                o, _, signed = flash_attn.flash_attn_func(q, q, value, dropout_p=p, return_attn_probs=True)
                count = signed.numel()
                dropped = min(max(round(256 * p), 1), 255) / 256
                deviation = (dropped * (1 - dropped) / count) ** 0.5
                self.assertAlmostEqual((signed < 0).sum().item() / count, dropped, delta=5 * deviation)
                factor = (1 - dropped) / (1 - p) if 1 / 256 <= p <= 255 / 256 else 1.0
                self.assertAlmostEqual(o.mean().item(), factor, delta=5 * deviation / (1 - dropped))
                gradient, = torch.autograd.grad(o.mean(), value)
                self.assertAlmostEqual(gradient.sum().item(), factor, delta=5 * deviation / (1 - dropped))

    def test_compiled(self):
        """A probability between 0 and 1/256, or another, as a number of torch.compile's."""
        q = torch.randn(1, 33, 2, 16)
        run = lambda p: flash_attn.flash_attn_func(q, q, q, dropout_p=p)
        compiled = torch.compile(run, fullgraph=True, dynamic=True, backend="aot_eager")
        for p in (0.3, 0.1, 0.001):
            results = []
            for function in (run, compiled):
                torch.manual_seed(12)
                results.append(function(p))
            torch.testing.assert_close(*results)

    def test_seeds(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q = torch.randn(1, 65, 2, 32, device=device, dtype=torch.float16)
                run = lambda: flash_attn.flash_attn_func(q, q, q, dropout_p=0.5)
                torch.manual_seed(1)
                first, second = run(), run()
                torch.manual_seed(1)
                self.assertTrue(torch.equal(run(), first))
                self.assertFalse(torch.equal(second, first))

    def test_checkpoints(self):
        from torch.utils.checkpoint import checkpoint
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                gradients = []
                for wrap in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
                    torch.manual_seed(3)
                    x = torch.randn(1, 65, 2, 32, device=device).requires_grad_()
                    wrap(lambda q: flash_attn.flash_attn_func(q, q, q, dropout_p=0.3), x).sum().backward()
                    gradients.append(x.grad)
                self.assertTrue(torch.equal(*gradients))


@needs_torch
class NoRows(unittest.TestCase):
    def test_probabilities_of_no_queries(self):
        skip_without(self, "cpu")
        q, k = torch.randn(0, 2, 16), torch.randn(5, 2, 16)
        starts = torch.tensor([[0, 0], [0, 5]], dtype=torch.int32)
        signed = flash_attn.flash_attn_varlen_func(q, k, k, *starts, 4, 5, dropout_p=0.2, return_attn_probs=True)[2]
        self.assertEqual(signed.shape, (1, 2, 4, 5))
        self.assertFalse(signed.any())

    def test_probabilities(self):
        skip_without(self, "cpu")
        q, k = torch.randn(1, 5, 2, 16), torch.randn(1, 0, 2, 16)
        output, lse, signed = flash_attn.flash_attn_func(q, k, k, dropout_p=0.1, return_attn_probs=True)
        self.assertEqual(signed.shape, (1, 2, 5, 0))
        self.assertFalse(output.any())
        self.assertTrue((lse == -float("inf")).all())


@needs_torch
class Refused(unittest.TestCase):
    def test_names_the_argument(self):
        x = torch.randn(1, 4, 1, 16)
        cases = [
            (lambda: flash_attn.flash_attn_varlen_func(x, x, x, x, x, 4, 4, block_table=x), "block_table"),
            (lambda: flash_attn.flash_attn_varlen_func(x[0], x[0], x[0], x, x, 4, 4, deterministic=True,
                                                       alibi_slopes=torch.rand(1, 1, requires_grad=True)), "deterministic"),
            (lambda: flash_attn.flash_attn_with_kvcache(x, x, x), "k_cache"),
            (lambda: flash_attn.flash_blocksparse_attn_func(x, x, x, 0.0, 4, return_attn_probs=True),
             "return_attn_probs"),
            (lambda: flash_attn.flash_blocksparse_attn_func(x, x, x, 0.0, 4, convert_mask=False), "convert_mask"),
            (lambda: flash_attn_3.flash_attn_varlen_func(x, x, x, x, x, 4, 4, qv=x), "qv"),
            (lambda: flash_attn_3.flash_attn_varlen_func(x, x, x, x, x, 4, 4, num_splits=3), "num_splits=3"),
            (lambda: flash_attn_3.flash_attn_func(x, x, x, qv=x), "qv"),
            (lambda: flash_attn_3.flash_attn_func(x, x, x, k_descale=x), "k_descale"),
            (lambda: flash_attn_3.flash_attn_func(x, x, x, num_splits=4), "num_splits=4"),
            (lambda: flash_attn_3.flash_attn_func(x, x, x, pack_gqa=True), "pack_gqa"),
            (lambda: flash_attn_3.flash_attn_func(x, x, x, sm_margin=2), "sm_margin"),
            (lambda: flash_attn_3.flash_attn_combine(x, x), "out_partial"),
        ]
        for call, words in cases:
            with self.subTest(words), self.assertRaisesRegex(NotImplementedError, words):
                call()

    def test_every_argument(self):
        """Each argument of each function works, so it changes the result or says what there is, or is refused by its name."""
        x, y = torch.randn(1, 6, 2, 16), torch.randn(6, 2, 16)
        offsets, one = torch.tensor([0, 2, 6], dtype=torch.int32), torch.ones(1, 2)
        used, cache = torch.tensor([1, 3], dtype=torch.int32), dict(q=x, k_cache=x, v_cache=x)
        rows, packed = dict(q=x, k=x, v=x), dict(q=y, k=y, v=y, cu_seqlens_q=offsets, cu_seqlens_k=offsets, max_seqlen_q=4, max_seqlen_k=4)
        # What works, of all functions, and what it is given. Whether the result is another is the tests' of numbers.
        works = dict(dropout_p=0.3, softmax_scale=0.7, causal=True, window_size=(1, 0), softcap=0.5, alibi_slopes=torch.rand(2),
                     deterministic=True, return_attn_probs=True, attention_chunk=2, seqused_q=used, seqused_k=used, num_heads_q=2)
        bounds_nothing = {"max_seqlen_q", "max_seqlen_k", "max_seqlen", "max_s"}
        harmless = {"deterministic", "num_heads_q"}
        refused = dict(qv=x, q_descale=one, k_descale=one, v_descale=one, num_splits=3, pack_gqa=True, sm_margin=2, block_table=used,
                       convert_mask=False)
        qkv, kv = torch.stack([x, x, x], 2), torch.stack([x, x], 2)
        long, short = torch.stack([y, y, y], 1), torch.stack([y, y], 1)
        functions = {
            flash_attn: {
                "flash_attn_func": rows, "flash_attn_qkvpacked_func": dict(qkv=qkv), "flash_attn_kvpacked_func": dict(q=x, kv=kv),
                "flash_attn_varlen_func": packed, "flash_attn_varlen_qkvpacked_func": dict(qkv=long, cu_seqlens=offsets, max_seqlen=4),
                "flash_attn_varlen_kvpacked_func": dict(q=y, kv=short, cu_seqlens_q=offsets, cu_seqlens_k=offsets, max_seqlen_q=4,
                                                        max_seqlen_k=4),
                "flash_blocksparse_attn_func": dict(qkv=long, cu_seqlens=offsets, blockmask=torch.ones(1, 1), dropout_p=0.0, max_s=4),
                "flash_attn_with_kvcache": cache},
            flash_attn_3: {
                "flash_attn_func": rows, "flash_attn_qkvpacked_func": dict(qkv=qkv), "flash_attn_varlen_func": packed,
                "flash_attn_combine": dict(out_partial=x, lse_partial=x), "flash_attn_with_kvcache": cache},
        }
        for module, given in functions.items():
            self.assertEqual(sorted(module.__all__), sorted(given))
            for name, least in given.items():
                function = getattr(module, name)
                parameters = inspect.signature(function).parameters
                if name in ("flash_attn_with_kvcache", "flash_attn_combine"):  # refused as a whole
                    for argument in parameters:
                        with self.subTest(name, argument=argument), self.assertRaisesRegex(NotImplementedError, name):
                            function(**{**least, argument: one})
                    continue
                plain = function(**least)
                for argument in parameters:
                    if argument in least and argument != "dropout_p" or argument in bounds_nothing:
                        continue
                    with self.subTest(name, argument=argument):
                        probabilities = argument == "return_attn_probs" and name == "flash_blocksparse_attn_func"
                        if argument in refused or probabilities:
                            with self.assertRaisesRegex(NotImplementedError, "%s: %s" % (name, argument)):
                                function(**{**least, argument: refused.get(argument, True)})
                            continue
                        if argument == "num_heads_q":
                            result = function(**{**least, "qkv": qkv.flatten(2, 3), argument: works[argument]})
                        else:
                            result = function(**{**least, argument: works[argument]})
                        self.assertEqual(isinstance(result, tuple), argument == "return_attn_probs")
                        if argument not in harmless and not isinstance(result, tuple):
                            self.assertFalse(torch.equal(result, plain))

    def test_packed(self):
        x, offsets = torch.randn(4, 1, 16), torch.tensor([0, 4])
        with self.assertRaisesRegex(TypeError, "cu_seqlens_q is torch.int64 of 1 dimensions; expected int32, 1"):
            flash_attn.flash_attn_varlen_func(x, x, x, offsets, offsets, 4, 4)
        with self.assertRaisesRegex(ValueError, "v has 4 dimensions, expected 3: tokens x heads x head size"):
            flash_attn.flash_attn_varlen_func(x, x, x[None], offsets.int(), offsets.int(), 4, 4)
        with self.assertRaisesRegex(fa_mlir.Error, r"'t1' \(cu_seqlens_k\)"):  # two sequences of queries, one of keys
            flash_attn.flash_attn_varlen_func(x, x, x, torch.tensor([0, 1, 4]).int(), offsets.int(), 4, 4)
        flash_attn.flash_attn_varlen_func(x, x, x, offsets.int(), offsets.int(), 4, 4)  # kept, of tensors with memory
        with self.assertRaisesRegex(ValueError, "cu_seqlens_k is on meta and query on cpu; move it there"):
            flash_attn.flash_attn_varlen_func(x, x, x, offsets.int(), offsets.int().to("meta"), 4, 4)

    def test_second_derivatives(self):
        x = torch.randn(1, 4, 1, 16, requires_grad=True)
        gradient, = torch.autograd.grad(flash_attn.flash_attn_func(x, x, x).sum(), x, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "no second derivatives"):
            gradient.sum().backward()

    def test_devices(self):
        x = torch.randn(1, 4, 1, 16)
        meta = lambda y: y.to("meta")
        flash_attn.flash_attn_func(x, x, x)  # what is kept of this call is of tensors with memory
        for words, call in (
                ("key is on meta and query on cpu; move it there", lambda: flash_attn.flash_attn_func(x, meta(x), x)),
                ("query on meta; move it there", lambda: flash_attn.flash_attn_func(meta(x), x, meta(x))),
                ("alibi_slopes is on meta", lambda: flash_attn.flash_attn_func(x, x, x, alibi_slopes=meta(torch.rand(1)))),
                ("bias is on meta", lambda: fa_mlir.attention(x, x, x, bias=meta(torch.rand(1, 1)))),
                ("captured tensor 0 of the mask and score is on meta", lambda: fa_mlir.flex_attention(
                    x, x, x, lambda s, b, h, i, j, table=meta(torch.rand(4)): s + table[i]))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()

    def test_forward_mode(self):
        from torch.autograd import forward_ad
        x = torch.randn(1, 6, 2, 16)
        run = lambda q: flash_attn.flash_attn_func(q, q, q)
        text = fa_mlir.to_mlir(x, x, x, heads_last=True)
        op = lambda q: torch.ops.fa_mlir.attention(q, q, q, [], [], [], text, True)[0]
        bias = lambda y: fa_mlir.attention(*[x.transpose(1, 2)] * 3, bias=y[0, :, 0, :6])
        traced = lambda y: fa_mlir.flex_attention(*[x.transpose(1, 2)] * 3, lambda s, b, h, i, j: s + y[0, j, 0, 0])

        def dual(function):
            with forward_ad.dual_level():
                return function(forward_ad.make_dual(x, x))
        cases = {"jvp": lambda: torch.func.jvp(run, (x,), (x,)), "jacfwd": lambda: torch.func.jacfwd(run)(x),
                 "dual": lambda: dual(run), "capture": lambda: dual(bias), "op": lambda: torch.func.jvp(op, (x,), (x,)),
                 "dual op": lambda: dual(op), "traced": lambda: torch.func.jvp(traced, (x,), (x,)),
                 "training": lambda: dual(lambda q: run(q + x.clone().requires_grad_())),
                 "compiled": lambda: torch.compile(lambda y: torch.func.jvp(run, (y,), (y,)), backend="aot_eager")(x)}
        for name, call in cases.items():
            with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "no forward-mode derivatives .*use backward"):
                call()
        # What has no tangent beside one that has is as ever.
        leaf = x.clone().requires_grad_()
        self.assertTrue(torch.equal(dual(lambda q: run(x)), run(x)))
        dual(lambda q: run(leaf).sum().backward())
        self.assertTrue(torch.equal(leaf.grad, torch.autograd.grad(run(leaf).sum(), leaf)[0]))

    def test_signs(self):
        """Of a view as torch._neg_view makes it, which a complex number's imag may be."""
        x = torch.randn(1, 6, 2, 16)
        minus, heads = torch._neg_view(x), x.transpose(1, 2)
        column = torch.randn(6, dtype=torch.complex64).conj().imag
        run = flash_attn.flash_attn_func
        run(x, x, x)  # the same shapes are known
        cases = {
            "query": lambda: run(minus, x, x), "key": lambda: run(x, minus, x), "value": lambda: run(x, x, minus.detach().requires_grad_()),
            "query ": lambda: fa_mlir.attention(minus, x, x), "bias": lambda: fa_mlir.attention(x, x, x, bias=torch._neg_view(torch.rand(6, 2))),
            "captured tensor 0": lambda: fa_mlir.flex_attention(heads, heads, heads, lambda s, b, h, i, j: s + column[j]),
            "'q'": lambda: fa_mlir.compile(fa_mlir.to_mlir(x, x, x)).launch(q=minus, k=x, v=x, o=x.clone(), lse=x[..., 0].clone()),
        }
        for name, call in cases.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, r"(%s|: %s is).* give .*resolve_neg\(\)" % (name.strip(), name.strip()[0])):
                call()
        torch.testing.assert_close(run(minus.resolve_neg(), x, x), run(-x, x, x))
        # Gradients that autograd hands over, and tensors of a compiled function, are PyTorch's to resolve.
        leaf = x.clone().requires_grad_()
        one, other = (torch.autograd.grad(run(leaf, x, x), leaf, y)[0] for y in (minus, -x))
        self.assertTrue(torch.equal(one, other))
        self.assertTrue(torch.equal(torch.compile(lambda q: run(q, x, x), backend="aot_eager")(minus), run(-x, x, x)))

    def test_chunks(self):
        """Less than 1 is no chunk, as FlashAttention-3 has it."""
        x = torch.randn(1, 9, 2, 16)
        for causal in (False, True):
            expected = flash_attn_3.flash_attn_func(x, x, x, causal=causal)
            self.assertTrue(torch.equal(flash_attn_3.flash_attn_func(x, x, x, causal=causal, attention_chunk=-4), expected))

    def test_nothing_known_changes_what_is_refused(self):
        """A launch that is known is not found by another type's equal number."""
        x = torch.randn(1, 9, 2, 16)
        rows, offsets = x[0], torch.tensor([0, 9], dtype=torch.int32)
        known = dict(attention_chunk=8, window_size=(1, 0), softcap=1.0, softmax_scale=1.0, causal=True)
        for run in (lambda **given: flash_attn_3.flash_attn_func(x, x, x, **given),
                    lambda **given: flash_attn_3.flash_attn_varlen_func(rows, rows, rows, offsets, offsets, 9, 9, **given)):
            expected = run(**known)
            for name, others in dict(attention_chunk=(8.0, "8", None), window_size=((1.0, 0), (1, 0.0), [1.0, 0]), causal=("no", None, 2),
                                     softcap=("1", None, [1.0]), softmax_scale=("", [], "1"), deterministic=("no", None, 2),
                                     num_splits=(1.0, None, "1"), pack_gqa=("no", 2), sm_margin=(0.0, None)).items():
                for other in others:
                    with self.subTest(name, other=other), self.assertRaisesRegex(TypeError, "_func: %s is .*, expected" % name):
                        run(**{**known, name: other})
            # What equals it in a type that is taken gives the same, known or not.
            for equal in (dict(attention_chunk=torch.tensor(8)), dict(window_size=torch.tensor([1, 0])), dict(softcap=1), dict(causal=1),
                          dict(softmax_scale=torch.tensor(1.0)), dict(deterministic=0)):
                self.assertTrue(torch.equal(run(**{**known, **equal}), expected))

    def test_flags(self):
        x = torch.randn(1, 4, 2, 16)
        qkv, long, offsets = torch.stack([x] * 3, 2), torch.stack([x[0]] * 3, 1), torch.tensor([0, 4], dtype=torch.int32)
        functions = {
            "flash_attn_func": lambda **given: flash_attn.flash_attn_func(x, x, x, **given),
            "flash_attn_qkvpacked_func": lambda **given: flash_attn.flash_attn_qkvpacked_func(qkv, **given),
            "flash_attn_varlen_qkvpacked_func": lambda **given: flash_attn.flash_attn_varlen_qkvpacked_func(long, offsets, 4, **given),
        }
        for function, call in functions.items():
            for name in ("causal", "deterministic", "return_attn_probs"):
                for other in ("no", "", None, [], 2, torch.tensor(True)):
                    with self.subTest(function, name=name, other=other), self.assertRaisesRegex(
                            TypeError, "%s: %s is .*, expected True or False" % (function, name)):
                        call(**{name: other})
        sparse = lambda **given: flash_attn.flash_blocksparse_attn_func(long, offsets, torch.ones(1, 1), 0.0, 4, **given)
        for name in ("convert_mask", "return_attn_probs"):
            with self.subTest(name), self.assertRaisesRegex(TypeError, "%s is 'no', expected True or False" % name):
                sparse(**{name: "no"})

    def test_longest_lengths(self):
        """They bound nothing, but are integers."""
        x, offsets = torch.randn(6, 2, 16), torch.tensor([0, 2, 6], dtype=torch.int32)
        qkv, kv = torch.stack([x] * 3, 1), torch.stack([x] * 2, 1)
        functions = {
            "max_seqlen_q": [lambda n: flash_attn.flash_attn_varlen_func(x, x, x, offsets, offsets, n, 4),
                             lambda n: flash_attn.flash_attn_varlen_kvpacked_func(x, kv, offsets, offsets, n, 4),
                             lambda n: flash_attn_3.flash_attn_varlen_func(x, x, x, offsets, offsets, n, 4)],
            "max_seqlen_k": [lambda n: flash_attn.flash_attn_varlen_func(x, x, x, offsets, offsets, 4, n),
                             lambda n: flash_attn_3.flash_attn_varlen_func(x, x, x, offsets, offsets, 4, n)],
            "max_seqlen": [lambda n: flash_attn.flash_attn_varlen_qkvpacked_func(qkv, offsets, n)],
        }
        for name, calls in functions.items():
            for call in calls:
                for other in (None, 4.0, "4", torch.tensor(4.0), torch.tensor([4, 4])):
                    with self.subTest(name, other=other), self.assertRaisesRegex(TypeError, "_func: %s is .*, expected an integer" % name):
                        call(other)
                # One less than the longest, or on a device, which nobody reads.
                for other in (1, torch.tensor(4), torch.empty((), dtype=torch.int32, device="meta")):
                    self.assertTrue(torch.equal(call(other), call(4)))
        with self.assertRaisesRegex(TypeError, "max_seqlen_q is a tensor on meta"):
            flash_attn.flash_attn_varlen_func(x, x, x, offsets, offsets, torch.empty((), dtype=torch.int32, device="meta"), 4, 0.1,
                                              return_attn_probs=True)

    def test_numbers_on_devices(self):
        """To read one would wait for the device."""
        x = torch.randn(1, 4, 2, 16)
        number, whole = torch.empty((), device="meta"), torch.empty((), dtype=torch.int32, device="meta")
        for name, given in dict(softmax_scale=number, softcap=number, dropout_p=number, window_size=whole.expand(2)).items():
            with self.subTest(name), self.assertRaisesRegex(TypeError, "flash_attn_func: %s is a tensor on meta, .* give x.tolist" % name):
                flash_attn.flash_attn_func(x, x, x, **{name: given})
        for name, given in dict(window_size=(whole, 0), attention_chunk=whole, num_splits=whole, sm_margin=whole).items():
            with self.subTest(name), self.assertRaisesRegex(TypeError, "flash_attn_func: %s is a tensor on meta, .* give x.tolist" % name):
                flash_attn_3.flash_attn_func(x, x, x, **{name: given})
        for name, given in dict(scale=number, softcap=number, window=(0, whole)).items():
            with self.subTest(name), self.assertRaisesRegex(TypeError, "%s.* is a tensor on meta" % name):
                fa_mlir.attention(x, x, x, **{name: given})

    def test_blockmask(self):
        qkv, offsets = torch.randn(300, 3, 2, 16), torch.tensor([0, 300], dtype=torch.int32)
        run = lambda *shape: flash_attn.flash_blocksparse_attn_func(qkv, offsets, torch.ones(shape, dtype=torch.int32), 0.0, 300)
        for shape in ((18, 2), (19, 1), (19,), (1, 19, 2)):
            with self.subTest(shape=shape), self.assertRaisesRegex(
                    ValueError, r"blockmask has shape \(.*\), expected at least 19 x 2: max_s / 16 x max_s / 256"):
                run(*shape)
        self.assertTrue(torch.equal(run(19, 2), run(32, 2)))

    def test_arguments(self):
        from fa_mlir.transformers import attend
        x = torch.randn(1, 6, 2, 16)
        heads, starts = x.transpose(1, 2), torch.tensor([0, 6], dtype=torch.int32)
        cases = [
            (NotImplementedError, "head_mask is not supported", lambda: attend(None, heads, heads, heads, None, head_mask=torch.ones(2))),
            (TypeError, "attention_mask has dtype torch.float64, expected float16, bfloat16 or float32; convert it by",
             lambda: attend(None, heads, heads, heads, torch.zeros(1, 1, 6, 6, dtype=torch.float64))),
            (TypeError, "position_bias has dtype torch.int32", lambda: attend(None, heads, heads, heads, None,
                                                                             position_bias=torch.zeros(1, 1, 6, 6).int())),
            (ValueError, "num_heads_q is 3, but qkv has 2 heads of each; leave it out",
             lambda: flash_attn_3.flash_attn_qkvpacked_func(torch.randn(1, 6, 3, 2, 16), num_heads_q=3)),
            (ValueError, "num_heads_q is -4, which leaves",
             lambda: flash_attn_3.flash_attn_qkvpacked_func(torch.randn(1, 6, 6, 16), num_heads_q=-4)),
            (ValueError, "query has 1 dimensions, expected 4: batch x heads x sequence x head size",
             lambda: fa_mlir.flex_attention(torch.randn(9), x, x)),
            (TypeError, "query is a list, expected a tensor", lambda: fa_mlir.flex_attention([1.0], x, x)),
            (TypeError, "key is a list, expected a tensor", lambda: fa_mlir.attention(x, [1.0], x)),
            (TypeError, "v is a list, expected a tensor", lambda: flash_attn.flash_attn_func(x, x, [1.0])),
            (TypeError, r"flash_attn_func: window_size is \(None, 0\), expected two integers; -1 leaves a side open",
             lambda: flash_attn.flash_attn_func(x, x, x, window_size=(None, 0))),
            (TypeError, r"window_size is \(2.5, 0\)", lambda: flash_attn_3.flash_attn_func(x, x, x, window_size=(2.5, 0))),
            (TypeError, r"window_size is 4, expected two integers", lambda: flash_attn.flash_attn_func(x, x, x, window_size=4)),
            (TypeError, r"window_size is \(1, 2, 3\), expected two", lambda: flash_attn.flash_attn_func(x, x, x, window_size=(1, 2, 3))),
            (TypeError, r"window is \(2.5, 0\), expected two integers", lambda: fa_mlir.attention(x, x, x, window=(2.5, 0))),
            (TypeError, "window is 3, expected two integers", lambda: fa_mlir.attention(x, x, x, window=3)),
            (TypeError, "attention_chunk is 2.5, expected an integer", lambda: flash_attn_3.flash_attn_func(x, x, x, attention_chunk=2.5)),
            (ValueError, "scale of scores is nan, expected a finite", lambda: flash_attn.flash_attn_func(x, x, x, softmax_scale=float("nan"))),
            (ValueError, "scale of scores is -inf", lambda: fa_mlir.flex_attention(x, x, x, scale=-float("inf"))),
            (ValueError, "query has a head size of 16 and key of 8; they must agree", lambda: flash_attn.flash_attn_func(x, x[..., :8], x)),
            (ValueError, r"query has the layout torch.sparse_coo, .* give x.to_dense\(\)", lambda: fa_mlir.attention(x.to_sparse(), x, x)),
            (TypeError, "flash_attn_func: alibi_slopes is a list", lambda: flash_attn.flash_attn_func(x, x, x, alibi_slopes=[0.1, 0.2])),
            (TypeError, "cu_seqlens_q is a list", lambda: flash_attn.flash_attn_varlen_func(x[0], x[0], x[0], [0, 6], [0, 6], 6, 6)),
            (TypeError, "qkv is a list", lambda: flash_attn.flash_attn_qkvpacked_func([x])),
            (TypeError, "qkv is a list", lambda: flash_attn_3.flash_attn_qkvpacked_func([x])),
            (ValueError, "kv has shape .*, expected batch x seqlen_k x 2 x", lambda: flash_attn.flash_attn_kvpacked_func(x, x)),
            (TypeError, "blockmask is a list", lambda: flash_attn.flash_blocksparse_attn_func(
                torch.stack([x[0]] * 3, 1), torch.tensor([0, 6]).int(), [[1]], 0.0, 6)),
            (ValueError, r"blocks has 2 x 2 rows, expected at least 6, .* hidden",
             lambda: fa_mlir.attention(x, x, x, blocks=(torch.ones(2, 2).bool(), 2, 4), heads_last=True)),
            (TypeError, r"blocks is a tuple, expected \(visible, rows, keys\)", lambda: fa_mlir.attention(x, x, x, blocks=(x, 2))),
            (ValueError, r"document has shape \(1, 5\), expected ids of 6 positions of each of 1 sequences",
             lambda: fa_mlir.attention(x, x, x, document=torch.zeros(1, 5).int(), heads_last=True)),
            (ValueError, r"document has shape \(2, 6\)", lambda: fa_mlir.attention(x, x, x, document=torch.zeros(2, 6).int(), heads_last=True)),
            (ValueError, "document is a tuple of 3", lambda: fa_mlir.attention(x, x, x, document=(torch.zeros(1, 6).int(),) * 3)),
            (NotImplementedError, "no rules for torch.func.vmap: give the batch", lambda: torch.vmap(
                lambda y: flash_attn.flash_attn_func(y, y, y))(x[None])),
            (NotImplementedError, "no rules for torch.func.grad.* use backward", lambda: torch.func.grad(
                lambda y: fa_mlir.attention(y, y, y).sum())(x)),
            (TypeError, r"explain\(\) has no argument 'softcaps'; it takes .*softcap", lambda: fa_mlir.explain(x, x, x, softcaps=3.0)),
            (TypeError, r"explain\(\) needs query and key and value", lambda: fa_mlir.explain(heads_last=True)),
            (TypeError, r"explain\(\) needs key and value", lambda: fa_mlir.explain(x)),
            (TypeError, "flash_attn_func: softcap is None, expected a number; leave it out", lambda: flash_attn.flash_attn_func(x, x, x, softcap=None)),
            (TypeError, "flash_attn_func: softmax_scale is 'x', expected a number", lambda: flash_attn.flash_attn_func(x, x, x, softmax_scale="x")),
            (TypeError, "dropout_p is 'a', expected a number", lambda: flash_attn.flash_attn_func(x, x, x, "a")),
            (TypeError, "scale of scores is 'x', expected a number; leave it out", lambda: fa_mlir.flex_attention(x, x, x, scale="x")),
            (TypeError, "softcap is 'x', expected a number", lambda: fa_mlir.attention(x, x, x, softcap="x")),
            (TypeError, "flash_attn_func: q is a NoneType, expected a tensor",
             lambda: flash_attn.flash_attn_func(None, x, x, return_attn_probs=True)),
            (TypeError, "flash_attn_varlen_func: alibi_slopes is a list, expected a tensor", lambda: flash_attn.flash_attn_varlen_func(
                x[0], x[0], x[0], starts, starts, 6, 6, alibi_slopes=[1.0], deterministic=True)),
            (TypeError, "cu_seqlens_q is None, expected offsets .* call flash_attn_func",
             lambda: flash_attn.flash_attn_varlen_func(x[0], x[0], x[0], None, None, 6, 6)),
            (TypeError, "max_seqlen_q is None, expected an integer", lambda: flash_attn.flash_attn_varlen_func(
                x[0], x[0], x[0], starts, starts, None, None, 0.1, return_attn_probs=True)),
            (ValueError, "max_seqlen_q is -3, expected at least 0", lambda: flash_attn.flash_attn_varlen_func(
                x[0], x[0], x[0], starts, starts, -3, 6, 0.1, return_attn_probs=True)),
            (TypeError, "max_s is None, expected an integer", lambda: flash_attn.flash_blocksparse_attn_func(
                torch.stack([x[0]] * 3, 1), starts, torch.ones(1, 1), 0.0, None)),
            (TypeError, "num_heads_q is '4', expected an integer",
             lambda: flash_attn_3.flash_attn_qkvpacked_func(torch.randn(1, 6, 9, 16), num_heads_q="4")),
            (ValueError, "document is a tuple of 0", lambda: fa_mlir.attention(x, x, x, document=())),
            (TypeError, "document has dtype torch.uint8, expected integers with a sign",
             lambda: fa_mlir.attention(x, x, x, document=torch.zeros(1, 6, dtype=torch.uint8))),
            (TypeError, "document has ids of torch.int32 and of torch.int64, expected one dtype", lambda: fa_mlir.attention(
                x, x, x, document=(torch.zeros(1, 6).int(), torch.zeros(1, 6).long()))),
            (TypeError, "bias has dtype torch.bool, expected floats", lambda: fa_mlir.attention(x, x, x, bias=torch.ones(6, 6).bool())),
            (ValueError, "softcap is inf, expected", lambda: fa_mlir.attention(x, x, x, softcap=10**400)),
            (TypeError, r"backward is 'x', expected True", lambda: fa_mlir.explain(x, x, x, backward="x")),
            (TypeError, "precision is '', expected", lambda: fa_mlir.attention(x, x, x, precision="")),
            (ValueError, "qkv has 9 heads, expected num_heads_q . 2 nheads_k; num_heads_q is 4, which leaves 5",
             lambda: flash_attn_3.flash_attn_qkvpacked_func(torch.randn(1, 6, 9, 16), num_heads_q=4)),
            (TypeError, r"device_info\(\) takes the name of a device, .*, got 3", lambda: fa_mlir.device_info(3)),
            (TypeError, "precision is 3, expected 'ieee', 'tf32x3' or 'tf32'", lambda: fa_mlir.attention(x, x, x, precision=3)),
            (ValueError, "causal is tensor.*, expected False, True", lambda: fa_mlir.attention(x, x, x, causal=torch.ones(2))),
            (TypeError, "sizes of a block are '2' and 4, expected two integers",
             lambda: fa_mlir.attention(x, x, x, blocks=(torch.ones(3, 2).bool(), "2", 4))),
            # Dimensions are the caller's, also where the library has heads before positions.
            (fa_mlir.Error, r"dimension 1 of 'v' \(Sk\) has size 6, but 'k' has 5", lambda: flash_attn.flash_attn_func(x, x[:, :5], x)),
            (fa_mlir.Error, r"dimension 2 of 'v' \(Hk\) has size 1, but 'k' has 2", lambda: flash_attn.flash_attn_func(x, x, x[:, :, :1])),
            (fa_mlir.Error, r"dimension 1 of 'v' \(Hk\) has size 1, but 'k' has 2",
             lambda: flash_attn.flash_attn_varlen_func(x[0], x[0], x[0, :, :1], starts, starts, 6, 6)),
            (fa_mlir.Error, r"dimension 2 of 'v' \(Sk\) has size 2, but 'k' has 1", lambda: fa_mlir.attention(x, x[:, :, :1], x)),
        ]
        for error, words, call in cases:
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()
        self.assertEqual(fa_mlir.explain(x, x, x, return_lse=True, heads_last=True), fa_mlir.explain(x, x, x, heads_last=True))

    def test_nested(self):
        """Nested tensors of PyTorch's own type have no strides: a guard of the last call would end the process."""
        x = torch.randn(2, 6, 2, 16)
        rows = [torch.randn(n, 2, 16) for n in (3, 5)]
        run = flash_attn.flash_attn_func
        run(x, x, x.clone())  # is known
        run(x, x.clone(), x * 2)
        for layout in (torch.strided, torch.jagged):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                nested = torch.nested.nested_tensor(rows, layout=layout)
            for name, call in (("q", lambda: run(nested, x, x)), ("k", lambda: run(x, nested, x)), ("v", lambda: run(x, x, nested)),
                               ("q", lambda: run(nested, nested, nested)), ("query", lambda: fa_mlir.attention(nested, x, x)),
                               ("key", lambda: fa_mlir.flex_attention(x, nested, x))):
                with self.subTest(name, layout=layout), self.assertRaisesRegex(
                        ValueError, "%s is a nested tensor.* flash_attn_varlen_func.* x.to_padded_tensor" % name):
                    call()
        run(x, x, x.clone())

    def test_threads(self):
        """As many as torch.get_num_threads() says, of each call."""
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        x = torch.randn(1, 6, 2, 24)
        for run in (lambda: flash_attn.flash_attn_func(x, x, x), lambda: fa_mlir.attention(x, x, x)):
            torch.set_num_threads(1)
            run()
            torch.set_num_threads(2)
            with mock.patch.object(_program, "compile", wraps=_program.compile) as compiled:
                run()
            self.assertEqual([call.kwargs["threads"] for call in compiled.call_args_list], [2])

    def test_without_memory(self):
        x = torch.empty(2, 9, 4, 16, device="meta", dtype=torch.bfloat16, requires_grad=True)
        o, lse, _ = flash_attn.flash_attn_func(x, x, x, causal=True, return_attn_probs=True)
        self.assertEqual((o.shape, o.dtype, tuple(lse.shape), o.device.type), (x.shape, x.dtype, (2, 4, 9), "meta"))
        o.sum().backward()
        self.assertEqual(x.grad.shape, x.shape)
        offsets = torch.empty(3, device="meta", dtype=torch.int32)
        o = flash_attn.flash_attn_varlen_func(*[x[0]] * 3, offsets, offsets, 5, 5)
        self.assertEqual(tuple(o.shape), (9, 4, 16))

    def test_deterministic(self):
        """Slopes of each sequence get their gradients by atomics."""
        self.addCleanup(torch.use_deterministic_algorithms, False)
        x, offsets = torch.randn(7, 4, 16), torch.tensor([0, 3, 7]).int()

        def step(slopes):
            flash_attn.flash_attn_varlen_func(x, x, x, offsets, offsets, 4, 4, alibi_slopes=slopes).sum().backward()
            return slopes.grad
        slopes = [torch.rand(2, 4, requires_grad=True) for _ in range(3)]
        torch.use_deterministic_algorithms(True)
        with self.assertRaisesRegex(fa_mlir.Error, r"'t0' \(alibi_slopes\) takes atomics"):
            step(slopes[0])
        self.assertIsNotNone(step(torch.rand(4, requires_grad=True)))
        torch.use_deterministic_algorithms(True, warn_only=True)
        with self.assertWarnsRegex(UserWarning, r"not deterministic: .*'t0' \(alibi_slopes\) takes atomics"):
            self.assertIsNotNone(step(slopes[1]))

    def test_deterministic_asks_the_compiler(self):
        """Of the gradients' programs alone, in both packages; the forward's is that of other calls."""
        for i, module in enumerate((flash_attn, flash_attn_3)):
            x = torch.randn(1, 4, 2, 24 + 8 * i, requires_grad=True)
            for wanted in (False, True):
                with mock.patch.object(_program, "compile", wraps=_program.compile) as compiled:
                    out = module.flash_attn_func(x, x, x, deterministic=wanted)
                    (out[0] if isinstance(out, tuple) else out).sum().backward()
                calls = [call for call in compiled.call_args_list if call.kwargs.get("backward")]
                self.assertTrue(calls)
                self.assertEqual({call.kwargs["deterministic"] for call in calls}, {int(wanted)})
                self.assertEqual(len({call.args[0] for call in compiled.call_args_list}), 1)

    def test_deterministic_of_models(self):
        """By the keyword of Hugging Face's attention functions, or the variable that it reads for FlashAttention."""
        from fa_mlir.transformers import attend
        x = torch.randn(1, 2, 40, 16, requires_grad=True)
        for variable, others, wanted in (("0", {}, 0), ("1", {}, 1), ("1", {"deterministic": False}, 0),
                                         ("0", {"deterministic": True}, 1)):
            with self.subTest(variable=variable, **others), \
                    mock.patch.dict("os.environ", FLASH_ATTENTION_DETERMINISTIC=variable), \
                    mock.patch.object(_program, "compile", wraps=_program.compile) as compiled:
                attend(None, x, x, x, None, is_causal=True, scaling=1 / (3 + 2 * wanted + len(others)), **others)[0].sum().backward()
            calls = [call for call in compiled.call_args_list if call.kwargs.get("backward")]
            self.assertTrue(calls)
            self.assertEqual({call.kwargs["deterministic"] for call in calls}, {wanted})

    def test_dtypes(self):
        x = torch.randn(1, 4, 1, 16)
        with self.assertRaisesRegex(TypeError, "torch.float32, torch.float32 and torch.float16"):
            flash_attn.flash_attn_func(x, x, x.half())

    def test_signatures(self):
        for module, signatures in ((flash_attn, SIGNATURES), (flash_attn_3, SIGNATURES_3)):
            for name, expected in signatures.items():
                with self.subTest(module=module.__name__, name=name):
                    parameters = inspect.signature(getattr(module, name)).parameters.values()
                    text = " ".join(str(p.replace(annotation=p.empty)).replace(" ", "") for p in parameters)
                    self.assertEqual(text, expected)
            self.assertEqual(sorted(signatures), sorted(module.__all__))


if __name__ == "__main__":
    unittest.main()
