// SPDX-License-Identifier: Apache-2.0
//
// Number types of weights and cached state. bfloat16 is Highway's own type, so that vector code and scalar code use the
// same bits; values of it need base/numbers/bf16.h.

#ifndef SKALD_BASE_NUMBERS_NUMERIC_H_
#define SKALD_BASE_NUMBERS_NUMERIC_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

namespace hwy {
struct bfloat16_t;
}  // namespace hwy

namespace skald {

using bf16 = hwy::bfloat16_t;

/// Element types of parameters in files, of packed matrices and of cached keys and values. The types from kQ8_0 to
/// kIQ4_XS and from kNVFP4 on are group-quantised (base/numbers/group_types.h), those from kF8 to kFP4 are codes of
/// floats (base/numbers/float_codes.h); both are only for packed matrices. kI8 is only for the cache: codes, with a
/// scale for each token and head. File formats store the enumerators' numbers, so their order must not change.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ8A,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ6A,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kIQ4_NL,
  kMXFP4,
  kQ2_K,
  kQ3_K,
  kIQ4_XS,
  kI8,
  kF8,
  kNF4,
  kFP4,
  kNVFP4,
  kIQ1,
  kIQ2,
  kIQ3_XXS,
  kIQ3_S,
  kQ4A,
  kQ8A32,
};

constexpr bool IsGrouped(DType type) { return (type >= DType::kQ8_0 && type < DType::kI8) || type >= DType::kNVFP4; }

/// Whether matrices of this type hold codes of floats, which are multiplied as floats.
constexpr bool IsFloatCoded(DType type) { return type >= DType::kF8 && type <= DType::kFP4; }

/// Whether matrices may have this type in memory.
constexpr bool IsWeightType(DType type) { return type != DType::kF16 && type != DType::kI8; }

/// Bytes of one element; only for types whose matrices are arrays of elements.
constexpr size_t SizeOf(DType type) { return type == DType::kF32 ? 4 : type == DType::kI8 ? 1 : 2; }

constexpr std::string_view NameOf(DType type) {
  constexpr std::string_view kNames[] = {"F32",  "F16",     "BF16",  "Q8_0", "Q4_0", "Q8A",    "Q4_K",  "Q5_K",
                                         "Q6_K", "Q6A",     "Q4_1",  "Q5_0", "Q5_1", "IQ4_NL", "MXFP4", "Q2_K",
                                         "Q3_K", "IQ4_XS",  "I8",    "F8",   "NF4",  "FP4",    "NVFP4", "IQ1",
                                         "IQ2",  "IQ3_XXS", "IQ3_S", "Q4A",  "Q8A32"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

/// Returns the entry with this `type` of a table, or null.
template <class Entry>
const Entry* FindType(std::span<const Entry> table, DType type) {
  for (const Entry& entry : table) {
    if (entry.type == type) return &entry;
  }
  return nullptr;
}

template <class T>
inline constexpr DType kDTypeOf = sizeof(T) == 4   ? DType::kF32
                                  : sizeof(T) == 2 ? DType::kBF16
                                                   : DType::kI8;
template <>
inline constexpr DType kDTypeOf<bf16> = DType::kBF16;
template <class T>
requires std::is_enum_v<decltype(T::kType)>
inline constexpr DType kDTypeOf<T> = T::kType;

/// Returns the value of IEEE binary16 `bits`, exactly. Without branches, so that loops over it vectorise, and without
/// arithmetic on subnormal numbers, which the CPU may be set to flush to zero.
inline float FromHalf(uint16_t bits) {
  constexpr uint32_t kRebias = (127u - 15u) << 23;      // between the exponents of the two formats
  constexpr uint32_t kSmallest = kRebias + (1u << 23);  // 2^-14, the smallest normal half
  const uint32_t magnitude = (bits & 0x7FFFu) << 13;
  const uint32_t rebiased = magnitude + kRebias + (magnitude >= 0x0F800000u ? kRebias : 0u);  // keeps infinity, NaN
  const float subnormal = std::bit_cast<float>(magnitude + kSmallest) - std::bit_cast<float>(kSmallest);
  const uint32_t value = magnitude < (1u << 23) ? std::bit_cast<uint32_t>(subnormal) : rebiased;
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}

/// Returns the bits of `value` rounded to IEEE binary16, to nearest, ties to even; infinity beyond its range.
uint16_t ToHalf(float value);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/numeric.h"
#endif

#endif  // SKALD_BASE_NUMBERS_NUMERIC_H_
