// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/config/differences.h.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_DIFFERENCES_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_DIFFERENCES_H_

#include "skald/families/config/differences.h"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "skald/base/inline.h"
#include "skald/base/text/read_decimal.h"
#include "skald/families/config/detail/model_facts.h"

namespace skald {
namespace internal {

using SameTexts = bool (*)(std::string_view, std::string_view);

// Whether two texts are the same but for numbers that are as near as one float is to the next.
inline bool SameButForRounding(std::string_view a, std::string_view b) {
  constexpr double kTolerance = 1e-5;
  while (!a.empty() && !b.empty()) {
    double x = 0.0, y = 0.0;
    const auto of_a = ReadDecimal(a, x);
    const auto of_b = ReadDecimal(b, y);
    const bool numbers = of_a.ec == std::errc() && of_b.ec == std::errc();
    const bool is_near = x == y || std::abs(x - y) <= kTolerance * std::abs(x);  // of two infinities the first holds
    if (numbers ? !is_near : a.front() != b.front()) return false;
    a.remove_prefix(numbers ? static_cast<size_t>(of_a.ptr - a.data()) : 1);
    b.remove_prefix(numbers ? static_cast<size_t>(of_b.ptr - b.data()) : 1);
  }
  return a.empty() && b.empty();
}

// Returns the facts in which two models differ, called by `names`; those that same(found, wanted) holds for do not.
inline std::vector<std::string> FactsThatDiffer(const ModelSpec& actual, const ModelSpec& expected,
                                                std::span<const FactRenaming> names, SameTexts same) {
  std::vector<std::string> differences;
  for (const ModelFact& fact : kModelFacts) {
    const std::string found = fact.text(actual), wanted = fact.text(expected);
    if (same(found, wanted)) continue;
    differences.push_back(std::string(FactName(names, fact.name)) + " (" + found + ", expected " + wanted + ")");
  }
  return differences;
}

}  // namespace internal

SKALD_INLINE std::vector<std::string> Differences(const ModelSpec& actual, const ModelSpec& expected,
                                                  std::span<const internal::FactRenaming> names) {
  if (actual == expected) return {};
  auto differences =
      internal::FactsThatDiffer(actual, expected, names, [](std::string_view a, std::string_view b) { return a == b; });
  if (differences.empty()) differences.push_back("the sizes of some blocks");
  return differences;
}

SKALD_INLINE std::vector<std::string> DifferencesBeyondRounding(const ModelSpec& actual, const ModelSpec& expected) {
  if (actual == expected) return {};
  return internal::FactsThatDiffer(actual, expected, internal::kGgufFactNames, internal::SameButForRounding);
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_DIFFERENCES_H_
