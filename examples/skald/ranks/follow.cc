// SPDX-License-Identifier: Apache-2.0

#include "ranks/follow.h"

#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "bench/bench.h"
#include "conversation/program_model.h"
#include "model_files/known_models.h"
#include "ranks/rank_job.h"
#include "setup.h"
#include "skald/distributed/follow_ranks.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"

namespace skald::program {
namespace {

// The adapters that a server has are none of the model's own.
Result<std::vector<Adapter>> ServedAdapters(const Options& options, const ModelSpec& spec) {
  std::vector<Adapter> adapters;
  for (const auto& [name, path] : options.serve.adapters) {
    auto adapter = OpenAdapter(path, spec, options.ranks->share());
    if (!adapter) return Annotate("--adapter " + name, adapter);
    adapters.push_back(*std::move(adapter));
  }
  return adapters;
}

Result<void> Follow(const ProgramModel& model, const Options& options, const WorkspaceOptions& threads,
                    const std::vector<Adapter>& served = {}) {
  SKALD_ASSIGN(auto workspace, CreateWorkspace(threads));
  std::vector<const Adapter*> adapters = {&model.adapter()};
  for (const Adapter& adapter : served) adapters.push_back(&adapter);
  return FollowRanks(model.model(), options.ranks->ranks(), workspace, std::move(adapters));
}

}  // namespace

Result<int> FollowRankZero(const Options& options) {
  // Signals for the job reach all of its processes; what they mean rank 0 decides.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  if (options.command == Command::kBench) {
    const auto follow = [&](const ProgramModel& model) {
      return Follow(model, options, {.threads = options.bench.threads.front()});
    };
    SKALD_TRY(ForEachBenchModel(options, follow));
    return 0;
  }
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  SKALD_ASSIGN(const auto served, ServedAdapters(options, info.spec));
  SKALD_ASSIGN(const auto model, LoadWeights(options, info));
  SKALD_TRY(Follow(*model, options, options.workspace, served));
  return 0;
}

}  // namespace skald::program
