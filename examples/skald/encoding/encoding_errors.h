// SPDX-License-Identifier: Apache-2.0
//
// Errors of texts that are computed a part at a time.

#ifndef SKALD_EXAMPLES_SKALD_ENCODING_ENCODING_ERRORS_H_
#define SKALD_EXAMPLES_SKALD_ENCODING_ENCODING_ERRORS_H_

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald::program {

// The library counts the texts of a call ("text 3: ..."): returns the error with the number among all texts, of which
// `before` were in earlier calls.
inline Error CountedFrom(size_t before, Error error) {
  constexpr std::string_view kBegin = "text ";
  if (!error.message.starts_with(kBegin)) return error;
  const char* const first = error.message.data() + kBegin.size();
  const char* const last = error.message.data() + error.message.size();
  size_t number = 0;
  const auto read = std::from_chars(first, last, number);
  if (read.ec != std::errc() || read.ptr == last || *read.ptr != ':') return error;
  error.message = std::string(kBegin) + std::to_string(before + number) + std::string(read.ptr, last);
  return error;
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_ENCODING_ENCODING_ERRORS_H_
