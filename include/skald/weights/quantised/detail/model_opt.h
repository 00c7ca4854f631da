// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's Model Optimizer. FP8: `weight` (F8_E4M3) and weight_scale, of the matrix, of rows, of blocks of 128 rows and
// columns or, as exponents (U8), of 32 columns (MXFP8). NVFP4: `weight` (U8), two codes of four bits in a byte;
// weight_scale (F8_E4M3), of 16 columns; weight_scale_2, by which all scales are multiplied. input_scale and the scales
// of caches say how the original rounds these.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "skald/weights/quantised/detail/compressed_tensors.h"
#include "skald/weights/quantised/detail/fp8.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

inline std::unique_ptr<QuantisedRows> ModelOptFp8Of(const ModuleTensors& module) {
  const TensorView* const codes = module.RequireMatrix("weight", "F8_E4M3");
  if (codes == nullptr) return nullptr;
  constexpr uint64_t kBlock = 128, kColumns = 32;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1];
  const uint64_t row_blocks = CeilDiv(rows, kBlock), col_blocks = CeilDiv(cols, kBlock);
  const TensorView* const found = module.Find("weight_scale");
  const auto with = [&](std::string_view types, std::initializer_list<std::vector<uint64_t>> shapes,
                        const Fp8Rows::Blocks& blocks) -> std::unique_ptr<QuantisedRows> {
    const TensorView* const scales = module.Require("weight_scale", types, shapes);
    return scales == nullptr ? nullptr : std::make_unique<Fp8Rows>(*codes, *scales, blocks);
  };
  if (found != nullptr && found->dtype_name == "U8") {
    return with("U8", {{rows, CeilDiv(cols, kColumns)}}, {rows, 1, kColumns});
  }
  const std::vector<uint64_t> of_blocks = {row_blocks, col_blocks}, apart = {row_blocks, 1, col_blocks, 1};
  const bool is_one = found != nullptr && (found->shape.empty() || HasShape(found, {1}) || HasShape(found, {1, 1}));
  if (!is_one && (HasShape(found, of_blocks) || HasShape(found, apart))) {
    return with(kFloatTypes, {of_blocks, apart}, {rows, kBlock, kBlock});
  }
  return with(kFloatTypes, {{}, {1}, {1, 1}, {rows}, {rows, 1}}, {rows, is_one ? rows : 1, cols});
}

inline std::unique_ptr<QuantisedRows> ModelOptNvfp4Of(const ModuleTensors& module) {
  const TensorView* const codes = module.RequireMatrix("weight", "U8");
  const TensorView* const factor = module.Require("weight_scale_2", "F32", {{}, {1}});
  if (codes == nullptr || factor == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1] * 2;
  if (cols % Nvfp4Rows::kGroup != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "weight", "expected rows of whole groups of 16");
  }
  const std::vector<uint64_t> shape = {rows, cols / Nvfp4Rows::kGroup};
  const TensorView* const scales = module.Require("weight_scale", "F8_E4M3", {shape});
  if (scales == nullptr || !module.all.status()) return nullptr;
  return std::make_unique<Nvfp4Rows>(*codes, *scales, FloatAt(*factor, 0), /*divides=*/false);
}

/// The weight of a module with `weight` of FP8 or U8.
inline std::unique_ptr<QuantisedRows> ModelOptOf(const ModuleTensors& module, const TensorView& codes) {
  module.Find("input_scale");
  return codes.dtype_name == "U8" ? ModelOptNvfp4Of(module) : ModelOptFp8Of(module);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_
