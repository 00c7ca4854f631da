// SPDX-License-Identifier: Apache-2.0

#include "texts/text_task.h"

#include <utility>

#include "model_files/model_text.h"
#include "skald/open/chat.h"
#include "skald/open/generation_config.h"
#include "texts/prompts.h"

namespace skald::program {

Result<TextTask> OpenTextTask(const Options& options) {
  SKALD_ASSIGN(auto info, IdentifyModel(options.model));
  TextTask task{.info = std::move(info)};
  const auto advice = OpenGenerationConfig(task.info.model);
  if (!advice) return Failure(advice.error());
  SKALD_ASSIGN(auto sampler, ChooseSampler(options, task.info, AdvisedSettings(*advice)));
  task.sampler = std::move(sampler);
  SKALD_ASSIGN(const auto chat_template, ChooseMessageTemplate(options));
  task.echo = options.echo && chat_template.parts().only_continues;
  if (!options.token_ids.empty()) {
    task.ids = {options.token_ids};
    return task;
  }
  SKALD_ASSIGN(auto tokenizer, LoadTokenizer(options, task.info));
  task.tokenizer = std::move(tokenizer);
  SKALD_ASSIGN(auto stops, StopIds(*task.tokenizer, chat_template, *advice));
  task.stop_ids = std::move(stops);
  if (options.texts.perplexity) return task;
  SKALD_ASSIGN(auto prompts, ReadPrompts(options));
  task.prompts = std::move(prompts);
  for (const std::string& text : task.prompts) {
    const Chat chat(std::vector<Message>{{Role::kUser, text}});
    SKALD_ASSIGN(auto ids, EncodeChat(*task.tokenizer, chat_template, chat));
    task.ids.push_back(std::move(ids));
  }
  return task;
}

}  // namespace skald::program
