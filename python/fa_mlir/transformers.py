"""Hugging Face: `register()`, then `attn_implementation="fa_mlir"`.

The model's mask function is traced, so that no batch x sequence x sequence tensor exists. Decoding is the plain forward
with one query: right, and slow until the library has kernels for it.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

import torch
from torch.nn.attention.flex_attention import BlockMask

from ._attention import Function, Launch, add_blocks, autocast, find_shared
from ._flex import add_functions

NAME = "fa_mlir"


class _NoTensor(NotImplementedError, AttributeError):
    """A Mask was asked for what only a tensor has; to hasattr and getattr with a default it has no such attribute."""


def _refuse(name: str) -> Any:
    def refuse(self: Mask, *_arguments: Any, **_options: Any) -> NoReturn:
        raise _NoTensor("fa_mlir: the model asks for '%s' of its mask, which is a function here and no tensor, so that no "
                        "batch x sequence x sequence exists; use attn_implementation='sdpa' or 'eager' for this model" % name)
    return refuse


class Mask(BlockMask):
    """A mask on its way through a model: a function of positions, and offsets that are numbers of a launch."""

    def __init__(self, function: Function, shape: tuple[int, ...], offsets: tuple[int, ...]) -> None:
        self.function, self.mask_shape, self.offsets = function, shape, offsets
        self.mask_mod = lambda b, h, q, k: function(b, h, q, k, *offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mask_shape

    @property
    def ndim(self) -> int:
        return len(self.mask_shape)

    def dim(self) -> int:
        return len(self.mask_shape)

    # What generation does with tensors.
    def to(self, *_arguments: Any, **_options: Any) -> Mask:
        return self

    def contiguous(self) -> Mask:
        return self

    def __repr__(self) -> str:
        return "<fa_mlir.transformers.Mask %s>" % (self.mask_shape,)

    __str__ = __repr__

    def __getattr__(self, name: str) -> Any:
        _refuse(name)(self)


# What a BlockMask makes of its blocks, and what models do with a tensor.
for _name in ("_adjust", "as_tuple", "numel", "sparsity", "to_dense", "to_string", "__getitem__", "__add__", "__radd__",
              "__sub__", "__rsub__", "__mul__", "__rmul__", "__and__", "__rand__", "__or__", "__ror__", "__invert__", "__neg__",
              "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Mask, _name, _refuse(_name))


def make_mask(batch_size: int, q_length: int | None = None, kv_length: int = 0, q_offset: int | torch.Tensor = 0,
              kv_offset: int = 0, mask_function: Function | None = None, attention_mask: torch.Tensor | None = None,
              device: torch.device | str | None = None, use_vmap: bool = False,
              cache_position: torch.Tensor | None = None, **_others: Any) -> Mask | torch.Tensor:
    """Return a Mask for transformers' AttentionMaskInterface; its other arguments say how a tensor would be made.

    Before transformers 5, `cache_position`, the places of the queries, says their number and first place.
    """
    if cache_position is not None:
        q_length, q_offset, device = cache_position.shape[0], cache_position[0], cache_position.device
    if q_length is None:
        raise TypeError("make_mask() takes q_length, or cache_position as before transformers 5")
    if mask_function is None:
        mask_function = lambda b, h, q, k: torch.ones_like(q, dtype=torch.bool)
    visible = mask_function

    def inner(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        seen = visible(b, h, q, k)
        # Beyond the end a captured tensor reads False, as padding is.
        return seen if attention_mask is None else seen & attention_mask[b, k]

    if q_length == 1 and not use_vmap and torch.compiler.is_compiling():
        # A function that is made in what torch.compile compiles breaks its graph; of one query a mask is a small tensor.
        b = torch.arange(batch_size, device=device)[:, None, None, None]
        q = torch.arange(q_length, device=device)[:, None] + q_offset
        k = torch.arange(kv_length, device=device) + kv_offset
        seen = visible(b, torch.zeros_like(b[:1]), q, k)
        if attention_mask is None:
            return seen
        count = attention_mask.shape[1]
        return seen & (k < count) & attention_mask[b, k.clamp(max=count - 1)].bool()

    shape = (batch_size, 1, q_length, kv_length)
    if isinstance(q_offset, torch.Tensor):  # a static cache's, on the device
        offset = q_offset.reshape(())
        return Mask(lambda b, h, q, k, first: inner(b, h, q + offset, k + first), shape, (int(kv_offset),))
    offsets = int(q_offset), int(kv_offset)
    return Mask(lambda b, h, q, k, start, first: inner(b, h, q + start, k + first), shape, offsets)


def _add_mask(launch: Launch, attention_mask: Mask | torch.Tensor | None, is_causal: bool, sliding_window: int | None,
              keys: int) -> None:
    """Hide keys; a mask of floats is a bias."""
    if isinstance(attention_mask, Mask):
        add_functions(launch, None, attention_mask.function, attention_mask.offsets)
    elif attention_mask is None:
        if is_causal:
            window = -1 if sliding_window is None else sliding_window - 1
            launch.add_window(window, 0)
    elif not _is_bias(attention_mask):
        if torch.compiler.is_compiling():
            add_blocks(launch, attention_mask[..., :keys], 1, 1)
            return
        seen = attention_mask[..., :keys].expand(launch.rows[0].shape[0], -1, -1, -1)
        heads = seen.shape[1] > 1
        add_functions(launch, None, lambda b, h, q, k: seen[b, h, q, k] if heads else seen[b, 0, q, k])


def _add_packing(launch: Launch, starts_q: torch.Tensor | None, starts_k: torch.Tensor | None) -> None:
    """Hide keys of other sequences, which a batch of one has in a row, by the offsets that callers may give."""
    if starts_q is None or starts_k is None:
        return
    if launch.rows[0].shape[0] != 1:
        raise ValueError("fa_mlir: cu_seq_lens_q is for packed sequences, a batch of 1, but query has a batch of %d"
                         % launch.rows[0].shape[0])
    ids = [torch.searchsorted(starts, torch.arange(x.shape[1], dtype=starts.dtype, device=x.device), right=True)
           for starts, x in ((starts_q, launch.rows[0]), (starts_k, launch.rows[1]))]
    launch.add("document", "i64", "i64", tensors=[x[None] for x in ids])


_FLOATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}


def _is_bias(mask: Mask | torch.Tensor | None) -> bool:
    return isinstance(mask, torch.Tensor) and mask.dtype != torch.bool


def _add_bias(launch: Launch, bias: torch.Tensor, name: str) -> None:
    """Add a bias as it lies in memory: models permute what embeddings give, so that its last dimension has gaps."""
    if bias.dtype not in _FLOATS:
        raise TypeError("fa_mlir: %s has dtype %s, expected float16, bfloat16 or float32; convert it by .to(torch.float32)"
                        % (name, bias.dtype))
    element, shared = _FLOATS[bias.dtype], find_shared(bias.shape)
    if shared[-1] or bias.stride(-1) == 1:
        launch.add("bias", element, shared, tensors=(bias,), meanings=(name,))
        return
    # Kernels read rows: the dimension without gaps is given last.
    ones, others = ([dim for dim, one in enumerate(shared) if one is asked] for asked in (True, False))
    dense = [dim for dim in others if bias.stride(dim) == 1][:1]
    if not dense:
        raise ValueError("fa_mlir: %s has strides of %s, expected one of 1, for nothing is copied here; use "
                         "attn_implementation='sdpa' or 'eager' for this model" % (name, tuple(bias.stride())))
    order = [dim for dim in others if dim not in dense] + dense
    launch.add("permuted_bias", element, tuple([dim + 4 - bias.dim() for dim in order]),
               tensors=(bias.permute([*ones, *order]).flatten(0, len(ones)),), meanings=(name,))


# What models hand on beside what attention is: what they give back, caches that hold key and value already, positions that
# the mask and the rotations have, the longest of the sequences that cu_seq_lens says, and what losses and other
# implementations take.
_HARMLESS = frozenset((
    "output_hidden_states", "output_router_logits", "return_dict", "logits_to_keep", "use_cache", "past_key_value",
    "past_key_values", "cache_position", "position_ids", "position_embeddings", "seq_idx", "max_length_q", "max_length_k",
    "num_items_in_batch", "ignore_index", "shift_labels", "kernel_options", "training", "target_dtype",
    "attn_implementation", "layer_idx", "interpolate_pos_encoding"))
# Others that this version refuses, by why and what to do.
_REFUSED = {
    "output_attentions": "probabilities are never stored; use attn_implementation='eager'",
    "head_mask": "no program scales the probabilities of a head; use attn_implementation='eager'",
    "cache": "pages need kernels that the library does not have yet; use a dynamic or a static cache",
}
_REFUSED["block_table"] = _REFUSED["k_cache"] = _REFUSED["v_cache"] = _REFUSED["cache"]


def _check_others(others: dict[str, Any]) -> None:
    """Refuse arguments that may change what attention is: to leave one out would be another attention in silence."""
    for name, x in others.items():
        if name in _HARMLESS or x is None or name == "output_attentions" and not x:
            continue
        why = _REFUSED.get(name, "it may say which keys are seen, and nothing here knows of it; use attn_implementation='sdpa' "
                                 "or 'eager' for this model, or leave it out where it changes no attention")
        raise NotImplementedError("fa_mlir: %s is not supported: %s" % (name, why))


def _add_sink(launch: Launch, sink: torch.Tensor) -> None:
    sink = sink if sink.dtype in (launch.rows[0].dtype, torch.float32) else sink.to(torch.float32)
    launch.add("sink", {torch.float16: "f16", torch.bfloat16: "bf16"}.get(sink.dtype, "f32"), tensors=(sink,))


def _run_with_sinks(launch: Launch, sinks: torch.Tensor) -> torch.Tensor:
    """Return the output with a logit for each query, batch x heads x queries x 1, of a key that has no value: what it takes
    of each row is known from lse."""
    output, lse = launch.run(True)
    if sinks.shape != (*lse.shape, 1):
        raise ValueError("fa_mlir: sinks has shape %s, expected %s: a logit a head, or batch x heads x queries x 1"
                         % (tuple(sinks.shape), (*lse.shape, 1)))
    kept = torch.sigmoid(lse - sinks[..., 0].to(lse.dtype))
    return (output * kept.transpose(1, 2)[..., None]).to(output.dtype)


# Attentions that add a mask to a bias of their own, and leave out one that is a BlockMask.
_LOSE_MASKS = frozenset(("DogeAttention",))


def attend(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
           attention_mask: Mask | torch.Tensor | None, dropout: float = 0.0, scaling: float | None = None,
           is_causal: bool | None = None, softcap: float | None = None, s_aux: torch.Tensor | None = None,
           sliding_window: int | None = None, position_bias: torch.Tensor | None = None,
           cu_seq_lens_q: torch.Tensor | None = None, cu_seq_lens_k: torch.Tensor | None = None,
           sinks: torch.Tensor | None = None, deterministic: bool | None = None,
           **others: Any) -> tuple[torch.Tensor, None]:
    """Return (output, None) for transformers' AttentionInterface; output is batch x sequence x heads x head size."""
    _check_others(others)
    if type(module).__name__ in _LOSE_MASKS and _is_bias(attention_mask):
        raise NotImplementedError("fa_mlir: %s leaves out masks that are no tensors, so that nothing would be hidden; use "
                                  "attn_implementation='sdpa' or 'eager' for this model" % type(module).__name__)
    if s_aux is None and sinks is not None and sinks.dim() == 1:
        s_aux, sinks = sinks, None
    launch = Launch(*autocast(*[x.transpose(1, 2) for x in (query, key, value)]), heads_last=True)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    _add_mask(launch, attention_mask, causal and query.shape[2] > 1, sliding_window, key.shape[2])
    _add_packing(launch, cu_seq_lens_q, cu_seq_lens_k)
    if softcap is not None:
        launch.add_softcap(softcap)
    for name, bias in (("attention_mask", attention_mask if _is_bias(attention_mask) else None), ("position_bias", position_bias)):
        if bias is not None:
            _add_bias(launch, bias[..., :key.shape[2]], name)
    if s_aux is not None:
        _add_sink(launch, s_aux)
    if scaling is not None:
        launch.add_scale(scaling)
    if dropout:
        launch.add_dropout(dropout)
    # As transformers decides it for FlashAttention.
    launch.deterministic = (os.environ.get("FLASH_ATTENTION_DETERMINISTIC", "0") == "1" if deterministic is None
                            else bool(deterministic))
    return launch.run()[0] if sinks is None else _run_with_sinks(launch, sinks), None


def register(name: str = NAME) -> None:
    """Make `attn_implementation=name` known to transformers (>= 4.53): attention and masks."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, make_mask)
