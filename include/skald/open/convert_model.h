// SPDX-License-Identifier: Apache-2.0
//
// From a model on disk to the draft of a GGUF file that holds all of it: weights, metadata, tokenizer, chat template.

#ifndef SKALD_OPEN_CONVERT_MODEL_H_
#define SKALD_OPEN_CONVERT_MODEL_H_

#include "skald/base/result.h"
#include "skald/open/model_info.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// Returns the draft of a GGUF file for a model in a folder as Hugging Face publishes it, or a copy of a GGUF file.
/// Tensors keep the types that they have; a model without a tokenizer gets none. The draft
/// names what has no place in such a file (GgufDraft::left_out). `info` must outlive the draft. Errors: those of
/// DescribeForGguf, DraftParameters and GgufTokenizerEntries; kUnsupported for a packed file, whose matrices are in
/// another order, and for layers after a model that llama.cpp has no place for.
Result<GgufDraft> DraftOfModel(const ModelInfo& info);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/convert_model.h"
#endif

#endif  // SKALD_OPEN_CONVERT_MODEL_H_
