"""Checks bench/gpu_peers.py with a stand-in for PyTorch and for FlashAttention: check_peers.py BENCH-FOLDER."""
import sys
import types

sys.path.insert(0, sys.argv[1])
calls = []


def operation(name):
    def run(*arguments):
        calls.append((name, arguments))
        return ("o", "lse")
    return run


aten = types.SimpleNamespace(_scaled_dot_product_cudnn_attention=operation("cudnn"),
                             _scaled_dot_product_flash_attention=operation("fa2"))
sys.modules["torch"] = types.SimpleNamespace(ops=types.SimpleNamespace(aten=aten))
sys.modules["flash_attn_interface"] = None  # importing it fails
import gpu_peers
from gpu_cases import CASES
from gpu_masks import MASKS


class Tensor:
    """A tensor by the order of its dimensions."""
    def __init__(self, order="BHSD"):
        self.order = order

    def transpose(self, a, b):
        order = list(self.order)
        order[a], order[b] = order[b], order[a]
        return Tensor("".join(order))


    def __getitem__(self, index):
        assert index is None or index == 0 and self.order[0] == "B"
        return Tensor("B" + self.order if index is None else self.order[1:])

    shape = (64,)


def flash_attn_func(q, k, v, return_lse=False, **arguments):
    assert q.order == k.order == v.order == "BSHD"
    calls.append(("fa4", (return_lse, arguments)))
    return (Tensor("BSHD"), "lse") if return_lse else Tensor("BSHD")


sys.modules["flash_attn"] = types.SimpleNamespace()
sys.modules["flash_attn.cute"] = types.SimpleNamespace(flash_attn_func=flash_attn_func)

# What cannot be imported is said to be missing.
assert "flash_attn_interface" in gpu_peers.missing_peer("fa3")
assert not any(gpu_peers.missing_peer(name) for name in ("fa4", "cudnn", "fa2", "flex"))

tensors = [Tensor(), Tensor(), Tensor()]
for lse in (True, False):
    for name, arguments in ("full", {}), ("causal", {"causal": True}), ("tanh", {"softcap": 30.0}):
        run = gpu_peers.make_peer("fa4", CASES[name], {}, *tensors, lse)
        assert run().order == "BHSD" and calls.pop() == ("fa4", (lse, arguments))
    # cuDNN writes LSE if and only if ours does; FlashAttention-2 always does.
    assert gpu_peers.make_peer("cudnn", CASES["causal"], {}, *tensors, lse)() == "o"
    assert calls.pop() == ("cudnn", (*tensors, None, lse, 0.0, True))
    assert gpu_peers.make_peer("fa2", CASES["dropout"], {}, *tensors, lse)() == "o"
    assert calls.pop() == ("fa2", (*tensors, 0.1, False))

# FlashAttention-3's gradients are those of its operator; packed sequences are tokens x heads x size.
starts = types.SimpleNamespace(diff=lambda: types.SimpleNamespace(max=lambda: 7))
lengths = dict(cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=7, max_seqlen_k=7)


def forward(order):
    def run(q, k, v, return_attn_probs=False, **arguments):
        assert q.order == k.order == v.order == order
        calls.append(("fa3", (return_attn_probs, arguments)))
        return (Tensor(order), "lse") if return_attn_probs else Tensor(order)
    return run


def backward(do, q, k, v, out, lse, dq, dk, dv, **arguments):
    assert len({x.order for x in (do, q, k, v, out, dq, dk, dv)}) == 1 and lse == "lse"
    calls.append(("fa3 backward", arguments))


sys.modules["flash_attn_interface"] = types.SimpleNamespace(flash_attn_func=forward("BSHD"),
                                                            flash_attn_varlen_func=forward("SHD"))
sys.modules["torch"].ops.flash_attn_3 = types.SimpleNamespace(bwd=backward)
sys.modules["torch"].empty_like = lambda x: Tensor(x.order)
gpu_peers.find_flash_attention.cache_clear()
for case, arguments in ((CASES["causal"], {"causal": True}), (CASES["window"], {"window_size": (1023, 0)}),
                        (MASKS["packed-12"], {**lengths, "causal": True})):
    for lse in (True, False):
        assert gpu_peers.make_peer("fa3", case, {"cu": starts}, *tensors, lse)().order == "BHSD"
        assert calls.pop() == ("fa3", (lse, arguments))
    run = gpu_peers.make_backward_peer("fa3", case, {"cu": starts}, *tensors, Tensor())
    assert calls.pop() == ("fa3", (True, arguments)) and [x.order for x in run()] == ["BHSD"] * 3
    left, right = arguments.get("window_size", (-1, -1))
    assert calls.pop() == ("fa3 backward", {
        "softmax_scale": 0.125, "is_causal": arguments.get("causal", False), "window_size_left": left, "window_size_right": right,
        **(lengths if case.packed else {})})
assert not calls
