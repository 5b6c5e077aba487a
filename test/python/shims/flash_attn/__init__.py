"""Stands for flash-attn where its own tests run: its functions are fa_mlir's."""

from fa_mlir.flash_attn import *  # noqa: F401,F403
