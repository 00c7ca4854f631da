// SPDX-License-Identifier: Apache-2.0

#include "texts/text_engine.h"

#include <map>
#include <utility>

#include "terminal/interrupt.h"

namespace skald::program {

Result<std::unique_ptr<TextEngine>> TextEngine::Create(const ProgramModel& model, const RuntimeConfig& runtime,
                                                       const WorkspaceOptions& workspace, const Tokenizer* tokenizer,
                                                       Drafter* drafter) {
  SKALD_ASSIGN(auto pool, model.CreatePool(runtime));
  SKALD_ASSIGN(auto created, CreateWorkspace(workspace));
  std::unique_ptr<TextEngine> texts(new TextEngine(std::move(created)));
  EngineOptions options;
  options.tokenizer = tokenizer;
  options.drafter = drafter;
  if (model.chosen_adapter() != nullptr) options.adapters = {model.chosen_adapter()};
  SKALD_ASSIGN(auto engine, Engine::Create(model, std::move(pool), texts->workspace_, std::move(options)));
  texts->engine_ = std::move(engine);
  return texts;
}

Result<bool> TextEngine::Run(std::vector<Request> requests, const std::function<bool(const Event&)>& take) {
  std::map<RequestId, size_t> numbers;
  for (Request& request : requests) {
    SKALD_ASSIGN(const auto id, engine_->Submit(std::move(request)));
    numbers.emplace(id, numbers.size());
  }
  bool goes_on = true;
  while (engine_->has_work()) {
    SKALD_ASSIGN(auto report, engine_->Step());
    for (Event& event : report.events) {
      event.request = numbers.at(event.request);
      goes_on = take(event) && goes_on;
    }
    if (!goes_on || TakeInterrupt()) {
      goes_on = false;
      for (const auto& [id, number] : numbers) engine_->Cancel(id);
    }
  }
  return goes_on;
}

}  // namespace skald::program
