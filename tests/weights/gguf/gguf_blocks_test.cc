// SPDX-License-Identifier: Apache-2.0
//
// The decoders of quantised blocks against formulas for one weight at a time, in double.

#include "skald/weights/types/gguf_blocks.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/weights/files/gguf_types.h"

namespace skald {
namespace gguf_blocks_test {

using Block = std::vector<uint8_t>;

double HalfOf(const Block& block, size_t at) {
  const int bits = block[at] | block[at + 1] << 8;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

int Nibble(int byte, size_t high) { return high != 0 ? byte >> 4 : byte & 15; }

// Bits [6 * index, 6 * index + 6) of scale or minimum `part`, told by the packing that the format's encoder describes.
int SixBitsOf(const uint8_t* packed, size_t part, bool minimum) {
  if (part < 4) return packed[part + (minimum ? 4 : 0)] % 64;
  const int low = Nibble(packed[part + 4], minimum), high = packed[part - (minimum ? 0 : 4)] / 64;
  return low + 16 * high;
}

double Q8_0(const Block& b, size_t i) { return HalfOf(b, 0) * static_cast<int8_t>(b[2 + i]); }
double Q4_0(const Block& b, size_t i) { return HalfOf(b, 0) * (Nibble(b[2 + i % 16], i / 16) - 8); }

double Q4_1(const Block& b, size_t i) { return HalfOf(b, 0) * Nibble(b[4 + i % 16], i / 16) + HalfOf(b, 2); }
double Q5_0(const Block& b, size_t i) {
  return HalfOf(b, 0) * (Nibble(b[6 + i % 16], i / 16) + 16 * (b[2 + i / 8] >> (i % 8) & 1) - 16);
}
double Q5_1(const Block& b, size_t i) {
  return HalfOf(b, 0) * (Nibble(b[8 + i % 16], i / 16) + 16 * (b[4 + i / 8] >> (i % 8) & 1)) + HalfOf(b, 2);
}

int Iq4Value(int code) {
  constexpr int kValues[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return kValues[code];
}

double Iq4Nl(const Block& b, size_t i) { return HalfOf(b, 0) * Iq4Value(Nibble(b[2 + i % 16], i / 16)); }

double Iq4Xs(const Block& b, size_t i) {
  const size_t part = i / 32;
  const int low = Nibble(b[4 + part / 2], part % 2), high = (b[2] | b[3] << 8) >> (2 * part) & 3;
  return HalfOf(b, 0) * (low + 16 * high - 32) * Iq4Value(Nibble(b[8 + part * 16 + i % 16], i % 32 / 16));
}

// A four-bit float: a sign, two bits of exponent, one of fraction.
double Mxfp4(const Block& b, size_t i) {
  const int code = Nibble(b[1 + i % 16], i / 16), exponent = code >> 1 & 3, fraction = code & 1;
  const double magnitude = exponent == 0 ? 0.5 * fraction : std::ldexp(1 + 0.5 * fraction, exponent - 1);
  return std::ldexp(code >= 8 ? -magnitude : magnitude, b[0] - 127);
}

// Scales are floats of four bits of exponent and three of fraction; numbers as in MXFP4.
double Nvfp4(const Block& b, size_t i) {
  const int scale = b[i / 16] & 127, code = Nibble(b[4 + i / 16 * 8 + i % 8], i / 8 % 2);
  const int exponent = code >> 1 & 3, fraction = code & 1;
  const double magnitude = exponent == 0 ? 0.5 * fraction : std::ldexp(1 + 0.5 * fraction, exponent - 1);
  const double factor = scale < 8 ? std::ldexp(scale, -9) : std::ldexp(1 + scale % 8 / 8.0, scale / 8 - 7);
  return (code >= 8 ? -magnitude : magnitude) * (scale == 127 ? 0 : factor);
}

double Q3K(const Block& b, size_t i) {
  const size_t g = i / 16;
  const int low = Nibble(b[96 + g % 8], g / 8), high = b[104 + g % 4] >> (g / 4 * 2) & 3;
  const int code = (b[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) + (b[i % 32] >> (i / 32) & 1 ? 0 : -4);
  return HalfOf(b, 108) * (low + 16 * high - 32) * code;
}

double Q2K(const Block& b, size_t i) {
  const int scales = b[i / 16], code = b[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  return HalfOf(b, 80) * (scales % 16) * code - HalfOf(b, 82) * (scales / 16);
}

double Q4K(const Block& b, size_t i) {
  const int code = Nibble(b[16 + i / 64 * 32 + i % 32], i % 64 / 32);
  return HalfOf(b, 0) * SixBitsOf(&b[4], i / 32, false) * code - HalfOf(b, 2) * SixBitsOf(&b[4], i / 32, true);
}

double Q5K(const Block& b, size_t i) {
  const int code = Nibble(b[48 + i / 64 * 32 + i % 32], i % 64 / 32) + 16 * (b[16 + i % 32] >> (i / 32) & 1);
  return HalfOf(b, 0) * SixBitsOf(&b[4], i / 32, false) * code - HalfOf(b, 2) * SixBitsOf(&b[4], i / 32, true);
}

double Q6K(const Block& b, size_t i) {
  const size_t in_half = i % 128;
  const int low = Nibble(b[i / 128 * 64 + in_half % 64], in_half / 64);
  const int high = b[128 + i / 128 * 32 + i % 32] >> (in_half / 32 * 2) & 3;
  return HalfOf(b, 208) * static_cast<int8_t>(b[192 + i / 16]) * (low + 16 * high - 32);
}

// Element `i` of a vector of magnitudes, `bits` bits each.
double Magnitude(const std::vector<double>& magnitudes, int vector, size_t bits, size_t i) {
  return magnitudes.at(static_cast<size_t>(vector >> (bits * i) & ((1 << bits) - 1)));
}
const std::vector<double> kIq2Magnitudes = {8.0, 25.0, 43.0};
const std::vector<double> kIq3XxsMagnitudes = {4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0};

double SignOf(unsigned signs, size_t i) { return signs >> i & 1 ? -1.0 : 1.0; }
double EvenSignOf(unsigned signs, size_t i) { return SignOf(std::popcount(signs) % 2 == 1 ? signs + 128 : signs, i); }
uint32_t Word(const Block& b, size_t at) {
  uint32_t word;
  std::memcpy(&word, &b[at], 4);
  return word;
}
unsigned Half(const Block& b, size_t at) { return b[at] + 256u * b[at + 1]; }

double Iq2Xxs(const Block& b, size_t i) {
  const uint32_t packed = Word(b, 2 + i / 32 * 8 + 4);
  const uint16_t vector = internal::kIq2XxsVectors[b[2 + i / 32 * 8 + i % 32 / 8]];
  return HalfOf(b, 0) * (0.5 + (packed >> 28)) * 0.25 * EvenSignOf(packed >> (7 * (i % 32 / 8)) & 127, i % 8) *
         Magnitude(kIq2Magnitudes, vector, 2, i % 8);
}

double Iq2Xs(const Block& b, size_t i) {
  const unsigned both = Half(b, 2 + i / 8 * 2);
  return HalfOf(b, 0) * (0.5 + Nibble(b[66 + i / 32], i % 32 / 16)) * 0.25 * EvenSignOf(both / 512, i % 8) *
         Magnitude(kIq2Magnitudes, internal::kIq2XsVectors[both % 512], 2, i % 8);
}

double Iq2S(const Block& b, size_t i) {
  const int number = b[2 + i / 8] + 256 * (b[66 + i / 32] >> (2 * (i % 32 / 8)) & 3);
  return HalfOf(b, 0) * (0.5 + Nibble(b[74 + i / 32], i % 32 / 16)) * 0.25 * SignOf(b[34 + i / 8], i % 8) *
         Magnitude(kIq2Magnitudes, internal::kIq2SVectors[number], 2, i % 8);
}

double Iq3Xxs(const Block& b, size_t i) {
  const uint32_t packed = Word(b, 66 + i / 32 * 4);
  return HalfOf(b, 0) * (0.5 + (packed >> 28)) * 0.5 * EvenSignOf(packed >> (7 * (i % 32 / 8)) & 127, i % 8) *
         Magnitude(kIq3XxsMagnitudes, internal::kIq3XxsVectors[b[2 + i / 4]], 3, i % 4);
}

double Iq3S(const Block& b, size_t i) {
  const int number = b[2 + i / 4] + 256 * (b[66 + i / 32] >> (i / 4 % 8) & 1);
  const int magnitude = 2 * (internal::kIq3SVectors[number] >> (3 * (i % 4)) & 7) + 1;
  return HalfOf(b, 0) * (1 + 2 * Nibble(b[106 + i / 64], i / 32 % 2)) * SignOf(b[74 + i / 8], i % 8) * magnitude;
}

double Iq1(int number, size_t i, bool is_less) {
  return (internal::kIq1Vectors[number] >> (2 * (i % 8)) & 3) - 1 + (is_less ? -0.125 : 0.125);
}

double Iq1S(const Block& b, size_t i) {
  const unsigned part = Half(b, 34 + i / 32 * 2);
  const int number = b[2 + i / 8] + 256 * static_cast<int>(part >> (3 * (i / 8 % 4)) & 7);
  return HalfOf(b, 0) * (2.0 * (part >> 12 & 7) + 1) * Iq1(number, i, part >= 32768);
}

double Iq1M(const Block& b, size_t i) {
  Block d(2);
  d[0] = static_cast<uint8_t>(b[49] >> 4 | (b[51] & 0xF0)), d[1] = static_cast<uint8_t>(b[53] >> 4 | (b[55] & 0xF0));
  const int upper = Nibble(b[32 + i / 16], i / 8 % 2), number = b[i / 8] + 256 * (upper % 8);
  const unsigned s = Half(b, 48 + i / 64 * 2) >> (3 * (i / 16 % 4)) & 7;
  return HalfOf(d, 0) * (2.0 * s + 1) * Iq1(number, i, upper >= 8);
}

double Tq2_0(const Block& b, size_t i) {
  return HalfOf(b, 64) * ((b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
}

// The digits of a number below 243, which a byte holds as a fraction of 243, rounded up.
double Tq1_0(const Block& b, size_t i) {
  const size_t byte = i < 160 ? i % 32 : i < 240 ? 32 + i % 16 : 48 + i % 4;
  const size_t digit = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
  int fraction = b[byte];
  for (size_t n = 0; n < digit; ++n) fraction = fraction * 3 % 256;
  return HalfOf(b, 52) * (fraction * 3 / 256 - 1);
}

double Q1_0(const Block& b, size_t i) { return (b[2 + i / 8] >> (i % 8) & 1) != 0 ? HalfOf(b, 0) : -HalfOf(b, 0); }
double Q2_0(const Block& b, size_t i) { return HalfOf(b, 0) * ((b[2 + i / 4] >> (i % 4 * 2) & 3) - 1); }

const GgufType& TypeNamed(const std::string& name) {
  for (const GgufType& type : kGgufTypes) {
    if (type.name == name) return type;
  }
  FAIL("no such type");
  return kGgufTypes[0];
}

TEST_CASE("Blocks decode exactly to the weights that the format defines") {
  const std::map<std::string, double (*)(const Block&, size_t)> references = {
      {"Q8_0", Q8_0},    {"Q4_0", Q4_0},      {"Q4_1", Q4_1},   {"Q5_0", Q5_0},      {"Q5_1", Q5_1},
      {"Q2_K", Q2K},     {"Q3_K", Q3K},       {"Q4_K", Q4K},    {"Q5_K", Q5K},       {"Q6_K", Q6K},
      {"IQ4_NL", Iq4Nl}, {"IQ4_XS", Iq4Xs},   {"MXFP4", Mxfp4}, {"IQ2_XXS", Iq2Xxs}, {"IQ2_XS", Iq2Xs},
      {"IQ2_S", Iq2S},   {"IQ3_XXS", Iq3Xxs}, {"IQ3_S", Iq3S},  {"IQ1_S", Iq1S},     {"IQ1_M", Iq1M},
      {"TQ1_0", Tq1_0},  {"TQ2_0", Tq2_0},    {"Q1_0", Q1_0},   {"Q2_0", Q2_0},      {"NVFP4", Nvfp4}};
  std::mt19937 random(7);
  for (const auto& [name, reference] : references) {
    CAPTURE(name);
    const GgufType& type = TypeNamed(name);
    const GroupFormat* const format = FindGroupFormat(type.name);
    REQUIRE(format != nullptr);
    CHECK(format->block_elements == type.block_elements);
    CHECK(format->block_bytes == type.block_bytes);
    for (int trial = 0; trial < 200; ++trial) {
      Block block(type.block_bytes);
      for (uint8_t& byte : block) byte = static_cast<uint8_t>(random());
      // Scales are finite: their highest exponent bit is clear.
      for (const size_t at : {0, 2, 52, 54, 64, 80, 82, 108, 208}) {
        if (at + 1 < block.size()) block[at + 1] &= 0xBF;
      }
      CodeGroup groups[16];
      format->decode(reinterpret_cast<const std::byte*>(block.data()), groups);
      bool equal = true;
      for (size_t i = 0; i < type.block_elements; ++i) {
        const CodeGroup& group = groups[i / kCodeGroup];
        equal &= double{group.scale} * group.codes[i % kCodeGroup] + double{group.offset} == reference(block, i);
      }
      CHECK(equal);
    }
  }
  CHECK(FindGroupFormat("F32") == nullptr);
  CHECK(FindGroupFormat("Q8_K") == nullptr);
}

// The lists are too long to proofread, but they were made with rules that a slip would break.
TEST_CASE("The vectors of the IQ types are in rising order, and of magnitudes that there are") {
  const auto check = [](std::span<const uint16_t> vectors, int elements, int bits, int magnitudes) {
    for (size_t v = 0; v < vectors.size(); ++v) {
      if (v > 0) CHECK(vectors[v - 1] < vectors[v]);
      CHECK((vectors[v] >> (elements * bits)) == 0);
      for (int i = 0; i < elements; ++i) CHECK((vectors[v] >> (bits * i) & ((1 << bits) - 1)) < magnitudes);
    }
  };
  check(internal::kIq2XxsVectors, 8, 2, 3);
  check(internal::kIq2XsVectors, 8, 2, 3);
  check(internal::kIq2SVectors, 8, 2, 3);
  check(internal::kIq1Vectors, 8, 2, 3);
  check(internal::kIq3XxsVectors, 4, 3, 8);
  check(internal::kIq3SVectors, 4, 3, 8);
}

TEST_CASE("The magnitude 25 occurs in each vector of IQ2_XXS an even number of times") {
  for (const uint16_t vector : internal::kIq2XxsVectors) {
    CHECK(std::popcount(static_cast<unsigned>(vector) & 0x5555u) % 2 == 0);
  }
}

// Weights of blocks made by hand, so that they can be checked by hand.
TEST_CASE("Blocks made by hand hold the weights that were put in") {
  CodeGroup groups[16];
  std::vector<uint8_t> q4(18, 0x9F);  // low halves 15, high halves 9
  q4[0] = 0x00, q4[1] = 0x38;         // a scale of 0.5
  internal::DecodeQ4_0(reinterpret_cast<const std::byte*>(q4.data()), groups);
  CHECK(groups[0].scale == 0.5f);
  CHECK(groups[0].codes[3] == 7);
  CHECK(groups[1].codes[3] == 1);

  std::vector<uint8_t> iq2(66, 0);  // everything the first vector, all signs positive
  iq2[1] = 0x3C;                    // d = 1
  iq2[2 + 0] = 1;                   // vector 1: a magnitude of 43 in front
  iq2[2 + 4] = 1;                   // negative: the first, and so the last as well
  iq2[2 + 7] = 0xF0;                // s = 15
  internal::DecodeAsGroups<internal::DecodeIq2Xxs>(reinterpret_cast<const std::byte*>(iq2.data()), groups);
  CHECK(groups[0].scale == 31.0f / 8.0f);
  CHECK(groups[0].codes[0] == -43);
  CHECK(groups[0].codes[1] == 8);
  CHECK(groups[0].codes[7] == -8);
  CHECK(groups[0].codes[8] == 8);
  CHECK(groups[2].scale == 1.0f / 8.0f);
}

}  // namespace gguf_blocks_test
}  // namespace skald
