// SPDX-License-Identifier: Apache-2.0
//
// TextTask: the prompts of 'skald generate', and all that the model and the options say of the texts that follow them.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_TEXT_TASK_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_TEXT_TASK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options.h"
#include "skald/base/result.h"
#include "skald/open/model_info.h"
#include "skald/sampling/settings.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::program {

struct TextTask {
  ModelInfo info;
  SamplerSettings sampler = {};
  std::optional<Tokenizer> tokenizer = {};     // nothing for prompts that are ids
  std::vector<std::string> prompts = {};       // texts; none where they are ids
  std::vector<std::vector<int32_t>> ids = {};  // of each prompt; none to measure a text alone
  std::vector<int32_t> stop_ids = {};          // end a text, and are not part of it
  bool echo = false;                           // prompts are printed before the texts
};

// Errors: those of IdentifyModel, LoadTokenizer and ReadPrompts; settings that cannot be.
Result<TextTask> OpenTextTask(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_TEXT_TASK_H_
