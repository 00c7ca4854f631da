# SPDX-License-Identifier: Apache-2.0
"""bitsandbytes."""
import torch


class BitsAndBytes:
    def __init__(self, kind, nested=False, storage="uint8"):
        self.kind, self.nested, self.storage = kind, nested, getattr(torch, storage)
        self.config = {"quant_method": "bitsandbytes", "load_in_4bit": kind != "int8", "load_in_8bit": kind == "int8",
                       "llm_int8_threshold": 6.0, "llm_int8_skip_modules": None, "bnb_4bit_quant_storage": storage,
                       "bnb_4bit_quant_type": kind if kind != "int8" else "fp4", "bnb_4bit_use_double_quant": nested,
                       "bnb_4bit_compute_dtype": "bfloat16"}

    def __call__(self, name, weight):
        import bitsandbytes.functional as bnb
        if self.kind == "int8":
            codes, largest, _ = bnb.int8_vectorwise_quant(weight.half())
            tensors = dict(weight=codes, SCB=largest, weight_format=torch.tensor(0, dtype=torch.uint8))
            return tensors, bnb.int8_vectorwise_dequant(codes, largest)
        codes, state = bnb.quantize_4bit(weight, quant_type=self.kind, compress_statistics=self.nested,
                                         quant_storage=self.storage)
        packed = {f"weight.{part}": value for part, value in state.as_dict(packed=True).items()}
        return {"weight": codes, **packed}, self.floats(codes.view(torch.uint8), state)

    @staticmethod
    def floats(codes, state):
        """By the library's plain formula: its kernel for processors errs in rows that are no whole blocks."""
        from bitsandbytes import functional
        from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
        factors = state.absmax
        if state.nested:
            factors = functional.dequantize_blockwise(factors, state.state2) + state.offset
        return _dequantize_4bit_compute(codes.reshape(-1), factors, state.code, state.blocksize, state.shape, state.dtype)
