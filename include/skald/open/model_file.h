// SPDX-License-Identifier: Apache-2.0
//
// The small files that go with a model's weights, whatever holds them.

#ifndef SKALD_OPEN_MODEL_FILE_H_
#define SKALD_OPEN_MODEL_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "skald/base/result.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// Most bytes of such a file. The largest published are tokenizer.json, tens of megabytes.
inline constexpr uint64_t kMaxModelFile = uint64_t{256} << 20;

/// Returns the content of the file that a folder of Hugging Face would have under `name`: of a folder that file, of a
/// packed file what is attached under the name. The metadata of a GGUF file are told as tokenizer_config.json (the chat
/// template) and config.json (the context that the model learned from); files that Skald wrote have further ones. Safe
/// for concurrent calls. Errors, which name the file: kNotFound if there is no such file, those of reading it,
/// kDataLoss for a damaged attachment.
Result<std::string> ReadModelFile(const OpenedModel& model, std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/model_file.h"
#endif

#endif  // SKALD_OPEN_MODEL_FILE_H_
