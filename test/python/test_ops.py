"""The ops on tensors under PyTorch's tools: opcheck, torch.compile, graphs, streams, threads, autocast."""

import threading
import time
import unittest
from unittest import mock

from support import attend, count_graphs, count_programs, devices, needs_torch, skip_without, torch, visible

if torch:
    import torch._dynamo.testing
    import fa_mlir
    from fa_mlir import _flash, _ops, _program
    from fa_mlir.flash_attn import flash_attn_func, flash_attn_varlen_func


def draw(device, dtype=None, sq=33, sk=47, grad=False):
    torch.manual_seed(11)
    dtype = dtype or torch.float32
    return [torch.randn(2, s, h, 32, device=device, dtype=dtype, requires_grad=grad)
            for s, h in ((sq, 4), (sk, 2), (sk, 2))]


@needs_torch
class Ops(unittest.TestCase):
    def test_opcheck(self):
        from torch.library import opcheck
        for device in devices():
            for grad in (False, True):
                with self.subTest(device=device, grad=grad):
                    skip_without(self, device)
                    q, k, v = draw(device, grad=grad)
                    slopes = torch.rand(4, device=device, requires_grad=grad)
                    sink = torch.randn(4, device=device, requires_grad=grad)
                    text = fa_mlir.to_mlir(q, k, v, causal=True, window=(9, -1), alibi=slopes, sink=sink, softcap=20.0,
                                           heads_last=True)
                    # The order of attention's arguments: the window's bound, softcap and its inverse, slopes, sink.
                    arguments = (q, k, v, [slopes, sink], [9], [20.0, 0.05], text, True)
                    opcheck(torch.ops.fa_mlir.attention, arguments)
                    if not grad:
                        o, lse = torch.ops.fa_mlir.attention(*arguments)
                        opcheck(torch.ops.fa_mlir.attention_backward, (
                            torch.randn_like(o), torch.randn_like(lse), q, k, v, o, lse, *arguments[3:7],
                            "q,k,v,t0,t1", True))

    def test_refuses_what_the_text_has_not(self):
        q, k, v = draw("cpu")
        text = fa_mlir.to_mlir(q, k, v, window=(9, -1), alibi=torch.rand(4), heads_last=True)
        op, slopes = torch.ops.fa_mlir.attention, [torch.rand(4)]
        for tensors, integers, floats, words in (
                ([], [9], [], "the text has the tensors .*t0.*, but those given are q, k, v, o, lse"),
                (slopes, [], [], "the text has 1 integers and 0 floats, but 0 and 0 are"),
                (slopes, [], [1.0], "but 0 and 1 are"),
                (slopes, [9, 3], [], "but 2 and 0 are"),
                (slopes * 2, [9], [], "those given are q, k, v, t0, t1, o, lse")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                op(q, k, v, tensors, integers, floats, text, True)
        o, lse = op(q, k, v, slopes, [9], [], text, True)
        for gradients in ("", "x", " q", "q,q"):
            with self.subTest(gradients), self.assertRaisesRegex(ValueError, "gradients is '%s', expected some of q, k" % gradients):
                torch.ops.fa_mlir.attention_backward(o, None, q, k, v, o, lse, slopes, [9], [], text, gradients, True)

    def test_layouts(self):
        """Output lies in memory as query does, each gradient as what it is of, as PyTorch's functions have it."""
        from torch.library import opcheck
        from torch.nn.functional import scaled_dot_product_attention
        orders = [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (1, 2, 0, 3), (2, 1, 0, 3)]
        strides = lambda x: [stride for stride, size in zip(x.stride(), x.shape) if size != 1]
        def compare(device, sizes, order):
            # In memory the dimensions have this order, between them lies what is not read.
            inverse = [order.index(d) for d in range(4)]
            draw_one = lambda: torch.randn(*[sizes[d] for d in order[:3]], 3 * 32, device=device)[..., :32].permute(inverse)
            q, k, v, do = [draw_one().requires_grad_() for _ in range(4)]
            o, expected = fa_mlir.flex_attention(q, k, v), scaled_dot_product_attention(q, k, v)
            torch.testing.assert_close(o, expected, rtol=1e-4, atol=1e-4)
            self.assertEqual(strides(o), strides(torch.empty_like(q)))
            found = torch.autograd.grad(o, [q, k, v], do)
            for x, gradient, of_expected in zip((q, k, v), found, torch.autograd.grad(expected, [q, k, v], do)):
                torch.testing.assert_close(gradient, of_expected, rtol=1e-3, atol=1e-4)
                self.assertEqual(strides(gradient), strides(torch.empty_like(x)))
            rows, text = [x.detach() for x in (q, k, v)], fa_mlir.to_mlir(q, k, v)
            opcheck(torch.ops.fa_mlir.attention, (*rows, [], [], [], text, False))
            o, lse = torch.ops.fa_mlir.attention(*rows, [], [], [], text, False)
            opcheck(torch.ops.fa_mlir.attention_backward,
                    (do.detach(), None, *rows, o, lse, [], [], [], text, "q,k,v", False))

        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                for sizes in ((2, 4, 33, 32), (1, 4, 33, 32), (2, 1, 33, 32), (2, 4, 1, 32)):
                    for order in orders:
                        with self.subTest(sizes=sizes, order=order):
                            compare(device, sizes, order)

    def test_layouts_of_a_compiled_step(self):
        """Heads that `view` and `transpose` made: output is viewed back, in one graph over lengths."""
        def step(x):
            q, k, v = [y.view(*y.shape[:2], 4, 32).transpose(1, 2) for y in x.chunk(3, -1)]
            return fa_mlir.flex_attention(q, k, v).transpose(1, 2).view(*x.shape[:2], 128) + 1
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch._dynamo.reset()
                counter = torch._dynamo.testing.CompileCounterWithBackend("inductor" if device == "cuda" else "aot_eager")
                compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
                for length in (33, 47, 64, 150):
                    x = torch.randn(2, length, 3 * 128, device=device, requires_grad=True)
                    result, expected = compiled(x), step(x)
                    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
                    of_result, of_expected = [torch.autograd.grad(y.square().sum(), x)[0] for y in (result, expected)]
                    torch.testing.assert_close(of_result, of_expected, rtol=1e-3, atol=1e-3)
                self.assertEqual(count_graphs(counter), 1)

    def test_slopes_of_any_float(self):
        """Slopes of batch x heads, as those of heads, are numbers of f32 whatever their dtype."""
        skip_without(self, "cpu")
        q, k, v = [x.transpose(1, 2) for x in draw("cpu")]
        for shape in ((4,), (2, 4)):
            slopes = torch.randint(1, 9, shape) / 8
            results = [fa_mlir.attention(q, k, v, causal=True, alibi=slopes.to(dtype))
                       for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)]
            self.assertTrue(all([torch.equal(x, results[0]) for x in results]), shape)

    def test_opcheck_sequences(self):
        from torch.library import opcheck
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = (x[0].requires_grad_() for x in draw(device))
                starts = [torch.tensor(given, device=device) for given in ([0, 20, 33], [0, 0, 47])]
                lengths = torch.tensor([15, 13], dtype=torch.int32, device=device)
                text = fa_mlir.to_mlir(q, k, v, causal=True, query_starts=starts[0], key_starts=starts[1],
                                       query_lengths=lengths, heads_last=True)
                arguments = (q, k, v, [*starts, lengths], [], [], text, True)
                opcheck(torch.ops.fa_mlir.attention, arguments)
                o, lse = (x.detach() for x in torch.ops.fa_mlir.attention(*arguments))
                opcheck(torch.ops.fa_mlir.attention_backward, (
                    torch.randn_like(o), None, q.detach(), k.detach(), v.detach(), o, lse, *arguments[3:7], "q,k,v", True))

    def test_compile(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                backend = "inductor" if device == "cuda" else "aot_eager"
                counter = torch._dynamo.testing.CompileCounterWithBackend(backend)
                step = lambda q, k, v: flash_attn_func(q * 2, k, v, causal=True, window_size=(20, 0)) + 1
                compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
                for length in (33, 47, 64, 65, 77, 96, 128, 150, 200, 257):
                    q, k, v = draw(device, sq=length, sk=length, grad=True)
                    do = torch.randn_like(q)
                    expected = step(q, k, v)
                    result = compiled(q, k, v)
                    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)
                    for a, b in zip(torch.autograd.grad(result, [q, k, v], do),
                                    torch.autograd.grad(expected, [q, k, v], do)):
                        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
                self.assertEqual(count_graphs(counter), 1)
                # Inductor writes arguments into comments.
                self.assertNotIn("\\n", counter.graphs[-1].code.split("fa_mlir.attention(")[1].split("; ")[0])

    def test_numbers_of_a_compiled_step(self):
        """Windows and softcap are numbers of the launch under torch.compile, too: new ones compile no program."""
        skip_without(self, "cpu")
        torch._dynamo.reset()
        run = lambda x, left, cap: flash_attn_func(x, x, x, causal=True, window_size=(left, 0), softcap=cap)
        compiled, counts = torch.compile(run, fullgraph=True, dynamic=True, backend="aot_eager"), []
        x = draw("cpu")[0].detach()
        for left, cap in ((3, 5.0), (4, 5.0), (70, 1.5), (0, 30.0)):
            self.assertTrue(torch.equal(compiled(x, left, cap), run(x, left, cap)))
            counts.append(count_programs())
        self.assertEqual(len(set(counts)), 1)

    def test_arguments_of_a_compiled_step(self):
        """All arguments, whose sizes and numbers torch.compile has as symbols: one graph, and what eager mode gives."""
        skip_without(self, "cpu")
        q, numbers = torch.randn(2, 4, 64, 32), lambda *values: torch.tensor(values)
        cases = {
            "blocks": (torch.ones(2, 1, 4, 4).tril().bool(), 16), "bias": (torch.randn(2, 1, 64, 64),), "scale": (0.3,), "softcap": (3.0,),
            "document": (torch.randint(0, 3, (2, 64)),), "prefix": (numbers(3, 40),), "alibi": (torch.rand(4),), "sink": (torch.rand(4),),
            "window": (5,), "key_lengths": (numbers(3, 60),)}
        make = {"blocks": lambda visible, size: (visible, size, size), "window": lambda left: (left, 0)}
        for name, values in cases.items():
            with self.subTest(name):
                torch._dynamo.reset()
                run = lambda x, *y: fa_mlir.attention(x, x, x, **{name: make.get(name, lambda z: z)(*y)})
                compiled = torch.compile(run, fullgraph=True, dynamic=True, backend="aot_eager")
                self.assertTrue(torch.equal(compiled(q, *values), run(q, *values)))
        torch._dynamo.reset()
        run = lambda x, scale: flash_attn_func(x, x, x, softmax_scale=scale)
        compiled = torch.compile(run, fullgraph=True, dynamic=True, backend="aot_eager")
        for scale in (0.3, 0.7):
            self.assertTrue(torch.equal(compiled(q, scale), run(q, scale)))

    def test_gradients_are_compiled_beside(self):
        """From the first forward on, through lse where the caller gets it; of a compiled step as soon as it is traced."""
        skip_without(self, "cpu")
        torch._dynamo.reset()
        attend_both = lambda *x: fa_mlir.attention(*x, causal=True, return_lse=True, heads_last=True)
        cases = [("eager", 40, lambda *x: flash_attn_func(*x, causal=True), [False]), ("lse", 48, attend_both, [False, True]),
                 ("compiled", 56, torch.compile(lambda *x: flash_attn_func(*x, causal=True), backend="aot_eager"), [False]),
                 ("compiled lse", 72, torch.compile(lambda *x: sum(y.sum() for y in attend_both(*x)), backend="aot_eager"), [True])]
        for name, size, function, forms in cases:  # each head size is a program of its own
            with self.subTest(name):
                x = [torch.randn(1, 9, 2, size, requires_grad=True) for _ in range(3)]
                with mock.patch.object(_program, "compile", wraps=_program.compile) as compiled:
                    result = function(*x)
                    for _ in range(600):
                        calls = [call.kwargs for call in compiled.call_args_list if call.kwargs.get("backward")]
                        if len(calls) >= len(forms):
                            break
                        time.sleep(0.05)
                self.assertEqual(sorted((call["gradients"], call["dlse"]) for call in calls), [("q,k,v", form) for form in forms])
                result = result if isinstance(result, tuple) else (result,)
                self.assertEqual(len(torch.autograd.grad(sum(y.sum() for y in result), x)), 3)

    def test_exports(self):
        class Module(torch.nn.Module):
            def forward(self, q, k, v):
                return flash_attn_func(q, k, v, causal=True)
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                lengths = {1: torch.export.Dim("length", min=2, max=4096)}
                exported = torch.export.export(Module(), tuple(draw(device, sk=33)), dynamic_shapes=[lengths] * 3)
                q, k, v = draw(device, sq=77, sk=77)
                self.assertTrue(torch.equal(exported.module()(q, k, v), flash_attn_func(q, k, v, causal=True)))

    def test_graph_replays(self):
        skip_without(self, "cuda")
        q, k, v = draw("cuda", torch.float16)
        run = lambda: flash_attn_func(q, k, v, causal=True)
        run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = run()
        for _ in range(3):
            q.normal_()
            graph.replay()
            self.assertTrue(torch.equal(o, run()))

    def test_graph_of_sequences(self):
        """A step that waited for lengths could not be captured; replayed, it reads those of now."""
        skip_without(self, "cuda")
        x = [y[0].detach().requires_grad_() for y in draw("cuda", torch.float16, sq=47)]
        starts = torch.tensor([0, 9, 47], device="cuda", dtype=torch.int32)

        def run():
            o = flash_attn_varlen_func(*x, starts, starts, 47, 47, causal=True)
            return [o, *torch.autograd.grad(o, x, torch.ones_like(o))]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = run()
        for middle in (30, 0, 47):
            starts[1] = middle
            graph.replay()
            for result, expected in zip(results, run()):
                self.assertTrue(torch.equal(result, expected))

    def test_graph_draws_new_dropout(self):
        skip_without(self, "cuda")
        q, k, v = draw("cuda", torch.float16)
        run = lambda: flash_attn_func(q, k, v, dropout_p=0.5)
        run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = run()
        graph.replay()
        first = o.clone()
        graph.replay()
        self.assertFalse(torch.equal(o, first))

    def test_streams_and_threads(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = draw(device, torch.float16)
                expected = flash_attn_func(q, k, v, causal=True)
                if device == "cuda":
                    torch.cuda.synchronize()
                wrong = []

                def work():
                    stream = torch.cuda.stream(torch.cuda.Stream()) if device == "cuda" else torch.no_grad()
                    with stream:
                        for _ in range(50):
                            if not torch.equal(flash_attn_func(q, k, v, causal=True), expected):
                                wrong.append(1)
                threads = [threading.Thread(target=work) for _ in range(4)]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                self.assertFalse(wrong)

    def test_other_device(self):
        """Tensors may be on a device that is not the current one; programs, streams and graphs are that device's."""
        skip_without(self, "cuda")
        if torch.cuda.device_count() < 2:
            self.skipTest("needs two GPUs")
        results = []
        for device in ("cuda:0", "cuda:1"):
            x = [y.to(device).detach().requires_grad_() for y in draw("cpu", torch.float16)]
            self.assertEqual(torch.cuda.current_device(), 0)
            o = flash_attn_func(*x, causal=True)
            gradients = torch.autograd.grad(o, x, torch.ones_like(o))
            self.assertEqual({str(y.device) for y in (o, *gradients)}, {device})
            results.append([y.cpu() for y in (o, *gradients)])
            torch.manual_seed(3)
            dropped = flash_attn_func(*x, dropout_p=0.5)
            torch.manual_seed(3)
            self.assertTrue(torch.equal(flash_attn_func(*x, dropout_p=0.5), dropped))
            # After work on a stream of that device that takes a while.
            with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream(device)):
                late = x[0].detach() * 0
                torch.cuda._sleep(20_000_000)
                late += x[0]
                self.assertTrue(torch.equal(flash_attn_func(late, *x[1:], causal=True), o))
        for one, other in zip(*results):
            self.assertTrue(torch.equal(one, other))
        with self.assertRaisesRegex(ValueError, "key is on cuda:1 and query on cuda:0; move it there"):
            flash_attn_func(x[0].to("cuda:0"), *x[1:])

    def test_autocast(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = draw(device, grad=True)
                with torch.autocast(device, torch.bfloat16):
                    o = flash_attn_func(q, k, v)
                self.assertEqual(o.dtype, torch.bfloat16)
                o.sum().backward()
                self.assertEqual(q.grad.dtype, torch.float32)

    def test_what_a_known_launch_is_for(self):
        """A launch that is known is taken for tensors such as those alone, and where nothing watches operations."""
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.utils._python_dispatch import TorchDispatchMode
        run = lambda *rows: flash_attn_func(*rows, causal=True)
        plain = lambda *rows: fa_mlir.attention(*rows, causal=True, heads_last=True)
        seen = []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), named=None):
                seen.append(str(function))
                return function(*arguments, **(named or {}))

        class Other(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, arguments=(), named=None):
                seen.append(str(function))
                return super().__torch_function__(function, types, arguments, named or {})

        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = draw(device)
                _flash._last.clear()
                expected = run(q, k, v)
                known, = _flash._last.values()
                self.assertTrue(known.guard(q, k, v))
                with mock.patch.object(_flash, "find", side_effect=AssertionError):
                    self.assertTrue(torch.equal(run(q, k, v), expected))
                wide = torch.zeros(2, 47, 5, 32, device=device)
                wide[:, :, 1:3] = k
                self.assertFalse(known.guard(q, wide[:, :, 1:3], v))
                self.assertTrue(torch.equal(run(q, wide[:, :, 1:3], v), expected))
                self.assertTrue(torch.equal(run(q[:, 3:], k, v), plain(q[:, 3:], k, v)))
                self.assertTrue(torch.equal(run(q[:1], k[:1], v[:1]), expected[:1]))
                self.assertEqual(run(*draw(device, torch.bfloat16)).dtype, torch.bfloat16)
                self.assertTrue(torch.equal(run(k, k, k), plain(k, k, k)))
                run(q, k, v)
                leaf = k.clone().requires_grad_()
                self.assertIsNotNone(run(q, leaf, v).grad_fn)
                for mode in (torch.no_grad, torch.inference_mode, torch.no_grad):
                    with mode():
                        again = [run(q, leaf, v) for _ in range(3)]
                    self.assertTrue(all(torch.equal(x, expected) and x.grad_fn is None for x in again))
                    self.assertEqual({x.is_inference() for x in again}, {mode is torch.inference_mode})
                    self.assertIsNotNone(run(q, leaf, v).grad_fn)
                run(q, k, v)
                with torch.autocast(device, torch.bfloat16):
                    self.assertEqual(run(q, k, v).dtype, torch.bfloat16)
                run(q, k, v)
                for rows in ((q, k, v), (q.as_subclass(Other), k, v)):
                    seen.clear()
                    with Watch() if type(q) is type(rows[0]) else torch.no_grad():
                        run(*rows)
                    self.assertIn("fa_mlir.attention", "".join(seen))
                run(q, k, v)
                with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                    self.assertIsInstance(run(q, k, v), FakeTensor)
                    self.assertIsInstance(run(mode.from_tensor(q), k, v), FakeTensor)
                for kind in ("real", "fake"):
                    self.assertIn("fa_mlir.attention", make_fx(run, tracing_mode=kind)(q, k, v).code)
                with self.assertRaisesRegex(NotImplementedError, "no rules for torch.func.vmap"):
                    torch.func.vmap(lambda x: run(q, k, v) + x)(q)

    def test_lse_that_nobody_gets(self):
        """Output is the same where lse is no tensor, of programs with a workspace, lengths and other devices too."""
        from fa_mlir import flash_attn_3
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                for sq, sk in ((33, 47), (0, 5), (300, 300)):
                    q, k, v = draw(device, torch.bfloat16, sq, sk)
                    alone, both = (flash_attn_func(q, k, v, return_attn_probs=x) for x in (False, True))
                    self.assertTrue(torch.equal(alone, both[0]) and not both[1].isnan().any())
                starts, lengths = [torch.tensor(x, dtype=torch.int32, device=device) for x in ((0, 20, 33), (15, 13))]
                alone, both = (flash_attn_3.flash_attn_varlen_func(*(x[0] for x in draw(device, sq=33, sk=33)), starts, starts,
                                                                   20, 20, lengths, return_attn_probs=x) for x in (False, True))
                self.assertTrue(torch.equal(alone, both[0]))
                self.assertTrue((alone[15:20] == 0).all() and (both[1][:, 15:20] == -float("inf")).all())

    def test_caches_end(self):
        """What is kept by text is forgotten when there is too much of it, and made again."""
        from fa_mlir import _ops, _program, _text
        skip_without(self, "cpu")
        patch = mock.patch.object
        with patch(_program, "MOST", 2), patch(_program, "_programs", {}), patch(_ops, "_prepared", {}):
            results = []
            for size in (8, 16, 24, 8):
                x = torch.ones(1, 1, 3, size)
                results.append(fa_mlir.attention(x, x, x))
                self.assertLessEqual(len(_program._programs), 2)
            self.assertTrue(torch.equal(results[0], results[3]))
        with patch(_ops, "_MOST", 2), patch(_ops, "_prefetched", set()), patch(_ops, "compile_for"):
            for n in range(5):
                _ops._prefetch(torch.device("cpu"), "text %d" % n, "q")
                self.assertLessEqual(len(_ops._prefetched), 2)
        for function in (_text.write, _text.write_line):
            self.assertIsNotNone(function.cache_info().maxsize)

    def test_only_what_is_asked_for(self):
        """The program computes the gradients of the inputs that require them, and no others."""
        skip_without(self, "cpu")
        names = dict(zip("qkv", range(3)))
        for function in (flash_attn_func, torch.compile(flash_attn_func, backend="aot_eager")):
            for kept, computed in (("k", "k"), ("qv", "q,v")):
                with self.subTest(kept=kept, compiled=function is not flash_attn_func):
                    torch._dynamo.reset()
                    x = draw("cpu")
                    for name in kept:
                        x[names[name]].requires_grad_()
                    o = function(*x)
                    with mock.patch.object(_ops, "compile_for", wraps=_ops.compile_for) as compiled:
                        _ops._prepared.clear()
                        results = torch.autograd.grad(o.sum(), [x[names[name]] for name in kept])
                    self.assertEqual([call.args[2] for call in compiled.call_args_list if call.args[2]], [computed])
                    leaves = [y.detach().requires_grad_() for y in x]
                    expected = torch.autograd.grad(flash_attn_func(*leaves).sum(), leaves)
                    for name, result in zip(kept, results):
                        torch.testing.assert_close(result, expected[names[name]], rtol=1e-5, atol=1e-5)


@needs_torch
class Attention(unittest.TestCase):
    def compare(self, expected, lse, q, k, v, **arguments):
        o, sums = fa_mlir.attention(q, k, v, return_lse=True, **arguments)
        torch.testing.assert_close(o.double(), expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(sums.double(), lse, rtol=1e-4, atol=1e-4)

    def test_arguments(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = (x.transpose(1, 2) for x in draw(device))
                plain = lambda seen=None, **more: attend(q, k, v, seen, dtype=torch.float64, **more)
                i, j = torch.arange(33, device=device)[:, None], torch.arange(47, device=device)
                causal = visible(33, 47, device, causal=True)
                self.compare(*plain(causal), q, k, v, causal=True)
                self.compare(*plain(j <= i), q, k, v, causal="top_left")
                prefix = torch.tensor([3, 40], device=device)
                self.compare(*plain(causal | (j < prefix[:, None, None, None])), q, k, v, prefix=prefix)
                ids = torch.randint(0, 3, (2, 47), device=device, dtype=torch.int32)
                self.compare(*plain((ids[:, :33, None] == ids[:, None, :])[:, None]), q, k, v, document=ids)
                blocks = torch.rand(2, 1, 3, 4, device=device) > 0.4
                seen = blocks.repeat_interleave(16, 2).repeat_interleave(12, 3)[:, :, :33, :47]
                self.compare(*plain(seen), q, k, v, blocks=(blocks, 16, 12))
                self.compare(*plain(seen[:1] & causal), q, k, v, blocks=(blocks[0, 0].int(), 16, 12), causal=True)
                bias = torch.randn(4, 33, 47, device=device)
                self.compare(*plain(score=lambda s: s + bias), q, k, v, bias=bias)
                self.compare(*plain(score=lambda s: s + bias[:1]), q, k, v, bias=bias[:1])
                sink = torch.randn(4, device=device)
                self.compare(*plain(causal, sink=sink), q, k, v, causal=True, sink=sink)
                self.compare(*plain(scale=0.5), q, k, v, scale=0.5)

    def test_sequences(self):
        """Starts and lengths, of either side: what each sequence gives alone."""
        for device in devices():
            for starts in ((True, True), (True, False), (False, True), (False, False)):
                for last in (False, True):
                    with self.subTest(device=device, starts=starts, heads_last=last):
                        skip_without(self, device)
                        self.compare_sequences(device, starts, last)

    def compare_sequences(self, device, starts, last):
        rows = draw(device)
        lengths = [torch.tensor(given, device=device) for given in ((31, 9), (20, 47))]
        offsets = [torch.tensor([0, s, 2 * s], device=device) for s in (33, 47)]
        leaves = [(x.flatten(0, 1) if packed else x).requires_grad_() for x, packed in zip(rows, (starts[0], starts[1], starts[1]))]
        turned = leaves if last else [x.transpose(-3, -2) for x in leaves]
        output, lse = fa_mlir.attention(
            *turned, causal=True, return_lse=True, heads_last=last, query_starts=offsets[0] if starts[0] else None,
            key_starts=offsets[1] if starts[1] else None, query_lengths=lengths[0], key_lengths=lengths[1])
        gradients = torch.autograd.grad(output, leaves, torch.ones_like(output))
        output = (output if last else output.transpose(-3, -2)).reshape(2, 33, 4, 32)
        lse = lse.unflatten(1, (2, 33)).transpose(0, 1) if starts[0] else lse
        for b, (sq, sk) in enumerate(zip(*lengths)):
            alone = [x[b:b + 1, :s].transpose(1, 2).detach().requires_grad_() for x, s in zip(rows, (sq, sk, sk))]
            expected, sums = attend(*alone, visible(sq, sk, device, causal=True))
            torch.testing.assert_close(output[b, :sq], expected[0].transpose(0, 1), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(lse[b, :, :sq], sums[0], rtol=1e-4, atol=1e-5)
            self.assertFalse(output[b, sq:].any())
            for gradient, one, s in zip(gradients, torch.autograd.grad(expected.sum(), alone), (sq, sk, sk)):
                gradient = gradient.reshape(2, -1, *gradient.shape[-2:])[b]
                torch.testing.assert_close(gradient[:s], one[0].transpose(0, 1), rtol=1e-4, atol=1e-4)
                self.assertFalse(gradient[s:].any())

    def test_gradients_of_captures(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = (x.detach().transpose(1, 2) for x in draw(device))
                bias = torch.randn(2, 4, 33, 47, device=device, requires_grad=True)
                sink = torch.randn(4, device=device, requires_grad=True)
                do = torch.randn(2, 4, 33, 32, device=device)
                results = torch.autograd.grad(fa_mlir.attention(q, k, v, bias=bias, sink=sink), [bias, sink], do)
                plain = attend(q, k, v, score=lambda s: s + bias, sink=sink)[0]
                expected = torch.autograd.grad(plain, [bias, sink], do)
                for a, b in zip(results, expected):
                    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)

    def test_explains(self):
        q, k, v = draw("cpu")
        reasons = fa_mlir.explain(q, k, v, causal=True, heads_last=True)
        self.assertTrue(all(kind in ("refused", "refused at launch", "slower", "slower to start") for kind, _, _ in reasons))
        self.assertIn("with [causal]", fa_mlir.to_mlir(q, k, v, causal=True, heads_last=True))

    def test_explains_tensors(self):
        """What a launch on just these sizes and strides is refused for comes first, in the words of the launch."""
        q, k, v = [x.transpose(1, 2) for x in draw("cpu", sk=33)]
        bias = torch.randn(33, 33)
        rows = lambda x: x.transpose(2, 3).contiguous().transpose(2, 3)
        cases = [((q, k, v), dict(bias=bias), ""), ((q, k, v), dict(bias=bias.t()), "of 't0' (bias) has stride 33"),
                 ((rows(q), k, v), {}, "of 'q' has stride 33"), ((q[:, :3], k, v), dict(dropout_p=0.5), "Hq = 3 must be a multiple of Hk = 2"),
                 ((q, k, v), dict(sink=torch.zeros(3)), "'t0' (sink)")]
        for tensors, arguments, words in cases:
            reasons = {backward: fa_mlir.explain(*tensors, **arguments, backward=backward) for backward in (False, True)}
            with self.subTest(words):
                if not words:
                    fa_mlir.attention(*tensors, **arguments)
                    self.assertEqual(reasons[False], fa_mlir.explain(*tensors, bias=bias.clone()))
                    continue
                with self.assertRaises(fa_mlir.Error) as caught:
                    fa_mlir.attention(*tensors, **arguments)
                for kind, what, remedy in [x[0] for x in reasons.values()]:
                    self.assertEqual(kind, "refused at launch")
                    self.assertIn(words, what)
                    self.assertTrue(remedy)
                self.assertIn(reasons[False][0][1], str(caught.exception))

    def test_looking_draws_nothing(self):
        """The text of an attention with dropout, and what there is to say of it, leave the generator as it is."""
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                q, k, v = [x.transpose(1, 2) for x in draw(device)]
                get_state = torch.get_rng_state if device == "cpu" else torch.cuda.get_rng_state
                before = get_state()
                self.assertIn("dropout(", fa_mlir.to_mlir(q, k, v, dropout_p=0.5))
                for backward in (False, True):
                    fa_mlir.explain(q, k, v, dropout_p=0.5, backward=backward)
                self.assertTrue(torch.equal(get_state(), before))
                fa_mlir.attention(q, k, v, dropout_p=0.5)
                self.assertFalse(torch.equal(get_state(), before))


if __name__ == "__main__":
    unittest.main()
