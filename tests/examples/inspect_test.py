#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald inspect` of quantised folders.

usage: inspect_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import pathlib
import shutil
import struct
import unittest

from skald_program import TestCase

QUANTISED = pathlib.Path("tests/golden/data/quantised").resolve()


class Inspect(TestCase):
    def kinds(self, folder):
        """The lines about quantised weights, without their numbers of bytes."""
        lines = self.run_skald("inspect", folder)[0].splitlines()
        self.assertNotIn("cannot be loaded", "\n".join(lines))
        return [line.rsplit(", ", 1)[0] for line in lines if line.startswith(("quantised: ", "  as floats: "))]

    def test_act_order_and_inputs_rounded_by_rows_are_told(self):
        self.assertEqual(self.kinds(QUANTISED / "gptq_act_order"),
                         ["quantised: GPTQ, 4 bits, computed as Q5_0 with columns in the order of groups, 14 matrices"])
        self.assertEqual(self.kinds(QUANTISED / "bitnet"),
                         ["quantised: BitNet, 2 bits, computed as Q2_K with inputs rounded row by row, 2 matrices",
                          "quantised: BitNet, 2 bits, computed as Q4_0 with inputs rounded row by row, 12 matrices"])

    def test_modelopt_is_told(self):
        self.assertEqual(self.kinds(QUANTISED / "modelopt_mixed"),
                         ["quantised: FP8, computed as F8, 6 matrices",
                          "quantised: FP8, computed as floats: BF16, 2 matrices",
                          "  as floats: model.layers.*.mlp.down_proj.weight",
                          "quantised: NVFP4, computed as NVFP4, 6 matrices"])

    def test_factors_of_inputs_are_told(self):
        self.assertEqual(self.kinds(QUANTISED / "modelopt_w4a16_awq"),
                         ["quantised: ModelOpt, 4 bits, computed as Q4A, 5 matrices",
                          "quantised: ModelOpt, 4 bits, computed as Q4A with inputs multiplied by factors, 2 matrices"])

    def test_what_becomes_floats_is_named(self):
        self.assertEqual(self.kinds(QUANTISED / "fp8_experts"),
                         ["quantised: FP8, computed as F8, 5 matrices",
                          "quantised: FP8, computed as floats: F32, 1 matrices",
                          "  as floats: model.layers.*.mlp.experts.down_proj"])

    def test_joined_matrices_of_different_orders_are_named(self):
        folder = self.folder / "act_order"
        shutil.copytree(QUANTISED / "gptq_act_order", folder)
        path = folder / "model.safetensors"
        image = bytearray(path.read_bytes())
        size = struct.unpack("<Q", image[:8])[0]
        begin, end = json.loads(image[8:8 + size])["model.layers.0.self_attn.q_proj.g_idx"]["data_offsets"]
        values = image[8 + size + begin:8 + size + end]
        image[8 + size + begin:8 + size + end] = values[len(values) // 2:] + values[:len(values) // 2]
        path.write_bytes(image)
        kinds = self.kinds(folder)
        self.assertIn("  as floats: model.layers.*.self_attn.q_proj.weight", kinds)
        self.assertIn("quantised: GPTQ, 4 bits, computed as floats: F32, 3 matrices", kinds)
        self.assertIn("quantised: GPTQ, 4 bits, computed as Q5_0 with columns in the order of groups, 11 matrices", kinds)


if __name__ == "__main__":
    unittest.main()
