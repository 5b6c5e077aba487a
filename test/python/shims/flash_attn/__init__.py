"""Stands for flash-attn where its own tests run: its functions are fa_mlir's."""

import functools

import torch

from fa_mlir import flash_attn as _own


def _divide_by_greatest(function):
    """Return the function with S_dmask as flash-attn stores it: not normalized, relative to the greatest of a row."""
    @functools.wraps(function)
    def call(*arguments, **named):
        result = function(*arguments, **named)
        if not isinstance(result, tuple) or not result[2].numel():
            return result
        signed = result[2].float()
        greatest = signed.abs().amax(-1, keepdim=True)
        return (*result[:2], torch.where(greatest > 0, signed / greatest, signed))
    return call


for _name in _own.__all__:
    globals()[_name] = _divide_by_greatest(getattr(_own, _name))

__all__ = list(_own.__all__)
