// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/pack_model.h.

#ifndef SKALD_OPEN_DETAIL_PACK_MODEL_H_
#define SKALD_OPEN_DETAIL_PACK_MODEL_H_

#include "skald/open/pack_model.h"

#include <string>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/families/spec_json.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/open/detail/pack_encoder.h"
#include "skald/open/model_file.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/packed_files/packed_writer.h"

namespace skald {

namespace internal {

inline bool MayLack(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kUnsupported;
}

// Attaches the tokenizer, and those of the small files that there are.
inline Result<void> AttachFiles(const OpenedModel& model, PackedOrigin& origin) {
  if (const auto tokenizer = Tokenizer::Load(model)) {
    SKALD_ASSIGN(auto bytes, tokenizer->ToBytes());
    origin.attachments.emplace_back(kPackedTokenizer, std::move(bytes));
  } else if (!MayLack(tokenizer.error())) {
    return Failure(tokenizer.error());
  }
  for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json", "chat_template.jinja",
                           "chat_template.json"}) {
    auto content = ReadModelFile(model, name);
    if (content) {
      origin.attachments.emplace_back(name, std::move(*content));
    } else if (!MayLack(content.error())) {
      return Failure(content.error());
    }
  }
  return {};
}

}  // namespace internal

SKALD_INLINE Result<void> PackModel(const ModelInfo& info, const LoadOptions& options,
                                    const std::filesystem::path& output) {
  return NoThrow(PathText(info.model.path()), [&]() -> Result<void> {
    SKALD_ASSIGN(const auto source, info.model.DescribeSource());
    SKALD_ASSIGN(auto spec, SpecToJson(info.spec));
    PackedOrigin origin{info.name, Fingerprint(info.spec), options.dtype, source, {}};
    origin.attachments.emplace_back(kSpecAttachment, std::move(spec));
    SKALD_TRY(internal::AttachFiles(info.model, origin));
    if (auto attached = internal::AttachEncoder(info, origin); !attached) {
      return Annotate(PathText(info.model.path()), attached);
    }
    SKALD_ASSIGN(const auto weights, LoadWeights(info.model, info.spec, info.name, options));
    return WritePackedFile(output, ParametersOf(weights), origin);
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_PACK_MODEL_H_
