// SPDX-License-Identifier: Apache-2.0

#include "ranks/follow.h"

#include <csignal>
#include <memory>

#include "bench/bench.h"
#include "conversation/language_model.h"
#include "model_files/identify_model.h"
#include "ranks/rank_job.h"
#include "setup.h"
#include "skald/distributed/follow_ranks.h"
#include "skald/model/workspace.h"

namespace skald::program {
namespace {

Result<void> Follow(const LanguageModel& model, const Options& options, const WorkspaceOptions& threads) {
  auto workspace = CreateWorkspace(threads);
  if (!workspace) return Failure(workspace.error());
  return FollowRanks(model.model(), options.ranks->ranks(), *workspace);
}

}  // namespace

Result<int> FollowRankZero(const Options& options) {
  // Signals for the job reach all of its processes; what they mean rank 0 decides.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  if (options.command == Command::kBench) {
    const auto follow = [&](const LanguageModel& model) {
      return Follow(model, options, {.threads = options.bench.threads.front()});
    };
    if (auto followed = ForEachBenchModel(options, follow); !followed) return Failure(followed.error());
    return 0;
  }
  const auto info = IdentifyModel(options.model);
  if (!info) return Failure(info.error());
  const auto model = LoadWeights(options, *info);
  if (!model) return Failure(model.error());
  if (auto followed = Follow(**model, options, options.workspace); !followed) return Failure(followed.error());
  return 0;
}

}  // namespace skald::program
