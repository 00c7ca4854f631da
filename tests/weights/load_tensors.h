// SPDX-License-Identifier: Apache-2.0
//
// Writes tensors to a checkpoint of their own and loads it.

#ifndef SKALD_TESTS_WEIGHTS_LOAD_TENSORS_H_
#define SKALD_TESTS_WEIGHTS_LOAD_TENSORS_H_

#include <string>
#include <vector>

#include "skald/model/load.h"
#include "tests/support/safetensors_writer.h"

namespace skald::testing {

template <ModelConfig C>
Result<ModelWeights> LoadTensors(const std::vector<NewTensor>& tensors, const LoadOptions& options = {}) {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
  Result<ModelWeights> weights = LoadWeights<C>(folder.path(), options);
  if (!weights) {  // without the folder, whose name is random
    std::string& message = weights.error().message;
    const std::string prefix = (folder.path() / "model.safetensors: ").string();
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
  }
  return weights;
}

// Returns the error message of loading these tensors, or "accepted".
template <ModelConfig C>
std::string ErrorOf(const std::vector<NewTensor>& tensors) {
  const Result<ModelWeights> weights = LoadTensors<C>(tensors);
  return weights ? "accepted" : weights.error().message;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_WEIGHTS_LOAD_TENSORS_H_
