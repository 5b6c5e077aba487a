"""What `flash_attn` and `flash_attn_3` share: B x S x H x D tensors, windows and softcap as numbers of the launch."""

import torch

from ._attention import Launch, autocast


def refuse(function, argument, why):
    """Raise NotImplementedError for an argument that no program of this version can serve."""
    raise NotImplementedError("%s: %s is not supported: %s" % (function, argument, why))


def refuse_unless(function, why, **arguments):
    """Refuse arguments that are not None, or not equal to the (value, default) given."""
    for name, given in arguments.items():
        value, default = given if isinstance(given, tuple) else (given, None)
        if value is not default and value != default:
            refuse(function, name, why)


PACKED = ("sequences packed by offsets (cu_seqlens) need kernels that the library does not have yet; pad the "
          "sequences, or pack them with fa_mlir.attention(document=...)")
CACHE = ("decoding with a cache of keys and values needs kernels that the library does not have yet; call "
         "flash_attn_func on the keys and values so far")


def attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, attention_chunk=0,
           probabilities=False):
    """Return output, lse and, where `probabilities` are asked for, S_dmask: empty where nothing is dropped."""
    launch = Launch(*autocast(q, k, v), heads_last=True)
    # Some callers give a tensor of two numbers, on the host.
    left, right = [int(x) if isinstance(x, torch.Tensor) else x for x in window_size]
    launch.add_window(left, 0 if causal else right)
    if attention_chunk:
        launch.add("chunk", integers=(attention_chunk,))
    if softcap:
        launch.add_softcap(softcap)
    if alibi_slopes is not None:
        if alibi_slopes.dtype != torch.float32 or alibi_slopes.dim() not in (1, 2):
            raise TypeError("%s: alibi_slopes is %s of %d dimensions; expected float32, heads or batch x heads"
                            % (function, alibi_slopes.dtype, alibi_slopes.dim()))
        launch.add("alibi", "f32", alibi_slopes.dim(), tensors=(alibi_slopes,))
    if softmax_scale is not None:
        launch.add("scale", float(softmax_scale))
    if dropout_p:
        launch.add_dropout(dropout_p)
    output, lse = launch.run()
    signed = None
    if probabilities:
        signed = sign_probabilities(launch) if dropout_p else launch.rows[0].new_empty(0)
    return output, lse, signed


@torch.no_grad()
def sign_probabilities(launch):
    """Return probabilities, B x H x Sq x Sk, less than 0 where dropped: for tests, the matrix is stored.

    Values of which each is a row of the identity give back probabilities, with dropout, its last item, and without.
    """
    q, k, _ = launch.rows
    columns, width, parts = k.shape[1], 128, []
    for first in range(0, columns, width):
        identity = torch.zeros(columns, width, dtype=q.dtype, device=q.device)
        identity.diagonal(-first)[:width].fill_(1)
        value = identity[None, :, None, :].expand(k.shape[0], -1, k.shape[2], -1)

        def run(without):
            again = Launch(q, k, value, heads_last=True)
            cut = lambda given, count: list(given[:len(given) - count * without])
            again.items, again.integers = cut(launch.items, 1), launch.integers
            again.tensors, again.floats = cut(launch.tensors, 2), cut(launch.floats, 1)
            return again.run()[0].transpose(1, 2)
        kept, plain = run(False), run(True)
        parts.append(torch.where(kept == 0, -plain, plain))
    return torch.cat(parts, 3)[..., :columns]
