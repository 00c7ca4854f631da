// SPDX-License-Identifier: Apache-2.0
//
// The parts of a model that its tensors are of, for people.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_

#include <cstddef>
#include <string>
#include <string_view>

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

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_TENSOR_PARTS_H_
