// SPDX-License-Identifier: Apache-2.0

#include "setup.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "conversation/saved_state.h"
#include "ranks/rank_job.h"
#include "skald/base/ranks/agreement.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

std::string Rate(size_t count, std::chrono::duration<double> time) {
  if (count == 0) return "";
  std::ostringstream text;
  text << " at " << std::fixed << std::setprecision(1) << static_cast<double>(count) / time.count() << "/s";
  return text.str();
}

// Once all ranks have loaded their weights, whatever became of it.
Result<void> ComputeOnRanks(const CommunicatorRef& ranks, const Result<std::unique_ptr<ProgramModel>>& model) {
  SKALD_TRY(ranks.Wait());
  SKALD_TRY(Agree(ranks, model));
  return (*model)->ComputeOn(ranks);
}

}  // namespace

LoadOptions LoadOptionsOf(const Options& options, const ModelInfo& info, const ProgressBar& bar) {
  return {.dtype = options.weight_type.value_or(info.weight_type),
          .threads = options.workspace.threads,
          .share = ShareOf(options.ranks),
          .progress = [&bar](const LoadProgress& progress) { bar.Draw(progress.bytes_done, progress.bytes_total); },
          .cache_folder = options.packed_cache,
          .cache_bytes = options.packed_cache_bytes,
          .on_warning = [](const Error& error) { Warn(error.message); }};
}

Result<std::unique_ptr<ProgramModel>> LoadWeights(const Options& options, const ModelInfo& info) {
  const ProgressBar bar("loading " + std::string(info.name), options.show_progress);
  auto model = LoadProgramModel(info, LoadOptionsOf(options, info, bar));
  if (model && options.adapter) {
    if (auto used = (*model)->UseAdapter(*options.adapter); !used) model = Failure(used.error());
  }
  if (options.ranks != nullptr) {
    SKALD_TRY(ComputeOnRanks(options.ranks->ranks(), model));
  }
  return model;
}

Result<Session> StartSession(const Options& options, const ModelInfo& info, const ProgramModel& model) {
  RuntimeConfig runtime = options.runtime;
  if (info.trained_context > 0) runtime.max_tokens = std::min(runtime.max_tokens, info.trained_context);
  runtime.max_tokens = options.max_context.value_or(runtime.max_tokens);
  // Models that forget can then go back a little without computing much again.
  runtime.resume_point_every = 256;
  auto session = Session::Create(model, runtime, options.workspace);
  if (!session || !options.prompt_cache) return session;
  auto memory = OpenPromptMemory(options, info.model, session->adapter(), session->pool());
  if (memory) {
    session->Remember(std::move(*memory));
  } else if (memory.error().code == ErrorCode::kInvalidArgument || memory.error().code == ErrorCode::kUnsupported) {
    return Failure(memory.error());
  } else {
    Warn(memory.error().message + "; the run goes on without the prompt cache");
  }
  return session;
}

void PrintClosingLine(const ModelInfo& info, const Session& session, uint64_t seed, std::string_view ending) {
  const Statistics& sums = session.statistics();
  const std::string prompt_rate = Rate(sums.prompt_tokens, sums.prompt_time);
  const std::string decode_rate = Rate(sums.decode_steps, sums.decode_time);
  const std::string recalled =
      sums.recalled_tokens == 0 ? "" : " (" + std::to_string(sums.recalled_tokens) + " known before)";
  std::cerr << '[' << info.name << ": prompt " << sums.prompt_tokens << " tokens" << recalled << prompt_rate
            << ", generated " << sums.generated_tokens << " tokens" << decode_rate << ", context "
            << std::min(session.size(), session.max_tokens()) << " of " << session.max_tokens() << ", seed " << seed
            << (ending.empty() ? "" : "; ") << ending << "]\n";
}

}  // namespace skald::program
