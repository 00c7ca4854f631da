// SPDX-License-Identifier: Apache-2.0
//
// The skald program: runs a model from the command line.
//
//   build/release/examples/skald/skald --help

#include <cstdio>
#include <iostream>
#include <variant>

#include "bench.h"
#include "chat.h"
#include "generate.h"
#include "identify_model.h"
#include "inspect.h"
#include "options.h"
#include "pack.h"
#include "store.h"

namespace skald::program {
namespace {

int ListModels() {
  for (const std::string_view name : KnownModels()) std::cout << name << '\n';
  return 0;
}

Result<int> RunCommand(const Options& options) {
  switch (options.command) {
    case Command::kGenerate:
      return RunGenerate(options);
    case Command::kChat:
      return RunChat(options);
    case Command::kModels:
      return ListModels();
    case Command::kBench:
      return RunBench(options);
    case Command::kPack:
      return RunPack(options);
    case Command::kInspect:
      return RunInspect(options);
    case Command::kStore:
      return RunStore(options);
  }
  return kExitUsage;
}

int Run(const Options& options) {
  const auto exit_code = RunCommand(options);
  if (exit_code) return *exit_code;
  std::fprintf(stderr, "skald: %s\n", exit_code.error().message.c_str());
  return kExitError;
}

}  // namespace
}  // namespace skald::program

int main(int argc, char** argv) {
  const auto parsed = skald::program::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  return skald::program::Run(std::get<skald::program::Options>(parsed));
}
