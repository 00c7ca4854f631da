// SPDX-License-Identifier: Apache-2.0
//
// An engine as Python holds it, with all that it refers to.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_PARTS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_PARTS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "bind.h"
#include "skald/engine/engine.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/filter_workers.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/model/heads/draft_head.h"
#include "skald/open/open_model.h"
#include "state/stores.h"

namespace skald::python {

/// A head that guesses, and the model whose rows it reads.
struct Head {
  std::shared_ptr<AnyModel> model;
  DraftHead value;
};

using AnyOpened = std::variant<std::shared_ptr<LanguageModel>, std::shared_ptr<AnyModel>>;
using AnyDrafter = std::variant<std::shared_ptr<AnyModel>, std::shared_ptr<Head>, PromptLookupOptions, nb::callable>;
using AnyPolicy = std::variant<Policy, nb::callable>;

/// The choices of an engine's maker.
struct EngineSettings {
  std::shared_ptr<BlockPool> pool;  ///< null: one is made
  std::optional<uint32_t> threads;
  uint32_t max_running, step_tokens;
  std::optional<double> step_seconds;
  std::optional<AnyPolicy> policy;
  std::optional<AnyDrafter> drafter;
  uint32_t max_drafts;
  std::vector<std::shared_ptr<Adapter>> adapters;
  std::vector<std::shared_ptr<Prompts>> prompts;
  std::shared_ptr<Store> swap;  ///< null: none
  std::optional<Identity> identity;
};

/// An engine and what it refers to. After fork() it is in the process that called it, and is only left alone here.
struct EngineParts {
  EngineParts(const AnyOpened& opened, EngineSettings settings);
  ~EngineParts();
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;

  /// After fork() the threads are in the process that called it.
  bool is_elsewhere() const;
  /// Throws for a child of fork().
  void CheckHere() const;

  const uint32_t forks_before;
  std::shared_ptr<AnyModel> model;
  std::optional<Tokenizer> tokenizer;
  std::shared_ptr<BlockPool> pool;
  std::vector<std::shared_ptr<Adapter>> adapters;
  std::vector<std::shared_ptr<Prompts>> prompts;
  std::shared_ptr<Store> swap;
  std::shared_ptr<Head> draft_head;
  std::shared_ptr<AnyModel> draft_model;
  std::optional<Workspace> draft_workspace;
  std::shared_ptr<Drafter> drafter;
  std::optional<Workspace> workspace;
  std::unique_ptr<FilterWorkers> filter_workers;
  std::unique_ptr<Engine> engine;

 private:
  void SetDrafter(const AnyDrafter& given, std::optional<uint32_t> threads);
};

/// Binds the constructor of an engine: `Make` turns EngineParts into the object of Python.
template <class Make, class Class>
void DefEngine(Class& bound) {
  bound.def(
      nb::new_([](const AnyOpened& model, std::shared_ptr<BlockPool> pool, std::optional<uint32_t> threads,
                  uint32_t max_running, uint32_t step_tokens, std::optional<double> step_seconds,
                  std::optional<AnyPolicy> policy, std::optional<AnyDrafter> drafter, uint32_t max_drafts,
                  std::vector<std::shared_ptr<Adapter>> adapters, std::vector<std::shared_ptr<Prompts>> prompts,
                  std::shared_ptr<Store> swap, std::optional<Identity> identity) {
        return Make()(std::make_unique<EngineParts>(
            model, EngineSettings{std::move(pool), threads, max_running, step_tokens, step_seconds, std::move(policy),
                                  std::move(drafter), max_drafts, std::move(adapters), std::move(prompts),
                                  std::move(swap), std::move(identity)}));
      }),
      "model"_a, nb::kw_only(), "pool"_a = nb::none(), "threads"_a = nb::none(),
      "max_running"_a = EngineOptions().max_running, "step_tokens"_a = EngineOptions().step_tokens,
      "step_seconds"_a = nb::none(), "policy"_a = nb::none(), "drafter"_a = nb::none(),
      "max_drafts"_a = EngineOptions().max_drafts, "adapters"_a = std::vector<std::shared_ptr<Adapter>>(),
      "prompts"_a = std::vector<std::shared_ptr<Prompts>>(), "swap"_a = nb::none(), "identity"_a = nb::none(),
      "`policy` is a Policy, or a function of a Standing that returns a number, lower first, or an Urgency. `drafter` "
      "is a model of the same vocabulary, a DraftHead of the model, a PromptLookup, or a function of a list of "
      "DraftTask that returns a list of ids for each. `swap` is a store where conversations wait that had to give "
      "their memory away; `identity` then says whose state that is.");
}

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_PARTS_H_
