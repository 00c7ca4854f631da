// SPDX-License-Identifier: Apache-2.0
//
// OpenModel: a model on disk, ready for chats, in one call.

#ifndef SKALD_OPEN_OPEN_MODEL_H_
#define SKALD_OPEN_OPEN_MODEL_H_

#include <filesystem>
#include <optional>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/open/model_info.h"
#include "skald/open/model_text.h"
#include "skald/weights/load_options.h"

namespace skald {

/// How a model is opened.
struct OpenOptions {
  std::optional<DType> weight_type = {};  ///< to load weights as; unset: ModelInfo::weight_type
  LoadOptions load = {};                  ///< of the weights; `weight_type` is used in place of its dtype
  TextOptions text = {};                  ///< in place of what the files say
};

/// All that a model on disk is. Holds no state of any conversation: safe for concurrent calls of const functions. The
/// context that the model learned from is info.trained_context, in tokens.
struct LanguageModel {
  ModelInfo info;  ///< what it is
  ModelText text;  ///< how it reads and writes text
  AnyModel model;  ///< the weights, and Forward
};

/// Opens the model at `path`: a folder of Hugging Face, a GGUF file or a packed file. Each file is opened once, text
/// before weights, so that a model without a usable tokenizer is refused at once; LoadAnyModel opens such a model for
/// token ids alone. Errors, which name the path: those of IdentifyModel, OpenModelText and LoadAnyModel, and
/// kUnsupported for an encoder.
Result<LanguageModel> OpenModel(const std::filesystem::path& path, const OpenOptions& options = {});

/// The same of a model that IdentifyModel has opened.
Result<LanguageModel> OpenModel(const ModelInfo& info, const OpenOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/open_model.h"
#endif

#endif  // SKALD_OPEN_OPEN_MODEL_H_
