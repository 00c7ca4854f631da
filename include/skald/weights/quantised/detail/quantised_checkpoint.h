// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/quantised/quantised_checkpoint.h: which tensors of a method begin a weight, and
// which reader takes them.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISED_CHECKPOINT_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISED_CHECKPOINT_H_

#include "skald/weights/quantised/quantised_checkpoint.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/weights/quantised/detail/awq.h"
#include "skald/weights/quantised/detail/bitnet.h"
#include "skald/weights/quantised/detail/bitsandbytes.h"
#include "skald/weights/quantised/detail/compressed_tensors.h"
#include "skald/weights/quantised/detail/fp8.h"
#include "skald/weights/quantised/detail/gptq.h"
#include "skald/weights/quantised/detail/mlx.h"
#include "skald/weights/quantised/detail/model_opt.h"
#include "skald/weights/quantised/detail/stored_tensors.h"

namespace skald {

namespace internal {

inline bool IsCodes(const TensorView& tensor, const Quantisation& quantisation, const Checkpoint& stored) {
  const auto is = [&](std::string_view ending, std::initializer_list<std::string_view> types) {
    return tensor.name.ends_with(ending) &&
           (types.size() == 0 || std::ranges::find(types, tensor.dtype_name) != types.end());
  };
  switch (quantisation.method) {
    case QuantisationMethod::kFp8:
      return IsFp8(tensor);
    case QuantisationMethod::kModelOpt:
      return is(".weight", {"F8_E4M3", "U8", "I8"});
    case QuantisationMethod::kCompressedTensors:
      return is(".weight", {"F8_E4M3", "I8"}) || is(".weight_packed", {});
    case QuantisationMethod::kAwq:
    case QuantisationMethod::kGptq:
      return is(".qweight", {});
    case QuantisationMethod::kBitsAndBytes:
      return IsBitsAndBytes(tensor, stored);
    case QuantisationMethod::kBitNet:
      return quantisation.is_online ? IsOnlineBitNet(tensor, quantisation) : is(".weight", {"U8"});
    case QuantisationMethod::kMlx:
      return is(".weight", {"U32"});
  }
  return false;
}

inline std::unique_ptr<QuantisedRows> RowsOf(const ModuleTensors& module, const TensorView& codes,
                                             const Quantisation& quantisation) {
  switch (quantisation.method) {
    case QuantisationMethod::kFp8: {
      module.Find("activation_scale");  // how the original rounds activations
      module.Find("input_scale");
      const std::string_view part = codes.name.substr(module.module.size() + 1);
      if (part != "weight") return Fp8ExpertsOf(module, part, quantisation);
      if (quantisation.name != "fp8") return Fp8Of(module, "weight_scale", quantisation);
      const bool is_whole = module.Find("weight_scale") != nullptr;  // AutoFP8's, whatever block is the usual one
      return is_whole ? Fp8Of(module, "weight_scale", {.method = quantisation.method, .name = quantisation.name})
                      : Fp8Of(module, "weight_scale_inv", quantisation);
    }
    case QuantisationMethod::kCompressedTensors:
      return CompressedOf(module, codes, quantisation);
    case QuantisationMethod::kAwq:
      return AwqOf(module, quantisation);
    case QuantisationMethod::kGptq:
      return GptqOf(module, quantisation);
    case QuantisationMethod::kBitsAndBytes:
      return BitsAndBytesOf(module, codes);
    case QuantisationMethod::kBitNet:
      return BitNetOf(module, quantisation);
    case QuantisationMethod::kMlx:
      return MlxOf(module, quantisation);
    case QuantisationMethod::kModelOpt:
      return ModelOptOf(module, codes);
  }
  return nullptr;
}

// All that a checkpoint of plain tensors points to.
struct QuantisedCheckpoint {
  explicit QuantisedCheckpoint(Checkpoint file)
      : stored(std::move(file)), plain(stored.path(), std::vector<TensorView>()) {}

  Checkpoint stored;
  std::vector<std::unique_ptr<QuantisedRows>> rows;
  Checkpoint plain;
};

}  // namespace internal

SKALD_INLINE Result<std::shared_ptr<const Checkpoint>> WithQuantised(Checkpoint stored,
                                                                     const Quantisation& quantisation) {
  auto all = std::make_shared<internal::QuantisedCheckpoint>(std::move(stored));
  internal::StoredTensors tensors(all->stored);
  std::vector<TensorView> plain;
  for (const TensorView& codes : tensors.all()) {
    if (!internal::IsCodes(codes, quantisation, all->stored)) continue;
    const internal::ModuleTensors module = {tensors, std::string(codes.name.substr(0, codes.name.rfind('.')))};
    std::unique_ptr<QuantisedRows> rows = internal::RowsOf(module, codes, quantisation);
    SKALD_TRY(tensors.status());
    const bool is_weight = quantisation.method != QuantisationMethod::kFp8 || codes.name.ends_with(".weight");
    rows->name = is_weight ? module.NameOf("weight") : std::string(codes.name);
    TensorView view = codes;
    view.name = rows->name, view.dtype_name = rows->stored_as, view.shape = rows->shape;
    view.format = rows->format, view.quantised = rows.get(), view.bytes = {}, view.row_scale = rows->row_scale;
    view.dtype = rows->format == nullptr ? std::optional(rows->dtype) : std::nullopt;
    plain.push_back(view);
    all->rows.push_back(std::move(rows));
  }
  for (const TensorView& tensor : tensors.all()) {
    // How the original rounds its cache.
    const auto ends = [&](std::string_view ending) { return tensor.name.ends_with(ending); };
    const bool is_of_cache = ends("_attn.k_scale") || ends("_attn.v_scale") || ends("_attn.kv_scale") ||
                             ends("k_proj.k_scale") || ends("v_proj.v_scale") || ends("k_proj.k_bias") ||
                             ends("v_proj.v_bias");
    if (!tensors.IsPart(tensor) && !is_of_cache) plain.push_back(tensor);
  }
  all->plain = Checkpoint(all->stored.path(), std::move(plain));
  const auto twice = std::ranges::adjacent_find(all->plain.tensors(), {}, &TensorView::name);
  if (twice != all->plain.tensors().end())
    tensors.Complain(ErrorCode::kDataLoss, twice->name, "is there twice, quantised and not");
  SKALD_TRY(tensors.status());
  return std::shared_ptr<const Checkpoint>(all, &all->plain);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISED_CHECKPOINT_H_
