"""What tests on tensors share: devices, the reference in float64, the error rule of docs/semantics.md."""

import concurrent.futures
import contextlib
import os
import unittest
import unittest.mock

try:
    import torch
except ImportError:
    torch = None
else:
    # Tensors here are small: more threads only wait for each other, for minutes where a machine shows cores that it does
    # not lend.
    torch.set_num_threads(2)


def needs_torch(test):
    return unittest.skipUnless(torch, "needs PyTorch >= 2.6")(test)


def devices():
    """Return the devices to test on: $FA_MLIR_DEVICES, say "cuda", or both; those missing are skipped."""
    return os.environ.get("FA_MLIR_DEVICES", "cpu,cuda").split(",")


def skip_without(test, device):
    """Skip a test, or a part of one, on a device that is missing, or not to be tested."""
    if device not in devices():
        test.skipTest("FA_MLIR_DEVICES leaves out " + device)
    if device == "cuda" and not torch.cuda.is_available():
        test.skipTest("needs a GPU")


def attend_flexibly(*tensors, **arguments):
    """Return FlexAttention's eager output and lse, without gradients: by its own code, which nothing compiles."""
    from torch.nn.attention import flex_attention as module
    name = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"  # without it each call takes seconds to trace
    context = unittest.mock.patch.object(module, name, True) if hasattr(module, name) else contextlib.nullcontext()
    with context, torch.no_grad():
        return module.flex_attention(*tensors, return_lse=True, **arguments)


def compile_at_once(q, k, v, functions, gradients=()):
    """Compile the programs of (mask_mod, score_mod), and of the gradients that are named, on all cores: one after the other
    they take most of a test's time. What fails is left to the calls."""
    import fa_mlir
    from fa_mlir import _ops
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for mask, score in functions:
            with contextlib.suppress(Exception):
                text = " ".join(fa_mlir.to_mlir(q, k, v, mask=mask, score=score).split())  # as calls have it
                for wanted in (None, *gradients):
                    pool.submit(_ops.compile_for, q.device, text, wanted, False)


def count_programs():
    """Return how many programs were compiled, without those of gradients, which are compiled beside what runs."""
    from fa_mlir import _program
    return sum("backward" not in program.choices for program in list(_program._programs.values()))


def count_graphs(counter):
    """Return how many graphs a CompileCounterWithBackend has; dynamo empties one where it begins anew with constants."""
    return sum(any(node.op == "call_function" for node in graph.graph.nodes) for graph in counter.graphs)


def visible(sq, sk, device, left=-1, right=-1, causal=False, chunk=0):
    """Return the mask of windows, Sq x Sk."""
    i = torch.arange(sq, device=device)[:, None] + sk - sq
    j = torch.arange(sk, device=device)
    seen = torch.ones(sq, sk, dtype=torch.bool, device=device)
    right = 0 if causal else right
    if left >= 0:
        seen &= j >= i - left
    if right >= 0:
        seen &= j <= i + right
    if chunk:
        seen &= i.div(chunk, rounding_mode="floor") == j.div(chunk, rounding_mode="floor")
    return seen


def attend(q, k, v, seen=None, score=None, sink=None, scale=None, dtype=None):
    """Return output and lse of standard attention on B x H x S x D tensors, computed in `dtype` (theirs by default)."""
    if dtype:
        q, k, v = (x.to(dtype) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    wide = torch.promote_types(q.dtype, torch.float32)
    s = (q @ k.transpose(2, 3)).to(wide) * (scale if scale is not None else q.shape[3] ** -0.5)
    if score is not None:
        s = score(s)
    if seen is not None:
        s = s.masked_fill(~seen, float("-inf"))
    if sink is None:
        lse = torch.logsumexp(s, 3)
    else:
        column = sink.to(wide)[None, :, None, None].expand(*s.shape[:3], 1)
        lse = torch.logsumexp(torch.cat([s, column], 3), 3)
    p = torch.exp(s - lse[..., None].masked_fill(lse[..., None] == float("-inf"), 0))
    return p.to(v.dtype) @ v, lse


def check(test, name, result, reference, low):
    """Judge a result by the error rule: within twice the error of the plain computation, or the least that counts."""
    result, low = result.double(), low.double()
    allowed = 2 * (low - reference).abs().max().item() + 2e-6 + {torch.float16: 2 ** -10, torch.bfloat16: 2 ** -7}.get(
        test.dtype, 0) * reference.abs().max().item()
    error = (result - reference).abs().max().item()
    test.assertLessEqual(error, allowed, name)
