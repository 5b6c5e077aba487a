"""The rivals of gpu_compare.py: PyTorch's cuDNN, FlashAttention-2 and FlexAttention, and FlashAttention-3 and -4
where they can be imported.

Each gets the same tensors, writes LSE if ours does, and computes what `gpu_cases.py` says of a case: where our
`tanh` is the approximate one (`fastmath<afn>`), so is theirs. FlexAttention has it by an operation that lowers
to the same instruction, as its own collection of examples has it; FlashAttention's softcap always is.
"""

import functools
import importlib

import torch

# Rivals that need a package: where their function is.
PACKAGES = {"fa3": ["flash_attn_interface", "flash_attn_3.flash_attn_interface"], "fa4": ["flash_attn.cute"]}


@functools.lru_cache(maxsize=None)
def find_flash_attention(name):
    """-> (flash_attn_func, "") of a package, or (None, why there is none)"""
    reasons = []
    for module in PACKAGES[name]:
        try:
            return importlib.import_module(module).flash_attn_func, ""
        except Exception as error:  # an import of CUDA code can die of anything
            reasons.append((str(error).strip().splitlines() or [type(error).__name__])[0])
    return None, reasons[0]


def missing_peer(name):
    """Why a rival cannot be measured on this machine; empty where it can."""
    return find_flash_attention(name)[1] if name in PACKAGES else ""


@functools.lru_cache(maxsize=None)
def approximate_tanh():
    """-> the device's approximate tanh as an operation that FlexAttention can compile"""
    from torch._inductor.lowering import make_pointwise, register_lowering
    from torch._inductor.virtualized import ops
    torch.library.define("fa_bench::tanh", "(Tensor x) -> Tensor")
    torch.library.impl("fa_bench::tanh", "CompositeExplicitAutograd", torch.tanh)
    torch.library.register_fake("fa_bench::tanh", torch.empty_like)
    operation = torch.ops.fa_bench.tanh.default
    register_lowering(operation)(make_pointwise(
        lambda x: ops.inline_asm_elementwise(x, asm="tanh.approx.f32 $0, $1;")))
    x = torch.linspace(-4, 4, 4096, device="cuda")
    error = (torch.compile(lambda x: operation(x))(x) - x.tanh()).abs().max().item()
    if not 1e-6 < error < 2e-3:
        raise RuntimeError("FlexAttention's tanh is not the approximate one here: differs by %g" % error)
    return operation


def make_flex(case, captures, q, k, v, lse):
    from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
    score = case.score and (case.score(captures, approximate_tanh()) if case.approximate
                            else case.score(captures))
    # It compiles each case anew, and gives up after some that it remembers.
    torch.compiler.reset()
    blocks = case.mask and create_block_mask(case.mask(captures), q.shape[0] if captures else None,
                                             q.shape[1] if case.per_head else None, q.shape[2], k.shape[2], device="cuda")
    attention = torch.compile(flex_attention, dynamic=False)
    return lambda: attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=case.group > 1,
                             return_aux=AuxRequest(lse=lse))[0]


def make_flash_attention(name, case, q, k, v, lse):
    function = find_flash_attention(name)[0]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # B x S x H x D
    arguments = dict(case.flash)
    if lse:
        arguments["return_lse" if name == "fa4" else "return_attn_probs"] = True

    def run():
        result = function(q, k, v, **arguments)
        return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)
    return run


def make_packed(captures, *tensors):
    """-> (tensors as tokens x heads x size, and the starts and longest lengths, of PyTorch's FlashAttention-2; the way back)"""
    cu = captures["cu"]
    longest = int(cu.diff().max())
    return [x[0].transpose(0, 1) for x in tensors], (cu, cu, longest, longest, 0.0, True), lambda x: x.transpose(0, 1)[None]


def make_backward_peer(name, case, captures, q, k, v, do):
    """A function that launches a rival's backward on B x H x S x D tensors, and returns dq, dk, dv; its forward runs
    here, once."""
    if name == "flex" or name in PACKAGES:
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() for x in (q, k, v)]
            # Ours has the gradients of captures too.
            captures = {name: x.detach().requires_grad_() if x.is_floating_point() else x for name, x in captures.items()}
            leaves += [x for x in captures.values() if x.is_floating_point()]
            out = make_peer(name, case, captures, *leaves[:3], True)()
        return lambda: torch.autograd.grad(out, leaves, do, retain_graph=True)
    aten = torch.ops.aten
    if name == "cudnn":
        out, lse, cq, ck, mq, mk, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(
            q, k, v, None, True, case.dropout, case.causal)
        return lambda: aten._scaled_dot_product_cudnn_attention_backward(
            do, q, k, v, out, lse, seed, offset, None, cq, ck, mq, mk, case.dropout, case.causal)
    if case.packed:
        (q, k, v, do), sequences, back = make_packed(captures, q, k, v, do)
        out, lse, seed, offset, _ = aten._flash_attention_forward(q, k, v, *sequences, False)
        return lambda: [back(x) for x in aten._flash_attention_backward(
            do, q, k, v, out, lse, *sequences, seed, offset)]
    out, lse, cq, ck, mq, mk, seed, offset, _ = aten._scaled_dot_product_flash_attention(
        q, k, v, case.dropout, case.causal)
    return lambda: aten._scaled_dot_product_flash_attention_backward(
        do, q, k, v, out, lse, cq, ck, mq, mk, case.dropout, case.causal, seed, offset)


def make_peer(name, case, captures, q, k, v, lse):
    """A function that launches a rival on B x H x S x D tensors, and returns its output."""
    if name == "flex":
        return make_flex(case, captures, q, k, v, lse)
    if name in PACKAGES:
        return make_flash_attention(name, case, q, k, v, lse)
    # scaled_dot_product_attention calls these, but lets cuDNN write LSE for gradients alone.
    if name == "cudnn":
        return lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(
            q, k, v, None, lse, case.dropout, case.causal)[0]
    if case.packed:
        tensors, sequences, back = make_packed(captures, q, k, v)
        return lambda: back(torch.ops.aten._flash_attention_forward(*tensors, *sequences, False)[0])
    return lambda: torch.ops.aten._scaled_dot_product_flash_attention(
        q, k, v, case.dropout, case.causal)[0]
