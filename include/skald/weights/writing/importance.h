// SPDX-License-Identifier: Apache-2.0
//
// Importance matrices: how large the inputs of each column of a matrix are when a model reads a text, so that
// quantising spares the columns that matter. Files are those of llama.cpp's llama-imatrix
// (https://github.com/ggml-org/llama.cpp, tools/imatrix), its older form read only; open/measure_importance.h measures
// one.

#ifndef SKALD_WEIGHTS_WRITING_IMPORTANCE_H_
#define SKALD_WEIGHTS_WRITING_IMPORTANCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// The inputs of one tensor: of a matrix, or of a stack of them that have different inputs.
struct TensorImportance {
  std::vector<float> sums;    ///< [matrices, cols], of squares over all rows of inputs
  std::vector<float> counts;  ///< [matrices], of rows of inputs, or one number for all
};

/// A whole model's.
struct ImportanceMatrix {
  std::map<std::string, TensorImportance, std::less<>> tensors;  ///< by the names that GGUF files have
  std::vector<std::string> texts;                                ///< names of what was read
  uint32_t chunks = 0;                                           ///< pieces of text that were read
  uint32_t chunk_tokens = 0;                                     ///< tokens of each; 0: unknown
};

/// Reads a file of either form. Errors: those of GgufFile::Open; kDataLoss for a file of neither form, or with sums
/// that are negative, not finite or of another number than the counts say. They name the file.
Result<ImportanceMatrix> ReadImportance(const std::filesystem::path& path);

/// Writes a file of the newer form, whole or not at all. Errors: those of WriteGguf.
Result<void> WriteImportance(const std::filesystem::path& path, const ImportanceMatrix& matrix, ExecutorRef executor);

/// Has tensors of `draft` that will be quantised weighted by their columns' importance: the mean square of inputs. A
/// column that the text used less than a ten-thousandth of the mean counts as that much; all columns of a matrix that
/// it never used count alike. Notes the texts in the draft's metadata. Returns the names of matrices that will be
/// quantised and that `matrix` does not have. Errors: kInvalidArgument, naming a tensor that has other columns.
Result<std::vector<std::string>> WeighByImportance(const ImportanceMatrix& matrix, GgufDraft& draft);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/importance.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_IMPORTANCE_H_
