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
    """-> (the module of flash_attn_func, "") of a package, or (None, why there is none)"""
    reasons = []
    for module in PACKAGES[name]:
        try:
            found = importlib.import_module(module)
            found.flash_attn_func
            return found, ""
        except Exception as error:  # an import of CUDA code can die of anything
            reasons.append((str(error).strip().splitlines() or [type(error).__name__])[0])
    return None, reasons[0]


def missing_peer(name):
    """Why a rival cannot be measured on this machine; empty where it can."""
    return find_flash_attention(name)[1] if name in PACKAGES else ""


def compile_rivals_for(target):
    """FlexAttention's kernels are compiled for what ours are: beside code for sm_80 PyTorch takes the tiles that it has
    for an A100, and Triton no instruction that one lacks. To be called before Triton compiles anything."""
    if target != "sm_80":
        return
    from torch._inductor import config
    from triton.backends.nvidia.compiler import CUDABackend
    major, minor = torch.cuda.get_device_capability()
    torch.cuda.get_device_capability = lambda device=None: (8, 0)
    config.compile_threads = 1  # here, where ptxas is asked for code that this device takes
    assemble = CUDABackend.make_cubin
    CUDABackend.make_cubin = lambda self, src, metadata, opt, _: assemble(self, src, metadata, opt, 10 * major + minor)


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


def make_packed(captures, *tensors):
    """-> (tensors as tokens x heads x size; starts, longest lengths, dropout and causal, as PyTorch's FlashAttention-2 takes
    them; the way back)"""
    cu = captures["cu"]
    longest = int(cu.diff().max())
    return [x[0].transpose(0, 1) for x in tensors], (cu, cu, longest, longest, 0.0, True), lambda x: x.transpose(0, 1)[None]


def flash_attention_of(name, case):
    package = find_flash_attention(name)[0]
    return package.flash_attn_varlen_func if case.packed else package.flash_attn_func


def arrange(case, captures, *tensors):
    """-> (tensors as FlashAttention's packages take them, the arguments that say the case, the way back)"""
    if case.packed:
        tensors, (cu_q, cu_k, longest_q, longest_k, _, causal), back = make_packed(captures, *tensors)
        return tensors, dict(cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, max_seqlen_q=longest_q, max_seqlen_k=longest_k,
                             causal=causal), back
    return [x.transpose(1, 2) for x in tensors], dict(case.flash), lambda x: x.transpose(1, 2)  # B x S x H x D


def make_flash_attention(name, case, captures, q, k, v, lse):
    function = flash_attention_of(name, case)
    (q, k, v), arguments, back = arrange(case, captures, q, k, v)
    if lse:
        arguments["return_lse" if name == "fa4" else "return_attn_probs"] = True

    def run():
        result = function(q, k, v, **arguments)
        return back(result[0] if isinstance(result, tuple) else result)
    return run


def make_flash_attention_3_backward(case, captures, q, k, v, do):
    """By its operator: what its Python makes of that depends on the versions of both, and some of these PyTorch refuses."""
    (q, k, v, do), arguments, back = arrange(case, captures, q, k, v, do)
    out, lse = flash_attention_of("fa3", case)(q, k, v, **arguments, return_attn_probs=True)[:2]
    gradients = [torch.empty_like(x) for x in (q, k, v)]
    causal, (left, right) = arguments.pop("causal", False), arguments.pop("window_size", (-1, -1))

    def run():
        torch.ops.flash_attn_3.bwd(do, q, k, v, out, lse, *gradients, softmax_scale=q.shape[-1] ** -0.5, is_causal=causal,
                                   window_size_left=left, window_size_right=right, **arguments)
        return [back(x) for x in gradients]
    return run


def make_backward_peer(name, case, captures, q, k, v, do):
    """A function that launches a rival's backward on B x H x S x D tensors, and returns dq, dk, dv; its forward runs
    here, once."""
    if name == "fa3":
        return make_flash_attention_3_backward(case, captures, q, k, v, do)
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
        return make_flash_attention(name, case, captures, q, k, v, lse)
    # scaled_dot_product_attention calls these, but lets cuDNN write LSE for gradients alone.
    if name == "cudnn":
        return lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(
            q, k, v, None, lse, case.dropout, case.causal)[0]
    if case.packed:
        tensors, sequences, back = make_packed(captures, q, k, v)
        return lambda: back(torch.ops.aten._flash_attention_forward(*tensors, *sequences, False)[0])
    return lambda: torch.ops.aten._scaled_dot_product_flash_attention(
        q, k, v, case.dropout, case.causal)[0]
