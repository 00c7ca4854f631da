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

#include "conversation/drafting.h"
#include "conversation/saved_state.h"
#include "conversation/steering.h"
#include "ranks/rank_job.h"
#include "skald/base/ranks/agreement.h"
#include "skald/open/conversation.h"
#include "terminal/interrupt.h"
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
  if (model && !options.steering.vectors.empty()) {
    const auto steer = [&]() -> Result<void> {
      SKALD_ASSIGN(const auto vector, LoadSteering(options.steering, info.spec));
      return (*model)->Steer(vector);
    };
    if (auto steered = steer(); !steered) model = Failure(steered.error());
  }
  if (options.ranks != nullptr) {
    SKALD_TRY(ComputeOnRanks(options.ranks->ranks(), model));
  }
  return model;
}

RuntimeConfig RuntimeOf(const Options& options, const ModelInfo& info) {
  RuntimeConfig runtime = ConversationRuntime(info, options.runtime);
  runtime.max_tokens = options.max_context.value_or(runtime.max_tokens);
  if (options.draft.any()) runtime.rewind_tokens = std::max(runtime.rewind_tokens, kDraftedTokens);
  return runtime;
}

Result<SessionParts> SessionPartsOf(const Options& options, const ModelInfo& info, const DraftedModel& loaded,
                                    const Adapter* adapter) {
  const ProgramModel& model = *loaded.model;
  if (loaded.drafter != nullptr) Note(DescribeDrafter(options.draft));
  SKALD_ASSIGN(auto pool, model.CreatePool(RuntimeOf(options, info)));
  SessionParts parts = {
      .model = model,
      .pool = std::move(pool),
      .adapter = adapter,
      .drafter = loaded.drafter,
      .on_warning = [](const Error& error) { Warn(error.message + "; the run goes on without the prompt cache"); },
      .is_stopped = TakeInterrupt,
      .workspace = options.workspace};
  if (!options.prompt_cache) return parts;
  auto memory =
      OpenPromptMemory(options, info.model, adapter != nullptr ? adapter->digest : Sha256Digest{}, parts.pool);
  if (memory) {
    parts.memory = std::move(*memory);
  } else if (memory.error().code == ErrorCode::kInvalidArgument || memory.error().code == ErrorCode::kUnsupported) {
    return Failure(memory.error());
  } else {
    parts.on_warning(memory.error());
  }
  return parts;
}

Error WithContextAdvice(Error error) {
  if (error.code == ErrorCode::kOutOfRange && error.facts.available_tokens) error.message += " (see --max-context)";
  return error;
}

void PrintClosingLine(const ModelInfo& info, const TokenSession& session, uint64_t seed, std::string_view ending) {
  const SessionStatistics& sums = session.statistics();
  const std::string prompt_rate = Rate(sums.prompt_tokens, sums.prompt_time);
  const std::string decode_rate = Rate(sums.decode_steps + sums.accepted_tokens, sums.decode_time);
  const std::string guessed = sums.drafted_tokens == 0 ? ""
                                                       : ", " + std::to_string(sums.accepted_tokens) + " of " +
                                                             std::to_string(sums.drafted_tokens) + " guesses right";
  const std::string recalled =
      sums.recalled_tokens == 0 ? "" : " (" + std::to_string(sums.recalled_tokens) + " known before)";
  std::cerr << '[' << info.name << ": prompt " << sums.prompt_tokens << " tokens" << recalled << prompt_rate
            << ", generated " << sums.generated_tokens << " tokens" << decode_rate << guessed << ", context "
            << std::min(session.size(), session.max_tokens()) << " of " << session.max_tokens() << ", seed " << seed
            << (ending.empty() ? "" : "; ") << ending << "]\n";
}

}  // namespace skald::program
