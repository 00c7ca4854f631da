// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/model_file.h.

#ifndef SKALD_OPEN_DETAIL_MODEL_FILE_H_
#define SKALD_OPEN_DETAIL_MODEL_FILE_H_

#include "skald/open/model_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/templates/published.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_json.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald {

namespace internal {

// Returns the metadata of a GGUF file in the form of the file of a folder that says the same.
inline Result<std::string> FileFromGguf(const GgufMetadata& metadata, std::string_view name) {
  if (const auto* const content = metadata.Get<std::string>(Concat({kFileEntry, name}))) return *content;
  if (name == "tokenizer_config.json") {
    if (auto config = TokenizerConfigFromGguf(metadata)) return *std::move(config);
  }
  if (name == "config.json") {
    const auto* const architecture = metadata.Get<std::string>("general.architecture");
    const std::string context = (architecture == nullptr ? "" : *architecture) + ".context_length";
    if (architecture != nullptr && metadata.Number(context)) {
      return nlohmann::json{{"max_position_embeddings", JsonOf(metadata.values.find(context)->second)}}.dump();
    }
  }
  return Fail(ErrorCode::kNotFound, "its metadata have nothing of a " + std::string(name));
}

}  // namespace internal

SKALD_INLINE Result<std::string> ReadModelFile(const OpenedModel& model, std::string_view name) {
  return NoThrow(PathText(model.path()), [&]() -> Result<std::string> {
    if (model.packed() != nullptr) {
      SKALD_ASSIGN(const auto content, model.packed()->Attachment(name));
      return std::string(content);
    }
    if (model.gguf() == nullptr) return ReadSmallFile(model.folder() / name, kMaxModelFile);
    auto content = internal::FileFromGguf(model.gguf()->metadata(), name);
    if (!content) return Annotate(PathText(model.path()), content);
    return content;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_MODEL_FILE_H_
