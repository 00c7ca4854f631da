// SPDX-License-Identifier: Apache-2.0

#include "command_line/shared/running_options.h"

#include <string>

#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"
#include "user_folders.h"

namespace skald::program {

CLI::Option* AddDType(CLI::App& command, Options& options) {
  return command
      .add_option_function<std::string>(
          "--dtype", [&options](const std::string& name) { options.weight_type = ParseDType(name); },
          "Type of the weights in memory: q8_0 takes about half of bf16's,\nq4_0 a quarter, and both are faster")
      ->check(CLI::IsMember({"bf16", "f32", "q8_0", "q4_0"}))
      ->type_name("TYPE");
}

void AddLoadOptions(CLI::App& command, Options& options) {
  const char* const group = "Running";
  command.add_option("-t,--threads", options.workspace.threads, "Threads that compute; they never change a result")
      ->check(Within(1, kMaxThreads))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  AddDType(command, options)->group(group);
  command
      .add_flag_callback(
          "--f32", [&options] { options.weight_type = options.runtime.kv_type = DType::kF32; },
          "Weights and cache in float32 instead of bfloat16: exact,\nbut slower and twice the memory")
      ->group(group);
  command.add_flag("--progress", options.show_progress, "Show how loading proceeds even if stderr is no terminal")
      ->group(group);
}

void AddRuntimeOptions(CLI::App& command, const std::string& default_cache, Options& options) {
  const char* const group = "Running";
  RuntimeConfig& runtime = options.runtime;
  if (const auto folder = UserCacheFolder(); !folder.empty()) options.packed_cache = folder / "skald" / "packed";
  command
      .add_option("--packed-cache", options.packed_cache,
                  "Folder that keeps weights as they lie in memory: the next\nstart with the same model is instant"
                  " (default: skald/packed\nin the user's cache folder, ~/.cache)")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--packed-cache-size", options.packed_cache_bytes,
                  "The most that it may take; models that were used longest\nago make room (default: 20GB)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
  command
      .add_flag_callback(
          "--no-packed-cache", [&options] { options.packed_cache.clear(); }, "Pack the weights anew, and keep nothing")
      ->group(group);
  AddKvType(command, runtime.kv_type)->group(group);
  command
      .add_option("--cache-bytes", runtime.cache_bytes,
                  "Memory limit of the cache: 500000, 64MB, 2GB (default:\n" + default_cache + ")")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
}

}  // namespace skald::program
