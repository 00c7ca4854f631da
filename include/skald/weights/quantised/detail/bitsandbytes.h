// SPDX-License-Identifier: Apache-2.0
//
// bitsandbytes' weights. Four bits (nf4, fp4): `weight` (U8, or other numbers of the same bytes) with two codes in a
// byte, the first in the high half, of the whole matrix without regard to rows; weight.quant_map, the number of each
// code; weight.absmax, a factor for each block; weight.quant_state.bitsandbytes__*, a JSON object with their sizes.
// Factors may be codes of eight bits themselves, with their own map and factors, and a number that is added. Eight
// bits: `weight` (I8), SCB, the number of 127 in each row.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_BITSANDBYTES_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_BITSANDBYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/quantised/detail/float_rows.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"

namespace skald::internal {

class BitsAndBytes8Rows final : public GroupRows {
 public:
  BitsAndBytes8Rows(const TensorView& codes, const TensorView& largest)
      : GroupRows(codes.shape[0], codes.shape[1], static_cast<size_t>(codes.shape[1])),
        codes_(codes),
        largest_(largest) {
    stored_as = "bitsandbytes, 8 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &largest});
    ChooseForm(-128, 127);
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t i = first * cols; i < (first + count) * cols; ++i) {
      *codes++ = static_cast<int16_t>(std::to_integer<int8_t>(codes_.bytes[i]));
    }
  }
  void Numbers(size_t row, ScaleAndZero* groups) const override { groups[0].scale = FloatAt(largest_, row) / 127.0f; }

  const TensorView &codes_, &largest_;
};

/// A block of NF4 or FP4: a scale, a byte for each code.
template <FourBitCoded T>
void DecodeFourBits(const std::byte* block, float* numbers) {
  float scale;
  std::memcpy(&scale, block, sizeof(scale));
  for (size_t i = 0; i < kTile; ++i) numbers[i] = T::kNumbers[ByteAt(block + sizeof(scale), i)] * scale;
}
template <FourBitCoded T>
inline constexpr GroupFormat kFourBits = {T::kType, kTile, sizeof(float) + kTile, nullptr, nullptr, DecodeFourBits<T>};

class BitsAndBytes4Rows final : public FloatRows {
 public:
  struct Tensors {
    const TensorView *codes, *map, *factors;
    const TensorView *map_of_factors, *factors_of_factors;  // both null where factors are floats
  };
  struct Sizes {
    uint64_t rows, cols;
    size_t block, block_of_factors = 1;
    float added = 0.0f;
  };

  BitsAndBytes4Rows(const Tensors& tensors, const Sizes& sizes)
      : FloatRows(sizes.rows, sizes.cols), tensors_(tensors), sizes_(sizes) {
    stored_as = "bitsandbytes, 4 bits";
    stored_bytes = StoredTensors::BytesOf(
        {tensors.codes, tensors.map, tensors.factors, tensors.map_of_factors, tensors.factors_of_factors});
    for (size_t i = 0; i < 16; ++i) map_[i] = FloatAt(*tensors.map, i);
    if (sizes.cols % kTile != 0 || sizes.block % kTile != 0) return;
    if (std::ranges::equal(map_, kNf4Numbers)) format = &kFourBits<NF4>;
    if (std::ranges::equal(map_, kFp4Numbers)) format = &kFourBits<FP4>;
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    if (format == nullptr) return FloatRows::Write(first, count, to);
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t i = first * cols; i < (first + count) * cols; i += kTile, to += format->block_bytes) {
      const float factor = FactorOf(i / sizes_.block);
      std::memcpy(to, &factor, sizeof(factor));
      for (size_t k = 0; k < kTile; ++k) to[sizeof(factor) + k] = static_cast<std::byte>(CodeAt(i + k));
    }
  }

 private:
  unsigned CodeAt(size_t i) const { return ByteAt(tensors_.codes->bytes.data(), i / 2) >> (i % 2 == 0 ? 4 : 0) & 15; }

  float FactorOf(size_t block) const {
    if (tensors_.map_of_factors == nullptr) return FloatAt(*tensors_.factors, block);
    const float factor = FloatAt(*tensors_.factors_of_factors, block / sizes_.block_of_factors);
    const float product = FloatAt(*tensors_.map_of_factors, ByteAt(tensors_.factors->bytes.data(), block)) * factor;
    return product + sizes_.added;
  }

  void Values(size_t row, float* values) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    float factor = 0.0f;
    for (size_t k = 0; k < cols; ++k) {
      const size_t i = row * cols + k;
      if (k == 0 || i % sizes_.block == 0) factor = FactorOf(i / sizes_.block);
      values[k] = map_[CodeAt(i)] * factor;
    }
  }

  Tensors tensors_;
  Sizes sizes_;
  float map_[16];
};

/// Returns the sizes that a JSON object tells, or nothing.
inline std::optional<BitsAndBytes4Rows::Sizes> ReadState(std::string_view text, std::string_view type, bool nested) {
  nlohmann::json state;
  const JsonGuard guard(state);
  if (!ParseJson(text, state).empty() || !state.is_object()) return std::nullopt;
  static const nlohmann::json kNone;
  const auto whole = [&](const nlohmann::json& value) -> uint64_t {
    const bool is_size = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{1} << 31;
    return is_size ? value.get<uint64_t>() : 0;
  };
  const auto find = [&](const char* name) -> const nlohmann::json& {
    const auto found = state.find(name);
    return found == state.end() ? kNone : *found;
  };
  const nlohmann::json& shape = find("shape");
  const auto* const named = find("quant_type").get_ptr<const std::string*>();
  if (!shape.is_array() || shape.size() != 2 || named == nullptr || *named != type) return std::nullopt;
  BitsAndBytes4Rows::Sizes sizes = {whole(shape[0]), whole(shape[1]), static_cast<size_t>(whole(find("blocksize")))};
  if (nested) {
    const nlohmann::json& added = find("nested_offset");
    sizes.block_of_factors = static_cast<size_t>(whole(find("nested_blocksize")));
    if (!added.is_number() || sizes.block_of_factors == 0) return std::nullopt;
    sizes.added = added.get<float>();
  } else if (state.contains("nested_blocksize")) {
    return std::nullopt;
  }
  if (sizes.rows == 0 || sizes.cols == 0 || sizes.block == 0) return std::nullopt;
  return sizes;
}

inline std::unique_ptr<QuantisedRows> BitsAndBytes4Of(const ModuleTensors& module, size_t bytes_of_number) {
  constexpr std::string_view kStates[] = {"nf4", "fp4"};
  const TensorView* state = nullptr;
  std::string_view type;
  for (const std::string_view one : kStates) {
    const TensorView* const found = module.Find(Concat({"weight.quant_state.bitsandbytes__", one}));
    if (found != nullptr) state = found, type = one;
  }
  const std::string state_name = Concat({"weight.quant_state.bitsandbytes__", state == nullptr ? "nf4" : type});
  state = module.Require(state_name, "U8");
  const bool nested = module.Find("weight.nested_absmax") != nullptr;
  if (state == nullptr) return nullptr;
  const std::string_view text(reinterpret_cast<const char*>(state->bytes.data()), state->bytes.size());
  const auto sizes = ReadState(text, type, nested);
  if (!sizes) {
    module.Complain(ErrorCode::kDataLoss, state_name, "does not tell the sizes of a quantised weight");
    return nullptr;
  }
  const uint64_t count = sizes->rows * sizes->cols, blocks = CeilDiv(count, sizes->block);
  BitsAndBytes4Rows::Tensors tensors = {};
  const uint64_t numbers = CeilDiv(CeilDiv(count, 2), bytes_of_number);
  tensors.codes = module.Require("weight", "U8 I8 F16 BF16 F32", {{numbers, 1}, {numbers}});
  tensors.map = module.Require("weight.quant_map", "F32", {{16}});
  tensors.factors = module.Require("weight.absmax", nested ? "U8" : "F32", {{blocks}});
  if (nested) {
    tensors.map_of_factors = module.Require("weight.nested_quant_map", "F32", {{256}});
    tensors.factors_of_factors =
        module.Require("weight.nested_absmax", "F32", {{CeilDiv(blocks, sizes->block_of_factors)}});
  }
  if (!module.all.status()) return nullptr;
  return std::make_unique<BitsAndBytes4Rows>(tensors, *sizes);
}

/// Whether a tensor is the weight of a module of four or eight bits.
inline bool IsBitsAndBytes(const TensorView& tensor, const Checkpoint& stored) {
  if (!tensor.name.ends_with(".weight")) return false;
  return tensor.dtype_name == "U8" || tensor.dtype_name == "I8" || stored.Find(Concat({tensor.name, ".absmax"}));
}

/// The weight of such a module.
inline std::unique_ptr<QuantisedRows> BitsAndBytesOf(const ModuleTensors& module, const TensorView& weight) {
  const bool is_of_bytes = weight.dtype_name == "I8" && module.Find("weight.absmax") == nullptr;
  if (!is_of_bytes) return BitsAndBytes4Of(module, weight.dtype ? SizeOf(*weight.dtype) : 1);
  const TensorView* const codes = module.RequireMatrix("weight", "I8");
  const TensorView* const largest = codes == nullptr ? nullptr : module.Require("SCB", "F32", {{codes->shape[0]}});
  const TensorView* const order = module.Find("weight_format");  // 0: rows
  if (order != nullptr && (order->bytes.size() != 1 || order->bytes[0] != std::byte{0})) {
    module.Complain(ErrorCode::kUnsupported, "weight_format", "expected 0, codes in rows");
  }
  if (largest == nullptr) return nullptr;
  return std::make_unique<BitsAndBytes8Rows>(*codes, *largest);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_BITSANDBYTES_H_
