// SPDX-License-Identifier: Apache-2.0

#ifndef SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_LOWER_CASE_H_
#define SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_LOWER_CASE_H_

#include <cctype>
#include <string>
#include <string_view>

namespace skald::program {

// Names of headers, hosts and files, whose letters are ASCII.
inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_LOWER_CASE_H_
