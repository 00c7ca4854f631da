// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "bind.h"
#include "engine_callbacks.h"
#include "errors.h"
#include "held.h"
#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/open/conversation.h"
#include "skald/open/open_model.h"
#include "stores.h"

namespace skald::python {

namespace {

using Milliseconds = std::chrono::milliseconds;

// How often this process came about by fork(): threads that were started before are not in it.
std::atomic<uint32_t> forks = 0;

void CountForks() {
  const nb::object os = nb::module_::import_("os");
  if (!nb::hasattr(os, "register_at_fork")) return;
  os.attr("register_at_fork")("after_in_child"_a = nb::cpp_function([] { ++forks; }));
}

// An engine with its loop, and all that it refers to. Everything that may wait for the loop's thread, which may wait
// for the GIL, gives the GIL up before.
struct Host {
  ~Host() {
    if (!loop) return;
    if (is_elsewhere()) {  // threads that are not here cannot be waited for
      static_cast<void>(loop.release());
      static_cast<void>(engine.release());
      static_cast<void>(filter_workers.release());
      return;
    }
    nb::gil_scoped_release release;
    loop.reset();
  }

  // After fork() the threads are in the process that called it.
  bool is_elsewhere() const { return forks_before != forks; }

  // Throws for a child of fork().
  EngineLoop& here() const {
    if (is_elsewhere()) {
      Raise(ErrorCode::kFailedPrecondition, "the engine's thread is in the process that called fork(); make one here");
    }
    return *loop;
  }

  const uint32_t forks_before = forks;

  std::shared_ptr<AnyModel> model;
  std::optional<Tokenizer> tokenizer;
  std::shared_ptr<BlockPool> pool;
  std::vector<std::shared_ptr<Adapter>> adapters;
  std::vector<std::shared_ptr<Prompts>> prompts;
  std::shared_ptr<AnyModel> draft_model;
  std::optional<Workspace> draft_workspace;
  std::shared_ptr<Drafter> drafter;
  std::optional<Workspace> workspace;
  std::unique_ptr<FilterWorkers> filter_workers;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<EngineLoop> loop;
};

// The answer to one request.
struct Ticket {
  std::shared_ptr<Host> host;
  EngineLoop::Ticket ticket;
};

using AnyOpened = std::variant<std::shared_ptr<LanguageModel>, std::shared_ptr<AnyModel>>;
using AnyDrafter = std::variant<std::shared_ptr<AnyModel>, PromptLookupOptions, nb::callable>;

Workspace MakeWorkspace(std::optional<uint32_t> threads) {
  WorkspaceOptions options;
  if (threads) options.threads = *threads;
  return Take(CreateWorkspace(options));
}

void SetDrafter(Host& host, const AnyDrafter& given, std::optional<uint32_t> threads) {
  if (const auto* model = std::get_if<std::shared_ptr<AnyModel>>(&given)) {
    host.draft_model = *model;
    host.draft_workspace.emplace(MakeWorkspace(threads));
    RuntimeConfig runtime = host.pool->runtime();
    host.drafter = std::make_shared<DraftModel>(*host.draft_model, Take(CreateBlockPool((*model)->layout(), runtime)),
                                                *host.draft_workspace);
  } else if (const auto* lookup = std::get_if<PromptLookupOptions>(&given)) {
    host.drafter = std::make_shared<PromptLookup>(*lookup);
  } else {
    host.drafter = DrafterOf(std::get<nb::callable>(given));
  }
}

std::shared_ptr<Host> Start(const AnyOpened& model, std::shared_ptr<BlockPool> pool, std::optional<uint32_t> threads,
                            uint32_t max_running, uint32_t step_tokens, std::optional<nb::callable> policy,
                            const std::optional<AnyDrafter>& drafter, uint32_t max_drafts,
                            std::vector<std::shared_ptr<Adapter>> adapters,
                            std::vector<std::shared_ptr<Prompts>> prompts) {
  auto host = std::make_shared<Host>();
  RuntimeConfig runtime;
  if (const auto* opened = std::get_if<std::shared_ptr<LanguageModel>>(&model)) {
    host->model = {*opened, &(*opened)->model};
    host->tokenizer = (*opened)->text.tokenizer;
    runtime = ConversationRuntime((*opened)->info);
  } else {
    host->model = std::get<std::shared_ptr<AnyModel>>(model);
  }
  host->pool = pool ? std::move(pool) : Take(CreateBlockPool(host->model->layout(), runtime));
  host->adapters = std::move(adapters);
  host->prompts = std::move(prompts);
  host->workspace.emplace(MakeWorkspace(threads));
  host->filter_workers = std::make_unique<FilterWorkers>();
  if (drafter) SetDrafter(*host, *drafter, threads);
  EngineOptions options;
  options.max_running = max_running;
  options.step_tokens = step_tokens;
  options.tokenizer = host->tokenizer ? &*host->tokenizer : nullptr;
  for (const auto& adapter : host->adapters) options.adapters.push_back(adapter.get());
  for (const auto& kept : host->prompts) options.prompts.push_back(kept->value.get());
  options.filter_workers = host->filter_workers.get();
  options.drafter = host->drafter.get();
  options.max_drafts = max_drafts;
  if (policy) options.policy.own = PolicyOf(*policy);
  host->engine = Take(Engine::Create(*host->model, host->pool, *host->workspace, std::move(options)));
  host->loop = std::make_unique<EngineLoop>(*host->engine);
  return host;
}

// The next event, or nothing where none comes in time or all have come. Signals are looked at a few times a second.
std::optional<Event> Next(Ticket& self, std::optional<double> timeout) {
  using Clock = std::chrono::steady_clock;
  self.host->here();
  const auto until = timeout ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(std::clamp(*timeout, 0.0, 1e6)))
                             : Clock::time_point::max();
  while (true) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    std::optional<Event> event;
    {
      nb::gil_scoped_release release;
      event = self.ticket.inbox->Next(std::clamp(left, Milliseconds(0), Milliseconds(100)));
    }
    if (event || self.ticket.inbox->is_finished() || left <= Milliseconds(0)) return event;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
}

std::shared_ptr<Ticket> Submit(const std::shared_ptr<Host>& host, const Request& request,
                               std::optional<nb::callable> on_event) {
  std::function<void()> news;
  if (on_event) {
    news = [held = Hold(*on_event)] {
      nb::gil_scoped_acquire gil;
      try {
        (*held)();
      } catch (nb::python_error& raised) {
        raised.discard_as_unraisable("on_event of skald.Engine.submit");
      }
    };
  }
  EngineLoop& loop = host->here();
  nb::gil_scoped_release release;
  return std::make_shared<Ticket>(Ticket{host, Take(loop.Submit(request, std::move(news)))});
}

}  // namespace

void BindEngine(nb::module_& m) {
  CountForks();
  nb::class_<PromptLookupOptions>(m, "PromptLookup", "A drafter: what followed the latest tokens earlier in the text.")
      .def(
          "__init__",
          [](PromptLookupOptions* self, uint32_t longest, uint32_t shortest) {
            new (self) PromptLookupOptions{longest, shortest};
          },
          "longest"_a = PromptLookupOptions().longest, "shortest"_a = PromptLookupOptions().shortest);
  nb::class_<Ticket>(m, "Ticket", "The answer to one request, event by event, for one reader at a time.")
      .def("next", &Next, "timeout"_a = nb::none(), Doc("Inbox::Next"))
      .def_prop_ro(
          "is_finished",
          [](const Ticket& self) {
            nb::gil_scoped_release release;
            return self.ticket.inbox->is_finished();
          },
          Doc("Inbox::is_finished"))
      .def(
          "cancel",
          [](Ticket& self) {
            EngineLoop& loop = self.host->here();
            nb::gil_scoped_release release;
            Take(loop.Cancel(self.ticket.number));
          },
          Doc("EngineLoop::Cancel"));
  nb::enum_<StopMode>(m, "StopMode", Doc("StopMode"))
      .value("FINISH", StopMode::kFinish, Doc("StopMode::kFinish"))
      .value("CANCEL", StopMode::kCancel, Doc("StopMode::kCancel"));
  nb::class_<Host>(m, "EngineLoop", nb::is_weak_referenceable(),
                   "Many requests on one model, computed in a thread of its own.")
      .def(
          nb::new_(&Start), "model"_a, nb::kw_only(), "pool"_a = nb::none(), "threads"_a = nb::none(),
          "max_running"_a = EngineOptions().max_running, "step_tokens"_a = EngineOptions().step_tokens,
          "policy"_a = nb::none(), "drafter"_a = nb::none(), "max_drafts"_a = EngineOptions().max_drafts,
          "adapters"_a = std::vector<std::shared_ptr<Adapter>>(), "prompts"_a = std::vector<std::shared_ptr<Prompts>>(),
          "`policy` is a function of a Standing that returns a number, lower first, or an Urgency. `drafter` is a "
          "model "
          "of the same vocabulary, a PromptLookup, or a function of a list of DraftTask that returns a list of ids for "
          "each.")
      .def("submit", &Submit, "request"_a, "on_event"_a = nb::none(), Doc("EngineLoop::Submit"))
      .def(
          "check",
          [](const Host& self, const Request& request) {
            nb::gil_scoped_release release;
            Take(self.engine->Check(request));
          },
          "request"_a, Doc("Engine::Check"))
      .def(
          "stop",
          [](Host& self, StopMode mode) {
            EngineLoop& loop = self.here();
            nb::gil_scoped_release release;
            Take(loop.Stop(mode));
          },
          "mode"_a = StopMode::kFinish, Doc("EngineLoop::Stop"))
      .def_prop_ro(
          "stats",
          [](const Host& self) {
            EngineLoop& loop = self.here();
            nb::gil_scoped_release release;
            return loop.stats();
          },
          Doc("EngineLoop::stats"))
      .def_prop_ro(
          "capacity", [](const Host& self) { return self.engine->capacity(); }, Doc("Engine::capacity"))
      .def_prop_ro(
          "pool", [](const Host& self) { return self.pool; }, "The pool of its caches.");
}

}  // namespace skald::python
