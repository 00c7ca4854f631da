// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/open_model.h.

#ifndef SKALD_OPEN_DETAIL_OPEN_MODEL_H_
#define SKALD_OPEN_DETAIL_OPEN_MODEL_H_

#include "skald/open/open_model.h"

#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/load.h"

namespace skald {

SKALD_INLINE Result<LanguageModel> OpenModel(const std::filesystem::path& path, const OpenOptions& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(path));
  return OpenModel(info, options);
}

SKALD_INLINE Result<LanguageModel> OpenModel(const ModelInfo& info, const OpenOptions& options) {
  return NoThrow(PathText(info.model.path()), [&]() -> Result<LanguageModel> {
    if (SeesBothWays(info.spec)) {
      return Fail(ErrorCode::kUnsupported, PathText(info.model.path()) + ": is an encoder, which OpenEncoder opens");
    }
    SKALD_ASSIGN(auto text, OpenModelText(info, options.text));
    LoadOptions load = options.load;
    load.dtype = options.weight_type.value_or(info.weight_type);
    SKALD_ASSIGN(auto weights, LoadWeights(info.model, info.spec, info.name, load));
    return LanguageModel{info, std::move(text), AnyModel(info.name, std::move(weights), StandardLayers::Functions())};
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_OPEN_MODEL_H_
