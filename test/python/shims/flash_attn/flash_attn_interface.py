"""What flash-attn's tests import from here."""

from fa_mlir.flash_attn import *  # noqa: F401,F403

USE_TRITON_ROCM = False


def _get_block_size_n(device, head_dim, is_dropout, is_causal):
    """Return the columns of a block of the matrix that tests normalize: it is normalized here, so any will do."""
    return 128
