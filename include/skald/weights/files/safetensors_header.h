// SPDX-License-Identifier: Apache-2.0
//
// The JSON header of a safetensors file. This file knows JSON types and fields only; safetensors.h checks the meaning
// of the numbers.

#ifndef SKALD_WEIGHTS_FILES_SAFETENSORS_HEADER_H_
#define SKALD_WEIGHTS_FILES_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skald {

/// One tensor in the header. Offsets are bytes from the start of the data section.
struct SafetensorsEntry {
  std::string name;             ///< as the file spells it
  std::string dtype_name;       ///< the file's spelling: "BF16", "I64", ...
  std::vector<uint64_t> shape;  ///< outermost axis first; [] is a scalar
  uint64_t begin = 0, end = 0;
};

namespace internal {

/// Appends the entries of `header`, sorted by name. Returns "" or a complaint that names the tensor.
std::string ReadSafetensorsHeader(std::string_view header, std::vector<SafetensorsEntry>& entries);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/safetensors_header.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_SAFETENSORS_HEADER_H_
