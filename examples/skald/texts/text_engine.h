// SPDX-License-Identifier: Apache-2.0
//
// TextEngine: an engine for texts whose requests are all known at the start.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_TEXT_ENGINE_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_TEXT_ENGINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "command_line/options.h"
#include "conversation/program_model.h"
#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/engine.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/request.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::program {

class TextEngine {
 public:
  // `model`, `tokenizer` and `drafter`, both of which may be null, must outlive this. Errors: those of CreatePool,
  // CreateWorkspace and Engine::Create.
  static Result<std::unique_ptr<TextEngine>> Create(const ProgramModel& model, const RuntimeConfig& runtime,
                                                    const WorkspaceOptions& workspace, const Tokenizer* tokenizer,
                                                    Drafter* drafter = nullptr);

  // Tokens that a text may have, prompt and answer.
  uint32_t capacity() const { return engine_->capacity(); }

  EngineStats stats() const { return engine_->stats(); }

  // Computes all requests, and calls `take` with each event, whose request is an index of `requests`, until it returns
  // false. An interrupt, too, cancels what is left. Returns whether all came to their ends. Errors: a request that
  // cannot be; those of Engine::Step.
  Result<bool> Run(std::vector<Request> requests, const std::function<bool(const Event&)>& take);

 private:
  TextEngine(Workspace workspace) : workspace_(std::move(workspace)) {}

  Workspace workspace_;
  std::unique_ptr<Engine> engine_;  // refers to the workspace
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_TEXT_ENGINE_H_
