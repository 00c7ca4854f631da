// SPDX-License-Identifier: Apache-2.0
//
// The skald program: runs a model from the command line.
//
//   build/release/examples/skald/skald --help

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <variant>

#include "bench/bench.h"
#include "command_line/options.h"
#include "commands/files/importance.h"
#include "commands/files/inspect.h"
#include "commands/files/models.h"
#include "commands/files/pack.h"
#include "commands/files/pull.h"
#include "commands/files/write_gguf.h"
#include "commands/serving/serve.h"
#include "commands/texts/chat.h"
#include "commands/texts/embed.h"
#include "commands/texts/generate.h"
#include "commands/texts/rank.h"
#include "commands/texts/store.h"
#include "commands/texts/tokenize.h"
#include "model_files/locate_model.h"
#include "ranks/follow.h"
#include "ranks/rank_job.h"
#include "skald/base/no_throw.h"
#include "skald/distributed/machine_share.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

Result<int> RunCommand(const Options& options) {
  if (options.ranks != nullptr && options.ranks->share().rank != 0) return FollowRankZero(options);
  switch (options.command) {
    case Command::kGenerate:
      return RunGenerate(options);
    case Command::kChat:
      return RunChat(options);
    case Command::kModels:
      return RunModels(options);
    case Command::kBench:
      return RunBench(options);
    case Command::kTokenize:
      return RunTokenize(options);
    case Command::kEmbed:
      return RunEmbed(options);
    case Command::kRank:
      return RunRank(options);
    case Command::kPack:
      return RunPack(options);
    case Command::kImportance:
      return RunImportance(options);
    case Command::kWriteGguf:
      return RunWriteGguf(options);
    case Command::kPull:
      return RunPull(options);
    case Command::kInspect:
      return RunInspect(options);
    case Command::kStore:
      return RunStore(options);
    case Command::kServe:
      return RunServe(options);
  }
  return kExitUsage;
}

// Threads are this rank's CPUs, unless the user has said how many.
void KeepToMachineShare(Options& options) {
  const uint32_t most = std::max(options.workspace.threads, std::ranges::max(options.bench.threads));
  const uint32_t cpus = KeepToShare(options.ranks->on_this_machine(), options.chose_threads ? most : 0);
  if (options.chose_threads) return;
  options.workspace.threads = cpus;
  options.bench.threads = {cpus};
}

Result<int> RunProgram(int argc, char** argv) {
  auto parsed = ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  Options& options = std::get<Options>(parsed);
  // Before ranks wait for each other: a download takes its time.
  SKALD_ASSIGN(options.model, LocateModel(options));
  if (!options.use_ranks) return RunCommand(options);
  SKALD_ASSIGN(auto job, RankJob::Start(options.rank_patience));
  options.ranks = job;
  KeepToMachineShare(options);
  Result<int> exit_code = RunCommand(options);
  if (exit_code && *exit_code == 0) return exit_code;
  // Rank 0 prints an error that all ranks have, and then ends them all.
  const RankShare share = job->share();
  if (share.rank != 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  if (!exit_code)
    Report((share.rank == 0 ? "" : "rank " + std::to_string(share.rank) + ": ") + exit_code.error().message);
  std::cout.flush();
  job->Abort(exit_code.value_or(kExitError));
  return exit_code;
}

int Run(int argc, char** argv) {
  PrepareStandardStreams();
  StandardOutput output;
  Result<int> exit_code = NoThrow("the program", [&] { return RunProgram(argc, argv); });
  if (!exit_code) Report(exit_code.error().message);
  const auto written = output.Finish();
  if (!written) Report(written.error().message);
  const int code = exit_code.value_or(kExitError);
  return written || code != 0 ? code : kExitError;
}

}  // namespace
}  // namespace skald::program

int main(int argc, char** argv) { return skald::program::Run(argc, argv); }
