// SPDX-License-Identifier: Apache-2.0
//
// GPTQ as AutoGPTQ, GPTQModel and AutoRound write it: the columns of a weight one after the other. qweight [cols * bits
// / 32, rows], codes down each column of words; scales [groups, rows]; qzeros [groups, rows * bits / 32], codes along
// each row; and where columns choose their groups (act-order) g_idx [cols].

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_GPTQ_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_GPTQ_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

/// The group of each column, in the words of a tensor; nothing if column k is in group k / group.
inline std::vector<uint32_t> GroupsOfColumns(const TensorView& words, size_t group) {
  std::vector<uint32_t> groups;
  bool is_plain = true;
  for (size_t k = 0; k < words.bytes.size() / 4; ++k) {
    groups.push_back(WordAt(words.bytes.data() + 4 * k));
    is_plain &= groups.back() == k / group;
  }
  return is_plain ? std::vector<uint32_t>() : groups;
}

class GptqRows final : public GroupRows {
 public:
  struct Tensors {
    const TensorView *codes, *scales, *zeros, *groups;  // the last may be null
  };

  GptqRows(const Tensors& tensors, uint64_t cols, size_t group, int bits, bool less_one, std::vector<uint32_t> groups)
      : GroupRows(tensors.codes->shape[1], cols, group), tensors_(tensors), bits_(bits), less_one_(less_one) {
    SetGroupsOfColumns(std::move(groups));
    stored_as = Concat({"GPTQ, ", std::to_string(bits), " bits"});
    stored_bytes = StoredTensors::BytesOf({tensors.codes, tensors.scales, tensors.zeros, tensors.groups});
    ChooseForm(0, (1 << bits) - 1);
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto rows = static_cast<size_t>(shape[0]), cols = static_cast<size_t>(shape[1]);
    for (size_t k = 0; k < cols; ++k) {
      for (size_t r = 0; r < count; ++r) {
        const std::byte* const column = tensors_.codes->bytes.data() + 4 * (first + r);
        codes[r * cols + k] = static_cast<int16_t>(BitsDown(column, rows, k, bits_));
      }
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    const auto rows = static_cast<size_t>(shape[0]);
    const size_t line = tensors_.zeros->bytes.size() / num_groups();
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(*tensors_.scales, g * rows + row);
      groups[g].zero = BitsAt(tensors_.zeros->bytes.data() + g * line, row, bits_) + (less_one_ ? 1 : 0);
    }
  }

  Tensors tensors_;
  int bits_;
  bool less_one_;
};

/// Whether a zero point is stored as the largest code: if it is stored less one, some programs take it for the next
/// number and others for zero.
inline bool HasLargestZero(const TensorView& zeros, uint64_t rows, int bits) {
  const auto lines = static_cast<size_t>(zeros.shape[0]);
  const size_t line = zeros.bytes.size() / lines;
  for (size_t g = 0; g < lines; ++g) {
    for (size_t row = 0; row < rows; ++row) {
      if (BitsAt(zeros.bytes.data() + g * line, row, bits) == (1 << bits) - 1) return true;
    }
  }
  return false;
}

/// The sizes of a module: among several, those that fit its tensors.
inline QuantisedSizes GptqSizesOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const TensorView* const codes = module.Find("qweight");
  const TensorView* const scales = module.Find("scales");
  const TensorView* const zeros = module.Find("qzeros");
  const auto is_matrix = [](const TensorView* tensor) { return tensor != nullptr && tensor->shape.size() == 2; };
  if (!is_matrix(codes) || !is_matrix(scales) || !is_matrix(zeros)) return quantisation.Of(module.module);
  for (const QuantisedSizes& sizes : quantisation.choices) {
    const uint64_t cols = codes->shape[0] * 32 / static_cast<uint64_t>(sizes.bits);
    const uint64_t groups = sizes.group == 0 ? 1 : CeilDiv(cols, sizes.group);
    if (scales->shape[0] == groups && zeros->shape[1] == WordsOf(codes->shape[1], sizes.bits)) return sizes;
  }
  return quantisation.Of(module.module);
}

/// The weight of a module with qweight.
inline std::unique_ptr<QuantisedRows> GptqOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const QuantisedSizes sizes = GptqSizesOf(module, quantisation);
  const TensorView* const codes = module.RequireMatrix("qweight", "I32");
  if (codes == nullptr) return nullptr;
  const auto bits = static_cast<uint64_t>(sizes.bits);
  const uint64_t rows = codes->shape[1], cols = codes->shape[0] * 32 / bits;
  const size_t group = sizes.group == 0 ? static_cast<size_t>(cols) : sizes.group;
  const uint64_t groups = CeilDiv(cols, group);
  const TensorView* const scales = module.Require("scales", kFloatTypes, {{groups, rows}});
  const TensorView* const zeros = module.Require("qzeros", "I32", {{groups, WordsOf(rows, sizes.bits)}});
  if (scales == nullptr || zeros == nullptr) return nullptr;
  if (codes->shape[0] * 32 % bits != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "qweight", "expected words that codes fill");
  }
  if (quantisation.zeros_less_one && HasLargestZero(*zeros, rows, sizes.bits)) {
    module.Complain(ErrorCode::kUnsupported, "qzeros",
                    "has a zero point of the largest code, which programs do not agree about in the format gptq");
  }
  const TensorView* const chosen = module.Find("g_idx");
  if (sizes.has_choices) module.Require("g_idx", "I32");
  std::vector<uint32_t> of_columns;
  if (chosen != nullptr) {
    module.Require("g_idx", "I32", {{cols}});
    of_columns = GroupsOfColumns(*chosen, group);
    for (const uint32_t one : of_columns) {
      if (one < groups) continue;
      module.Complain(ErrorCode::kInvalidArgument, "g_idx",
                      Concat({"has the group ", std::to_string(one), " of ", std::to_string(groups)}));
    }
  }
  if (!module.all.status()) return nullptr;
  return std::make_unique<GptqRows>(GptqRows::Tensors{codes, scales, zeros, chosen}, cols, group, sizes.bits,
                                    quantisation.zeros_less_one, std::move(of_columns));
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_GPTQ_H_
