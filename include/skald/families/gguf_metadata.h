// SPDX-License-Identifier: Apache-2.0
//
// Says in the metadata of a GGUF file what a model is: the inverse of gguf_config.h, and held to it, as the metadata
// are read back and compared with the model before they are returned.

#ifndef SKALD_FAMILIES_GGUF_METADATA_H_
#define SKALD_FAMILIES_GGUF_METADATA_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// The metadata of a GGUF file of a model, and the names of its tensors.
struct GgufDescription {
  std::string architecture;        ///< its "general.architecture"
  std::string model_type;          ///< of the family that its reader will find; another one's if that computes the same
  std::vector<GgufEntry> entries;  ///< that one, and those whose names begin with it
  std::vector<Renaming> renamings;   ///< those of `names`
  TensorNames names;                 ///< of the tensors; valid as long as this
  std::vector<DraftTensor> tensors;  ///< that hold what no entry can say: divisors of RoPE's frequencies
  bool with_unused = false;          ///< as DraftParameters takes it
  /// Changes the draft of all of it and of all parameters to what files of the architecture have; null: it is the same.
  std::function<void(GgufDraft&)> change_draft = {};
};

/// Returns the description of a model of a family, by the model_type of its config.json, in one of the architectures
/// that llama.cpp has (https://github.com/ggml-org/llama.cpp, conversion/). `context` is how many tokens a text may
/// have. Errors: kUnsupported for a model that such metadata do not describe.
Result<GgufDescription> DescribeForGguf(const ModelSpec& spec, std::string_view model_type, uint32_t context);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/gguf_metadata.h"
#endif

#endif  // SKALD_FAMILIES_GGUF_METADATA_H_
