// SPDX-License-Identifier: Apache-2.0
//
// How fuzz targets take an input whose meaning random bytes hardly ever have: as it is, or as changes to one that is
// whole.

#ifndef SKALD_TESTS_FUZZ_WHOLE_OR_CHANGED_H_
#define SKALD_TESTS_FUZZ_WHOLE_OR_CHANGED_H_

#include <cstddef>
#include <span>
#include <vector>

namespace skald::testing {

// Returns `input`, or `whole` where `is_change`, with each three bytes of `input` a place and what is put there.
inline std::vector<std::byte> WholeOrChanged(bool is_change, std::vector<std::byte> whole,
                                             std::span<const std::byte> input) {
  if (!is_change) return {input.begin(), input.end()};
  for (; input.size() >= 3; input = input.subspan(3)) {
    const size_t place = std::to_integer<size_t>(input[0]) | std::to_integer<size_t>(input[1]) << 8;
    whole[place % whole.size()] = input[2];
  }
  return whole;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_FUZZ_WHOLE_OR_CHANGED_H_
