// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/heads/published_head.h.

#ifndef SKALD_MODEL_HEADS_DETAIL_PUBLISHED_HEAD_H_
#define SKALD_MODEL_HEADS_DETAIL_PUBLISHED_HEAD_H_

#include "skald/model/heads/published_head.h"

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/eagle_head.h"

namespace skald {

SKALD_INLINE const char* PublishedHeadAt(const std::filesystem::path& path) {
  if (HasEagleHead(path)) return "a head of EAGLE-3";
  return HasAssistantHead(path) ? "a drafter of Gemma 4" : nullptr;
}

SKALD_INLINE Result<DraftHead> LoadPublishedHead(const std::filesystem::path& path, const AnyModel& model,
                                                 const LoadOptions& options) {
  if (HasEagleHead(path)) return LoadEagleHead(path, model, options);
  if (HasAssistantHead(path)) return LoadAssistantHead(path, model, options);
  return Fail(ErrorCode::kNotFound, Concat({PathText(path), ": expected a head of EAGLE-3 or a drafter of Gemma 4"}));
}

}  // namespace skald

#endif  // SKALD_MODEL_HEADS_DETAIL_PUBLISHED_HEAD_H_
