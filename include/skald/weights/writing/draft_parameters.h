// SPDX-License-Identifier: Apache-2.0
//
// From the parameters of a model to the tensors of a GGUF file: names, stacks of experts, the order of rows that RoPE
// turns, and values that such files hold converted. The inverse of what loading does (tensor_finder.h).

#ifndef SKALD_WEIGHTS_WRITING_DRAFT_PARAMETERS_H_
#define SKALD_WEIGHTS_WRITING_DRAFT_PARAMETERS_H_

#include <memory>
#include <string>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/parameters.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// The parameters of a model as tensors of a file, and what the checkpoint has beside them.
struct DraftedParameters {
  std::vector<DraftTensor> tensors;   ///< which keep the checkpoint open
  std::vector<std::string> left_out;  ///< the checkpoint's names of those that are in none, such as heads and towers
};

/// Returns the parameters of `list` as tensors by the names `target`, of the types that they have in `checkpoint`,
/// whose names are `source`; vectors, and matrices that no mixture quantises, as F32. With `with_unused` those that the
/// checkpoint has and no layer reads are among them. Errors: those of loading; kUnsupported for a parameter that such
/// files hold in a way that is not written yet. They name the tensor.
Result<DraftedParameters> DraftParameters(std::shared_ptr<const Checkpoint> checkpoint, const ParameterList& list,
                                          const TensorNames& source, const TensorNames& target,
                                          bool with_unused = false);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/draft_parameters.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_DRAFT_PARAMETERS_H_
