"""What flash-attn's tests import from here."""

from flash_attn import *  # noqa: F401,F403

USE_TRITON_ROCM = False


def _get_block_size_n(device, head_dim, is_dropout, causal):
    """Return the columns that share a maximum in S_dmask: all of a row."""
    return 1 << 30
