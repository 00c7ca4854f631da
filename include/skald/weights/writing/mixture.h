// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of types: which type each tensor of a quantised GGUF file gets, by its part in the model. Names and choices
// are those of llama.cpp's quantize tool (https://github.com/ggml-org/llama.cpp, src/llama-quant.cpp), without those
// that need an importance matrix.

#ifndef SKALD_WEIGHTS_WRITING_MIXTURE_H_
#define SKALD_WEIGHTS_WRITING_MIXTURE_H_

#include <string>
#include <string_view>

#include "skald/base/result.h"
#include "skald/weights/files/gguf_types.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// Choices beside a mixture. Types are of kGgufTypes.
struct MixtureOptions {
  bool pure = false;                 ///< one type for all matrices
  const GgufType* output = nullptr;  ///< of the output head, or the embeddings that are it; null: as the mixture says
  const GgufType* embeddings = nullptr;  ///< of embeddings that are not the head; null: as the mixture says
};

/// The names of all mixtures, from the least to the most bits, with commas between them.
std::string MixtureNames();

/// Chooses the types of the draft's tensors, and notes the mixture in its metadata. Norms, biases and small matrices
/// keep their type; a matrix whose rows are no multiple of its type's block gets the nearest type that they
/// fit. Errors: kInvalidArgument for an unknown name.
Result<void> ChooseTypes(std::string_view mixture, const MixtureOptions& options, GgufDraft& draft);

/// Returns the type of that name, upper or lower case, or null.
const GgufType* FindGgufTypeByName(std::string_view name);

namespace internal {

/// Whether a tensor is a matrix that is multiplied, but for small ones whose errors would be felt: routers,
/// convolutions, decays.
bool MayBeQuantized(const DraftTensor& tensor);

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/mixture.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_MIXTURE_H_
