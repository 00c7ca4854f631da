// SPDX-License-Identifier: Apache-2.0
//
// The names of GGUF files that are a model in several parts: "<model>-00001-of-00003.gguf" and so on, as llama.cpp
// writes them (tools/gguf-split of https://github.com/ggml-org/llama.cpp).

#ifndef SKALD_BASE_FILES_PART_NAME_H_
#define SKALD_BASE_FILES_PART_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald {

/// A part, as the name of its file tells it.
struct PartName {
  std::string model;    ///< the name before the numbers, with its folders if it had any
  uint32_t number = 1;  ///< of this part, from 1 to `count`
  uint32_t count = 1;   ///< of parts

  /// Returns the names of all parts, in their order.
  std::vector<std::string> All() const;
};

/// Returns what a file's name says, or nothing where it is not that of a part.
std::optional<PartName> PartNameOf(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/part_name.h"
#endif

#endif  // SKALD_BASE_FILES_PART_NAME_H_
