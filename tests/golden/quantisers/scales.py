# SPDX-License-Identifier: Apache-2.0
"""Scales of groups of weights."""
import torch


def scales_of(weight, group, bits, symmetric):
    """Scales and zero points [rows, groups] by the extremes of each group."""
    groups = weight.reshape(weight.shape[0], -1, group)
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    if symmetric:
        scale = torch.maximum(-low, high) / (2 ** (bits - 1) - 0.5)
        return scale, torch.full_like(scale, 2 ** (bits - 1))
    scale = (high - low) / (2**bits - 1)
    return scale, (-low / scale).round().clamp(1, 2**bits - 1)  # no zero point of 0: GPTQ cannot store it
