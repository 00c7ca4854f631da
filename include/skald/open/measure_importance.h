// SPDX-License-Identifier: Apache-2.0
//
// Measures an importance matrix: how large the inputs of a model's matrices are while it reads a text.

#ifndef SKALD_OPEN_MEASURE_IMPORTANCE_H_
#define SKALD_OPEN_MEASURE_IMPORTANCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/workspace.h"
#include "skald/open/model_info.h"
#include "skald/weights/writing/importance.h"

namespace skald {

/// How a text is read.
struct ImportanceOptions {
  uint32_t chunk_tokens = 512;      ///< tokens of each piece, which is read by itself; what is left over is not read
  std::optional<int32_t> bos = {};  ///< in place of the first token of each piece
  /// Called after each piece with how many were read, of all; false: stop here, and return what was read.
  std::function<bool(size_t done, size_t all)> progress = {};
};

/// Returns the importance of the columns of the matrices in `model`'s layers, by the names that a GGUF file of it has.
/// `model` has the weights of `info`; the result does not depend on threads. Errors: kInvalidArgument for a text that
/// is shorter than one piece, kUnsupported for a model that such files cannot hold (DescribeForGguf); those of Forward.
Result<ImportanceMatrix> MeasureImportance(const ModelInfo& info, const AnyModel& model,
                                           std::span<const int32_t> tokens, Workspace& workspace,
                                           const ImportanceOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/measure_importance.h"
#endif

#endif  // SKALD_OPEN_MEASURE_IMPORTANCE_H_
