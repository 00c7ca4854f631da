# SPDX-License-Identifier: Apache-2.0
"""AWQ and its versions."""
import torch

from quantisers.scales import scales_of


class Awq:
    config = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm",
              "modules_to_not_convert": None}

    def __call__(self, name, weight):
        from awq.modules.linear.gemm import WQLinear_GEMM
        from awq.utils.packing_utils import dequantize_gemm
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        linear.weight.data = ((weight / spread + middle).round().clamp(0, 15) - middle) * spread
        packed = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scale.t().contiguous(), zeros=zero.t().contiguous())
        tensors = dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales)
        found = dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, 32)
        return tensors, found.t().contiguous()


class AwqGemv:
    config = dict(Awq.config, version="gemv")

    def __call__(self, name, weight):
        from awq.modules.linear.gemv import WQLinear_GEMV
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        found = ((weight / spread + middle).round().clamp(0, 15) - middle) * spread
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = found
        packed = WQLinear_GEMV.from_linear(linear, 4, 32, scales=scale, zeros=zero)
        return dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales), found


class AwqFast:
    """The library multiplies on other devices alone: codes times scales and zero points, which are scaled, are added."""

    config = dict(Awq.config, version="gemv_fast")

    def __call__(self, name, weight):
        from awq.modules.linear.gemv_fast import WQLinear_GEMVFast
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        codes = (weight / spread + middle).round().clamp(0, 15)
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = (codes - middle) * spread
        packed = WQLinear_GEMVFast.from_linear(linear, 4, 32, scales=scale, zeros=zero)
        added = packed.qzeros[: scale.shape[1]].t().float()
        found = codes * spread + added.repeat_interleave(32, 1)
        return dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales), found
