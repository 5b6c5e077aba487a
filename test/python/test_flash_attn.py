"""flash-attn's functions on tensors: numbers, gradients, dropout, what is refused."""

import inspect
import unittest

from support import attend, check, devices, needs_torch, skip_without, torch, visible

if torch:
    import fa_mlir
    from fa_mlir import flash_attn, flash_attn_3

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
        from fa_mlir import _program
        # Without gradients, whose programs are compiled beside what runs.
        q, k, v = (x.detach() for x in self.draw("cpu", torch.float32))
        run = lambda left, cap: flash_attn.flash_attn_func(q, k, v, window_size=(left, 0), softcap=cap)
        run(3, 5.0)
        count = len(_program._programs)
        for left, cap in ((4, 5.0), (70, 1.5), (0, 30.0)):
            run(left, cap)
        self.assertEqual(len(_program._programs), count)


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
class Refused(unittest.TestCase):
    def test_names_the_argument(self):
        x = torch.randn(1, 4, 1, 16)
        cases = [
            (lambda: flash_attn.flash_attn_varlen_func(x, x, x, x, x, 4, 4), "flash_attn_varlen_func: cu_seqlens_q"),
            (lambda: flash_attn.flash_attn_varlen_func(x, x, x, x, x, 4, 4, block_table=x), "block_table"),
            (lambda: flash_attn.flash_attn_varlen_qkvpacked_func(x, x, 4), "cu_seqlens"),
            (lambda: flash_attn.flash_attn_varlen_kvpacked_func(x, x, x, x, 4, 4), "cu_seqlens_q"),
            (lambda: flash_attn.flash_attn_with_kvcache(x, x, x), "k_cache"),
            (lambda: flash_attn.flash_blocksparse_attn_func(x, x, x, 0.0, 4), "blockmask"),
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

    def test_second_derivatives(self):
        x = torch.randn(1, 4, 1, 16, requires_grad=True)
        gradient, = torch.autograd.grad(flash_attn.flash_attn_func(x, x, x).sum(), x, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "no second derivatives"):
            gradient.sum().backward()

    def test_dtypes(self):
        x = torch.randn(1, 4, 1, 16)
        with self.assertRaisesRegex(TypeError, "torch.float32, torch.float32 and torch.float16"):
            flash_attn.flash_attn_func(x, x, x.half())

    def test_signatures(self):
        for name, expected in SIGNATURES.items():
            text = " ".join(str(p).replace(" ", "") for p in inspect.signature(
                getattr(flash_attn, name)).parameters.values())
            self.assertEqual(text, expected)


if __name__ == "__main__":
    unittest.main()
