// SPDX-License-Identifier: Apache-2.0
//
// The parts of a model that its tensors are of, for people.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "skald/base/text/printable.h"
#include "terminal/messages.h"

namespace skald::program {

// The part of a model that a tensor is of: the first words of its name, with the number of its layer.
inline std::string PartOf(std::string_view name) {
  const size_t words = name.starts_with("model.layers.")                        ? 3
                       : name.starts_with("model.") || name.starts_with("blk.") ? 2
                                                                                : 1;
  size_t end = name.find('.');
  for (size_t i = 1; i < words && end != name.npos; ++i) end = name.find('.', end + 1);
  return std::string(name.substr(0, end));
}

// Names what the model has and a written file will not, heads and towers part by part.
template <class Names>
void WarnOfLeftOut(const Names& tensors) {
  std::map<std::string, size_t> parts;
  for (const std::string_view name : tensors) ++parts[PartOf(name)];
  for (const auto& [part, count] : parts) {
    Warn("not in the file: " + Printable(part) + " (" + std::to_string(count) + " tensors)");
  }
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_
