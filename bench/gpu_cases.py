"""The attentions that gpu_compare.py times: as MLIR, for FlexAttention and FlashAttention, and as a formula.

A case's `score` and `mask` take FlexAttention's arguments (score, b, h, i, j), so one
definition serves FlexAttention and the check. Captures are tensors of PyTorch by name,
which is imported where tensors are made: the rest serves without it.
"""

import bisect
import dataclasses
import itertools
import math
from typing import Callable, Optional

TOKENS, HIDDEN = 16384, 2048  # of a batch: sequences x their length, heads x their size

TANH = """
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c = arith.constant 30.0 : f32
    %r = arith.constant 0.0333333333 : f32
    %x = arith.mulf %s, %r : f32
    %y = math.tanh %x fastmath<afn> : f32
    %z = arith.mulf %y, %c : f32
    fa.yield %z : f32
  }"""


@dataclasses.dataclass
class Case:
    text: str  # between the operands and the types of fa.attention
    visible: Callable = lambda n: n * n  # pairs (i, j) that are seen
    causal: Optional[bool] = None  # a value where scaled_dot_product_attention can do it
    dropout: float = 0.0
    captures: Callable = lambda b, h, n: {}  # name: tensor
    types: dict = dataclasses.field(default_factory=dict)  # name: (type, fa.dims)
    score: Optional[Callable] = None  # of captures: FlexAttention's score_mod
    mask: Optional[Callable] = None
    approximate: bool = False  # `score` takes a tanh too, and ours is the approximate one
    flash: Optional[dict] = None  # arguments of flash_attn_func, where that computes the same
    group: int = 1  # query heads that share a head of keys and values
    sink: bool = False  # a capture `sink` is a logit of each head beside its scores
    per_head: bool = False  # `mask` differs between heads
    value_size: Optional[int] = None  # of the heads of values and outputs, where it is another one
    packed: bool = False  # sequences are in a row: q, k, v and o are H x N x d, lse is H x N
    heads: Optional[int] = None  # of queries, where they are others than HIDDEN / d
    lengths: Optional[Callable] = None  # of n: those of the causal documents, or packed sequences, that it consists of
    visits: Optional[Callable] = None  # (n, size of a block, of a step, backward): pairs of the steps, where they are known

    def pair_size(self, d):
        """What a pair of a query and a key counts as, in place of d: products of d and of the size of values."""
        return (d + (self.value_size or d)) / 2

    def key_heads(self, heads):
        return max(1, heads // self.group)


def visits(case, n, size, step, backward):
    """Pairs that blocks of `size` rows visit in steps of `step` keys, or of keys in steps of rows in a backward: whole
    blocks and steps, from the first to the last that sees something. None where it is not known."""
    if case.visits or not case.lengths:
        return case.visits and case.visits(n, size, step, backward)
    lengths, pairs = case.lengths(n), 0
    for parts in [[length] for length in lengths] if case.packed else [lengths]:
        ends = list(itertools.accumulate(parts))
        for at in range(0, ends[-1], size):
            last = min(at + size, ends[-1])
            begin, end = ((at, ends[bisect.bisect_left(ends, last)]) if backward else
                          ([0, *ends][bisect.bisect_right(ends, at)], last))
            pairs += size * (-(-end // step) - begin // step) * step
    return pairs


def slopes(b, h, n):
    import torch
    return {"slopes": torch.tensor([2.0 ** (-8.0 * (i + 1) / h) for i in range(h)], device="cuda")}


def ids(b, h, n):
    """Eight documents a sequence."""
    import torch
    return {"ids": (torch.arange(n, device="cuda", dtype=torch.int32) // max(1, n // 8))
            .expand(b, n).contiguous()}


def bias(dimensions):
    """A bias for each batch and head (4 dimensions), or each head (3)."""
    def draw(b, h, n):
        import torch
        return {"bias": torch.randn((b, h, n, n)[4 - dimensions:], dtype=torch.bfloat16, device="cuda")}
    return draw


def is_causal(c):
    return lambda b, h, i, j: j <= i


def softcap(c, tanh=lambda x: x.tanh()):
    return lambda s, b, h, i, j: 30 * tanh(s / 30)


CASES = {
    "full": Case("", causal=False, flash={}, visits=lambda n, *_: n * n),
    "causal": Case("with [causal]", visible=lambda n: n * n / 2, causal=True, mask=is_causal,
                   flash={"causal": True}, lengths=lambda n: [n]),
    "gqa": Case("", causal=False, group=8, flash={}),
    "gqa-causal": Case("with [causal]", visible=lambda n: n * n / 2, causal=True, mask=is_causal, group=8,
                       flash={"causal": True}),
    "window": Case("with [window<1023, 0>]",
                   visible=lambda n: n * n / 2 if n < 1024 else n * 1024 - 1024 * 1024 / 2,
                   mask=lambda c: lambda b, h, i, j: (j <= i) & (i - j < 1024),
                   flash={"window_size": (1023, 0)}),
    "document": Case("with [causal, document(%ids)]", visible=lambda n: n * n / 16,
                     captures=ids, types={"ids": ("tensor<?x?xi32>", None)},
                     mask=lambda c: lambda b, h, i, j: (j <= i) & (c["ids"][b, i] == c["ids"][b, j])),
    "softcap": Case("with [softcap<30.0>]", score=softcap),  # the precise tanh
    "tanh": Case(TANH, score=softcap, approximate=True, flash={"softcap": 30.0}),
    "alibi": Case("with [alibi(%slopes)]", captures=slopes, types={"slopes": ("tensor<?xf32>", ["Hq"])},
                  score=lambda c: lambda s, b, h, i, j: s - c["slopes"][h] * (j - i).abs()),
    "bias": Case("with [bias(%bias)]", captures=bias(4), types={"bias": ("tensor<?x?x?x?xbf16>", None)},
                 score=lambda c: lambda s, b, h, i, j: s + c["bias"][b, h, i, j]),
    "bias-of-heads": Case("with [bias(%bias)]", captures=bias(3), types={"bias": ("tensor<?x?x?xbf16>", None)},
                          score=lambda c: lambda s, b, h, i, j: s + c["bias"][h, i, j]),
    "dropout": Case("dropout(%p, %seed, %offset)", causal=False, dropout=0.1),
    "narrow": Case("", causal=False, flash={}, value_size=128),
    "narrow-causal": Case("with [causal]", visible=lambda n: n * n / 2, causal=True, mask=is_causal,
                          flash={"causal": True}, value_size=128),
}


def refusal(peer, case):
    """Why a rival is not timed; empty where it is."""
    if case.packed:
        return "" if peer in ("fa2", "fa3", "fa4") else "is not asked for sequences in a row"
    if peer == "flex":
        return "FlexAttention has no %s" % ("dropout" if case.dropout else "sink") if case.dropout or case.sink else ""
    if peer in ("fa3", "fa4"):
        return "" if case.flash is not None else "flash_attn_func computes no such attention"
    if case.causal is None:
        return "scaled_dot_product_attention has no such mask or score"
    return "cuDNN is not timed with dropout" if case.dropout and peer == "cudnn" else ""


def softmax(s, captures, head):
    """Probabilities of a head's scores (rows x keys), beside its sink where there is one."""
    import torch
    if "sink" not in captures:
        return torch.softmax(s, -1)
    sink = captures["sink"][head].to(s.dtype).expand(s.shape[0], 1)
    return torch.softmax(torch.cat([s, sink], -1), -1)[:, :-1]


def reference_gradients(case, captures, q, k, v, do):
    """dQ of the query heads that read key head 0 of batch 0, and its dK and dV, in float32."""
    import torch
    group, n = q.shape[1] // k.shape[1], k.shape[2]
    i, j = torch.arange(n, device=q.device)[:, None], torch.arange(n, device=q.device)[None, :]
    queries = []
    dk, dv = torch.zeros_like(k[0, 0], dtype=torch.float32), torch.zeros_like(v[0, 0], dtype=torch.float32)
    with torch.enable_grad():
        for head in range(group):
            leaves = [x.float().detach().requires_grad_() for x in (q[0, head], k[0, 0], v[0, 0])]
            s = leaves[0] @ leaves[1].T / math.sqrt(q.shape[3])
            if case.score:
                s = case.score(captures)(s, 0, head, i, j)
            if case.mask:
                s = s.masked_fill(~case.mask(captures)(0, head, i, j), -math.inf)
            grads = torch.autograd.grad(softmax(s, captures, head) @ leaves[2], leaves, do[0, head].float())
            del s
            queries.append(grads[0])
            dk += grads[1]
            dv += grads[2]
    return torch.stack(queries), dk, dv


def program(case, d, lse, dtype="bf16"):
    """One attention as MLIR: q, k are B x H x N x d, v and o too or of the case's size of values, lse is B x H x N."""
    batch = "" if case.packed else "?x"
    t, l = "tensor<%s?x?x%dx%s>" % (batch, d, dtype), "tensor<%s?x?xf32>" % batch
    tv = "tensor<%s?x?x%dx%s>" % (batch, case.value_size or d, dtype)
    names, types = ["q", "k", "v"], [t, t, tv]
    attributes = {}
    for name, (type_, dims) in case.types.items():
        names.append(name)
        types.append(type_)
        attributes[name] = ', fa.dims = [%s]' % ", ".join('"%s"' % x for x in dims) if dims else ""
    if case.dropout:
        names += ["p", "seed", "offset"]
        types += ["f32", "i64", "i64"]
    arguments = ", ".join('%%%s: %s {fa.name = "%s"%s}' % (name, type_, name, attributes.get(name, ""))
                          for name, type_ in zip(names, types))
    results = '%s {fa.name = "o"}' % tv + (', %s {fa.name = "lse"}' % l if lse else "")
    kinds = tv + (", " + l if lse else "")
    # One tensor may say where queries and where keys begin.
    operands = [type_ for name, type_ in zip(names, types)
                for _ in range(max(1, case.text.count("_starts(%%%s)" % name)))]
    values = "%o" + (", %lse" if lse else "")
    return """func.func @f(%s) -> (%s) {
  %s = fa.attention query(%%q) key(%%k) value(%%v) %s : (%s) -> (%s)
  return %s : %s
}""" % (arguments, results, values, case.text, ", ".join(operands), kinds, values, kinds)


def reference(case, captures, q, k, v, rows):
    """O of some rows of batch 0, heads 0 and 1, in float32 (rows x d a head)."""
    import torch
    n = k.shape[2]
    i, j = rows[:, None], torch.arange(n, device=q.device)[None, :]
    outputs = []
    for head in range(min(2, q.shape[1])):
        shared = head * k.shape[1] // q.shape[1]
        s = q[0, head, rows].float() @ k[0, shared].float().T / math.sqrt(q.shape[3])
        if case.score:
            s = case.score(captures)(s, 0, head, i, j)
        if case.mask:
            s = s.masked_fill(~case.mask(captures)(0, head, i, j), -math.inf)
        outputs.append(softmax(s, captures, head) @ v[0, shared].float())
    return torch.stack(outputs)
