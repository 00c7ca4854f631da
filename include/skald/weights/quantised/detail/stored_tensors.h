// SPDX-License-Identifier: Apache-2.0
//
// The tensors of modules with quantised weights, as methods look them up; and the numbers that are in them.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_STORED_TENSORS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_STORED_TENSORS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/types/block_bytes.h"

namespace skald::internal {

/// Returns the power of two with these bits of float8_e8m0fnu.
inline float FromE8M0(unsigned bits) {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

/// Element `index` of a tensor of floats; of one of U8 the power of two.
inline float FloatAt(const TensorView& tensor, size_t index) {
  const std::byte* const bytes = tensor.bytes.data();
  if (tensor.dtype == DType::kF32) return std::bit_cast<float>(WordAt(bytes + 4 * index));
  if (tensor.dtype == DType::kF16) return HalfAt(bytes + 2 * index);
  if (tensor.dtype == DType::kBF16) return std::bit_cast<float>(uint32_t{HalfBitsAt(bytes + 2 * index)} << 16);
  return tensor.dtype_name == "F8_E4M3" ? FromE4M3(ByteAt(bytes, index)) : FromE8M0(ByteAt(bytes, index));
}

/// Element `index` of a stream of `bits` bits each, at most 8, lowest first.
inline int BitsAt(const std::byte* stream, size_t index, int bits) {
  const size_t bit = index * static_cast<size_t>(bits), byte = bit / 8, shift = bit % 8;
  unsigned value = ByteAt(stream, byte) >> shift;
  if (shift + static_cast<size_t>(bits) > 8) value |= ByteAt(stream, byte + 1) << (8 - shift);
  return static_cast<int>(value & ((1u << bits) - 1));
}

/// The same of a stream whose words of four bytes are `stride` words apart.
inline int BitsDown(const std::byte* stream, size_t stride, size_t index, int bits) {
  const size_t bit = index * static_cast<size_t>(bits), word = bit / 32, shift = bit % 32;
  uint32_t value = WordAt(stream + 4 * word * stride) >> shift;
  if (shift + static_cast<size_t>(bits) > 32) value |= WordAt(stream + 4 * (word + 1) * stride) << (32 - shift);
  return static_cast<int>(value & ((1u << bits) - 1));
}

/// Words that hold `count` numbers of `bits` bits.
inline uint64_t WordsOf(uint64_t count, int bits) { return (count * static_cast<uint64_t>(bits) + 31) / 32; }

inline uint64_t CeilDiv(uint64_t count, uint64_t by) { return (count + by - 1) / by; }

/// Whether `word` is one of `words`, with blanks between them.
inline bool IsOneOf(std::string_view words, std::string_view word) {
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

inline constexpr std::string_view kFloatTypes = "F32 F16 BF16";

/// Keeps the first complaint, and which tensors are a part of a weight. The checkpoint must outlive it.
class StoredTensors {
 public:
  explicit StoredTensors(const Checkpoint& stored) : stored_(stored) {}

  const Result<void>& status() const { return status_; }
  bool IsPart(const TensorView& tensor) const { return parts_.contains(tensor.name); }
  std::span<const TensorView> all() const { return stored_.tensors(); }

  void Complain(ErrorCode code, std::string_view name, const std::string& what) {
    if (status_) status_ = Fail(code, Concat({PathText(stored_.path()), ": ", QuotedName(name), ": ", what}));
  }

  /// Returns a tensor, which becomes a part, or null.
  const TensorView* Find(const std::string& name) {
    const TensorView* const tensor = stored_.Find(name);
    if (tensor != nullptr) parts_.insert(tensor->name);
    return tensor;
  }

  /// The same of one that must be there, with one of `types`, words, and one of the shapes if there are any; or null.
  const TensorView* Require(const std::string& name, std::string_view types,
                            std::initializer_list<std::vector<uint64_t>> shapes = {}) {
    const TensorView* const tensor = Find(name);
    if (tensor == nullptr) {
      Complain(ErrorCode::kNotFound, name, "expected this tensor of a quantised weight, found none");
      return nullptr;
    }
    const auto is = [&](const std::vector<uint64_t>& shape) { return std::ranges::equal(shape, tensor->shape); };
    if (!IsOneOf(types, tensor->dtype_name)) {
      Complain(ErrorCode::kUnsupported, name, Concat({"expected ", types, ", found ", QuotedName(tensor->dtype_name)}));
      return nullptr;
    }
    if (shapes.size() != 0 && std::ranges::none_of(shapes, is)) {
      Complain(ErrorCode::kInvalidArgument, name,
               Concat({"expected shape ", ShapeText(*shapes.begin()), ", found ", ShapeText(tensor->shape)}));
      return nullptr;
    }
    return tensor;
  }

  /// The bytes of tensors that are there.
  static uint64_t BytesOf(std::initializer_list<const TensorView*> tensors) {
    uint64_t bytes = 0;
    for (const TensorView* tensor : tensors) bytes += tensor == nullptr ? 0 : tensor->bytes.size();
    return bytes;
  }

 private:
  const Checkpoint& stored_;
  std::set<std::string_view> parts_;
  Result<void> status_;
};

/// The tensors of one module.
struct ModuleTensors {
  StoredTensors& all;
  std::string module;

  std::string NameOf(std::string_view part) const { return Concat({module, ".", part}); }
  const TensorView* Find(std::string_view part) const { return all.Find(NameOf(part)); }
  const TensorView* Require(std::string_view part, std::string_view types,
                            std::initializer_list<std::vector<uint64_t>> shapes = {}) const {
    return all.Require(NameOf(part), types, shapes);
  }
  void Complain(ErrorCode code, std::string_view part, const std::string& what) const {
    all.Complain(code, NameOf(part), what);
  }

  /// A tensor that must have two axes, none of them empty; or null. May be `stacked`: with an axis of matrices before.
  const TensorView* RequireMatrix(std::string_view part, std::string_view types, bool stacked = false) const {
    const TensorView* const tensor = Require(part, types);
    const bool is_empty = tensor != nullptr && std::ranges::find(tensor->shape, 0u) != tensor->shape.end();
    if (tensor == nullptr || (tensor->shape.size() == (stacked ? 3 : 2) && !is_empty)) return tensor;
    Complain(
        ErrorCode::kInvalidArgument, part,
        Concat({"expected a matrix", stacked ? " for each expert" : "", ", found shape ", ShapeText(tensor->shape)}));
    return nullptr;
  }
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_STORED_TENSORS_H_
