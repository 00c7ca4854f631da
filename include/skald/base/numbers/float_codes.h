// SPDX-License-Identifier: Apache-2.0
//
// Types of packed matrices whose codes mean floats: weight = scale * number of the code, rounded to a float, which is
// multiplied as such a float (arithmetic contract, R1). One struct each, a pack of neighbouring terms of 16 outputs. A
// matrix is laid out as in base/numbers/packed_layout.h, with packs in the place of terms.

#ifndef SKALD_BASE_NUMBERS_FLOAT_CODES_H_
#define SKALD_BASE_NUMBERS_FLOAT_CODES_H_

#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

/// Eight-bit floats (float8_e4m3fn), a scale for 32 terms. Codes of NaN do not occur: the scale is NaN instead.
struct F8 {
  static constexpr DType kType = DType::kF8;  ///< its DType
  static constexpr size_t kTerms = kTile;     ///< of a pack
  float scales[kLanes];                       ///< of each output
  uint8_t codes[kTerms][kLanes];              ///< of each term and output
};

/// The numbers of NF4's codes: quantiles of a normal distribution (Dettmers and others 2023, arXiv:2305.14314).
alignas(64) inline constexpr float kNf4Numbers[16] = {-1.0f,
                                                      -0.6961928009986877f,
                                                      -0.5250730514526367f,
                                                      -0.39491748809814453f,
                                                      -0.28444138169288635f,
                                                      -0.18477343022823334f,
                                                      -0.09105003625154495f,
                                                      0.0f,
                                                      0.07958029955625534f,
                                                      0.16093020141124725f,
                                                      0.24611230194568634f,
                                                      0.33791524171829224f,
                                                      0.44070982933044434f,
                                                      0.5626170039176941f,
                                                      0.7229568362236023f,
                                                      1.0f};

/// The numbers of FP4's codes: floats of a sign, two bits of exponent and one of the fraction, as bitsandbytes has
/// them.
alignas(64) inline constexpr float kFp4Numbers[16] = {
    0.0f,  0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  6.0f / 12,  2.0f / 12,  3.0f / 12,
    -0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -6.0f / 12, -2.0f / 12, -3.0f / 12};

/// Four-bit codes of the numbers in a table, a scale for 32 terms. Two terms that follow each other share a byte, the
/// first in the low half.
template <DType kOfType, const float (&kTable)[16]>
struct FourBitFloats {
  static constexpr DType kType = kOfType;    ///< its DType
  static constexpr auto& kNumbers = kTable;  ///< of the codes
  static constexpr size_t kTerms = kTile;    ///< of a pack
  float scales[kLanes];                      ///< of each output
  uint8_t codes[kTerms / 2][kLanes];         ///< of two terms and each output
};

/// bitsandbytes' nf4.
struct NF4 : FourBitFloats<DType::kNF4, kNf4Numbers> {};
/// bitsandbytes' fp4.
struct FP4 : FourBitFloats<DType::kFP4, kFp4Numbers> {};

static_assert(sizeof(F8) == 576 && sizeof(NF4) == 320 && sizeof(FP4) == 320);

/// Types whose codes mean floats.
template <class T>
concept FloatCoded = IsFloatCoded(kDTypeOf<T>);

/// Those of four bits.
template <class T>
concept FourBitCoded = FloatCoded<T> && requires {
  T::kNumbers;
};

/// Returns the number with these bits of float8_e4m3fn: four bits of exponent, three of the fraction, no infinity; NaN
/// where all of them are set.
float FromE4M3(unsigned bits);

/// Returns the bits of the float8_e4m3fn that is nearest to a finite number, the largest one beyond its range.
uint8_t ToE4M3(float value);

/// The weight at term k of one output of a pack.
inline float WeightAt(const F8& pack, size_t lane, size_t k) {
  return pack.scales[lane] * FromE4M3(pack.codes[k][lane]);
}
template <FourBitCoded T>
float WeightAt(const T& pack, size_t lane, size_t k) {
  return pack.scales[lane] * T::kNumbers[pack.codes[k / 2][lane] >> (k % 2 * 4) & 15];
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/float_codes.h"
#endif

#endif  // SKALD_BASE_NUMBERS_FLOAT_CODES_H_
