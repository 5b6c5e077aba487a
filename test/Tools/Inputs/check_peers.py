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


class Tensor:
    """A tensor by the order of its dimensions."""
    def __init__(self, order="BHSD"):
        self.order = order

    def transpose(self, a, b):
        order = list(self.order)
        order[a], order[b] = order[b], order[a]
        return Tensor("".join(order))


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
