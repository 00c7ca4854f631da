// SPDX-License-Identifier: Apache-2.0

#include "engine/engine_parts.h"

#include <nanobind/stl/filesystem.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include "engine/engine_callbacks.h"
#include "skald/cache/create.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/open/conversation.h"
#include "values/errors.h"

namespace skald::python {

namespace {

// How often this process came about by fork(): threads that were started before are not in it.
std::atomic<uint32_t> forks = 0;

void CountForks() {
  const nb::object os = nb::module_::import_("os");
  if (!nb::hasattr(os, "register_at_fork")) return;
  os.attr("register_at_fork")("after_in_child"_a = nb::cpp_function([] { ++forks; }));
}

Workspace MakeWorkspace(std::optional<uint32_t> threads) {
  WorkspaceOptions options;
  if (threads) options.threads = *threads;
  return Take(CreateWorkspace(options));
}

}  // namespace

EngineParts::EngineParts(const AnyOpened& opened, EngineSettings settings) : forks_before(forks) {
  RuntimeConfig runtime;
  if (const auto* whole = std::get_if<std::shared_ptr<LanguageModel>>(&opened)) {
    model = {*whole, &(*whole)->model};
    tokenizer = (*whole)->text.tokenizer;
    runtime = ConversationRuntime((*whole)->info);
  } else {
    model = std::get<std::shared_ptr<AnyModel>>(opened);
  }
  pool = settings.pool ? std::move(settings.pool) : Take(CreateBlockPool(model->layout(), runtime));
  adapters = std::move(settings.adapters);
  prompts = std::move(settings.prompts);
  swap = std::move(settings.swap);
  workspace.emplace(MakeWorkspace(settings.threads));
  filter_workers = std::make_unique<FilterWorkers>();
  if (settings.drafter) SetDrafter(*settings.drafter, settings.threads);
  EngineOptions options;
  options.max_running = settings.max_running;
  options.step_tokens = settings.step_tokens;
  options.step_seconds = settings.step_seconds;
  options.tokenizer = tokenizer ? &*tokenizer : nullptr;
  for (const auto& adapter : adapters) options.adapters.push_back(adapter.get());
  for (const auto& kept : prompts) options.prompts.push_back(kept->value.get());
  options.filter_workers = filter_workers.get();
  options.drafter = drafter.get();
  options.max_drafts = settings.max_drafts;
  if (swap != nullptr) options.swap = swap->ref();
  if (settings.identity) options.identity = *std::move(settings.identity);
  if (settings.policy) {
    if (const auto* known = std::get_if<Policy>(&*settings.policy))
      options.policy.policy = *known;
    else
      options.policy.own = PolicyOf(std::get<nb::callable>(*settings.policy));
  }
  engine = Take(Engine::Create(*model, pool, *workspace, std::move(options)));
}

EngineParts::~EngineParts() {
  if (!is_elsewhere()) return;
  static_cast<void>(engine.release());  // threads that are not here cannot be waited for
  static_cast<void>(filter_workers.release());
}

bool EngineParts::is_elsewhere() const { return forks_before != forks; }

void EngineParts::CheckHere() const {
  if (!is_elsewhere()) return;
  Raise(ErrorCode::kFailedPrecondition, "the engine's thread is in the process that called fork(); make one here");
}

void EngineParts::SetDrafter(const AnyDrafter& given, std::optional<uint32_t> threads) {
  const auto pool_for = [&](const AnyModel& other) {
    return Take(CreateBlockPool(other.layout(), RuntimeConfig(pool->runtime())));
  };
  if (const auto* other = std::get_if<std::shared_ptr<AnyModel>>(&given)) {
    draft_model = *other;
    draft_workspace.emplace(MakeWorkspace(threads));
    drafter = std::make_shared<DraftModel>(*draft_model, pool_for(*draft_model), *draft_workspace);
  } else if (const auto* head = std::get_if<std::shared_ptr<Head>>(&given)) {
    draft_head = *head;
    draft_workspace.emplace(MakeWorkspace(threads));
    drafter = Take(NewHeadDrafter(draft_head->value, RuntimeConfig(pool->runtime()), *draft_workspace));
  } else if (const auto* lookup = std::get_if<PromptLookupOptions>(&given)) {
    drafter = std::make_shared<PromptLookup>(*lookup);
  } else {
    drafter = DrafterOf(std::get<nb::callable>(given));
  }
}

void BindEngineParts(nb::module_& m) {
  CountForks();
  nb::enum_<Policy>(m, "Policy", "Which request goes first.")
      .value("FIRST_COME", Policy::kFirstCome, "the one that came first")
      .value("PRIORITY", Policy::kPriority, Doc("Policy::kPriority"))
      .value("FAIR_SHARE", Policy::kFairShare, "the tenant that was served least")
      .value("SHORTEST_FIRST", Policy::kShortestFirst, Doc("Policy::kShortestFirst"));
  nb::class_<PromptLookupOptions>(m, "PromptLookup", "A drafter: what followed the latest tokens earlier in the text.")
      .def(
          "__init__",
          [](PromptLookupOptions* self, uint32_t longest, uint32_t shortest) {
            new (self) PromptLookupOptions{longest, shortest};
          },
          "longest"_a = PromptLookupOptions().longest, "shortest"_a = PromptLookupOptions().shortest);
  nb::class_<Head>(m, "DraftHead", "A head that guesses tokens from what a model computes, for `Engine(drafter=...)`.");
  nb::borrow<nb::class_<LanguageModel>>(m.attr("LanguageModel"))
      .def(
          "draft_head",
          [](const std::shared_ptr<LanguageModel>& self, const std::optional<std::filesystem::path>& eagle,
             const std::optional<std::filesystem::path>& assistant) {
            nb::gil_scoped_release release;
            if (eagle && assistant)
              Raise(ErrorCode::kInvalidArgument, "draft_head: eagle and assistant are both given");
            LoadOptions options;
            options.dtype = self->info.weight_type;
            auto head = Take(eagle       ? LoadEagleHead(*eagle, self->model, options)
                             : assistant ? LoadAssistantHead(*assistant, self->model, options)
                                         : LoadPredictionHead(self->info.model, self->model, options));
            return std::shared_ptr<Head>(new Head{{self, &self->model}, std::move(head)});
          },
          "eagle"_a = nb::none(), nb::kw_only(), "assistant"_a = nb::none(),
          "The checkpoint's own head for further tokens, the EAGLE-3 head at a path, or the drafter of Gemma 4 "
          "(gemma4-assistant) at a path.");
}

}  // namespace skald::python
