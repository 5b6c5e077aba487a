"""Rows of padded sequences one after the other, and back."""

import torch


def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """Return the rows that a mask (batch x sequence) keeps: (rows, their indices, offsets, longest, lengths)."""
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(1, dtype=torch.int32)
    indices = kept.flatten().nonzero().flatten()
    offsets = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    used = attention_mask.sum(1, dtype=torch.int32)
    return hidden_states.flatten(0, 1)[indices], indices, offsets, lengths.max().item(), used


def pad_input(hidden_states, indices, batch, seqlen):
    """Return batch x sequence rows, zeros where there are none."""
    padded = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    return padded.index_copy(0, indices, hidden_states).unflatten(0, (batch, seqlen))
