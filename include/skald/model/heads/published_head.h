// SPDX-License-Identifier: Apache-2.0
//
// Heads that are published by themselves, whatever kind they are of.

#ifndef SKALD_MODEL_HEADS_PUBLISHED_HEAD_H_
#define SKALD_MODEL_HEADS_PUBLISHED_HEAD_H_

#include <filesystem>

#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/heads/draft_head.h"
#include "skald/weights/load_options.h"

namespace skald {

/// Says what head `path` has, "a head of EAGLE-3" say; null: none, or it cannot be read.
const char* PublishedHeadAt(const std::filesystem::path& path);

/// Loads the head at `path`: a folder, its safetensors file or a GGUF file. As LoadEagleHead and LoadAssistantHead;
/// kNotFound if there is neither.
Result<DraftHead> LoadPublishedHead(const std::filesystem::path& path, const AnyModel& model,
                                    const LoadOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/heads/detail/published_head.h"
#endif

#endif  // SKALD_MODEL_HEADS_PUBLISHED_HEAD_H_
