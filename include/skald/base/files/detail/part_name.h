// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/part_name.h.

#ifndef SKALD_BASE_FILES_DETAIL_PART_NAME_H_
#define SKALD_BASE_FILES_DETAIL_PART_NAME_H_

#include "skald/base/files/part_name.h"

#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

inline constexpr size_t kPartDigits = 5;

// Takes "-00007" from the end of a text, after the word if there is one; 0 if it is not there.
inline uint32_t TakePartNumber(std::string_view& text, std::string_view before) {
  if (text.size() < kPartDigits + before.size()) return 0;
  const std::string_view digits = text.substr(text.size() - kPartDigits);
  if (digits.find_first_not_of("0123456789") != digits.npos) return 0;
  const std::string_view rest = text.substr(0, text.size() - kPartDigits);
  if (!rest.ends_with(before)) return 0;
  text = rest.substr(0, rest.size() - before.size());
  uint32_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<uint32_t>(digit - '0');
  return number;
}

inline std::string PartNumber(uint32_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kPartDigits - digits.size(), '0') + digits;
}

}  // namespace internal

SKALD_INLINE std::vector<std::string> PartName::All() const {
  std::vector<std::string> names;
  for (uint32_t i = 1; i <= count; ++i) {
    names.push_back(Concat({model, "-", internal::PartNumber(i), "-of-", internal::PartNumber(count), ".gguf"}));
  }
  return names;
}

SKALD_INLINE std::optional<PartName> PartNameOf(std::string_view name) {
  constexpr std::string_view kEnding = ".gguf";
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  PartName part;
  part.count = internal::TakePartNumber(name, "-of-");
  part.number = part.count == 0 ? 0 : internal::TakePartNumber(name, "-");
  if (part.number == 0 || part.number > part.count) return std::nullopt;
  part.model = name;
  return part;
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_PART_NAME_H_
