// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/bench_options.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "bench/machine/cpus.h"
#include "command_line/shared/hub_options.h"
#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"

namespace skald::program {
namespace {

// "512,128": a prompt, and how many tokens follow.
std::pair<uint32_t, uint32_t> ParseBoth(const std::string& text) {
  const size_t comma = std::min(text.find(','), text.size());
  const auto prompt = ParseNumber<uint32_t>(std::string_view(text).substr(0, comma));
  const auto generated = ParseNumber<uint32_t>(std::string_view(text).substr(std::min(comma + 1, text.size())));
  if (prompt && generated && *prompt >= 1 && *prompt <= kMaxTokens && *generated >= 1 && *generated <= kMaxTokens) {
    return {*prompt, *generated};
  }
  throw CLI::ValidationError("-pg",
                             "expected PROMPT,GENERATED, each 1 to " + std::to_string(kMaxTokens) + ", got " + text);
}

void AddModels(CLI::App& command, Options& options) {
  BenchOptions& bench = options.bench;
  CLI::Option* const shapes = command.add_option("--shape", bench.shapes, "Random weights for one of 'skald models'");
  shapes->delimiter(',')->type_name("NAME");
  CLI::Option* const paths =
      command.add_option("-m,--model", bench.models, "Folder or file with the model; several are measured in turn")
          ->type_name("PATH")
          ->excludes(shapes);
  AddHub(command, paths, options)->excludes(shapes);
  command
      .add_option_function<std::vector<std::string>>(
          "--dtype",
          [&bench](const std::vector<std::string>& names) {
            for (const std::string& name : names) bench.weight_types.push_back(ParseDType(name));
          },
          "Types of the weights: bf16, f32, q8_0, q4_0,\nq8a, q4_k, q5_k, q6_k, q6a")
      ->delimiter(',')
      ->type_name("TYPE");
}

void AddList(CLI::App& command, const char* name, std::vector<uint32_t>& values, uint32_t least, uint32_t most,
             const char* help) {
  command.add_option(name, values, help)->delimiter(',')->check(Within(least, most))->capture_default_str();
}

void AddCases(CLI::App& command, BenchOptions& bench) {
  AddList(command, "-p,--prompt-tokens", bench.prompts, 0, kMaxTokens, "Tokens of a prompt; 0 for none");
  AddList(command, "-n,--generate-tokens", bench.generated, 0, kMaxTokens,
          "Tokens written one after the other; 0 for none");
  command
      .add_option_function<std::vector<std::string>>(
          "--prompt-generate",
          [&bench](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) bench.both.push_back(ParseBoth(text));
          },
          "Also -pg: a prompt and tokens after it, measured as\none: 512,64. Repeatable")
      ->type_name("PROMPT,GENERATED")
      ->type_size(1);
  AddList(command, "-d,--depth", bench.depths, 0, kMaxTokens, "Tokens that are there before");
  AddList(command, "-b,--batch", bench.sequences, 1, 4096, "Conversations that are written together");
  AddKvType(command, bench.kv_type);
  command.add_option("-r,--repetitions", bench.repetitions, "Times that each is measured, after a run to warm up")
      ->check(Within(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--delay", bench.delay, "Seconds before each measurement, for the machine to cool")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
}

void AddMachine(CLI::App& command, Options& options) {
  BenchOptions& bench = options.bench;
  AddList(command, "-t,--threads", bench.threads, 1, kMaxThreads, "Threads that compute");
  const auto add_cpus = [&command](const char* name, std::vector<int>& numbers, const char* help) {
    const auto choose = [&numbers, name](const std::string& text) {
      const auto list = ParseCpuList(text);
      if (!list) throw CLI::ValidationError(name, "expected numbers such as 0-3,8, got " + text);
      numbers = *list;
    };
    return command.add_option_function<std::string>(name, choose, help)->type_name("LIST");
  };
  CLI::Option* const cpus = add_cpus("--cpus", bench.cpus, "CPUs that threads keep to, as taskset takes them: 0-3,8");
  CLI::Option* const nodes = add_cpus("--numa-nodes", bench.numa_nodes, "The same, all CPUs of NUMA nodes");
  command.add_option("--simd", bench.simd, "SIMD targets by Highway's names: AVX2, AVX3, ..., or all")
      ->delimiter(',')
      ->type_name("TARGET");
  AddRanks(command, options, "Options");
  for (CLI::Option* const option : {cpus->excludes(nodes), nodes}) option->excludes(command.get_option("--ranks"));
}

void AddUsers(CLI::App& command, BenchOptions& bench) {
  AddList(command, "--serve", bench.users, 1, 4096, "Users of an engine at a time: what each of them sees");
  command.add_option("--arrival", bench.arrival, "Tokens of a prompt that comes while the users' answers are written")
      ->check(CLI::Range(0u, kMaxTokens));
  command.add_option("--step-ms", bench.step_ms, "Most milliseconds of an engine's step")->check(CLI::Range(0.0, 1e6));
}

void AddOutputs(CLI::App& command, BenchOptions& bench) {
  static const std::map<std::string, BenchOutput> forms = {{"md", BenchOutput::kMarkdown},
                                                           {"csv", BenchOutput::kCsv},
                                                           {"json", BenchOutput::kJson},
                                                           {"jsonl", BenchOutput::kJsonLines},
                                                           {"sql", BenchOutput::kSql}};
  CLI::Option* const output =
      command
          .add_option_function<std::string>(
              "-o,--output", [&bench](const std::string& form) { bench.output = forms.at(form); },
              "Form of the results: md (default), csv, json, jsonl, sql")
          ->check(CLI::IsMember({"md", "csv", "json", "jsonl", "sql"}))
          ->type_name("FORM");
  CLI::Option* const json =
      command.add_option("--json", bench.json, "File for the results and the machine's limits")->type_name("FILE");
  CLI::Option* const record =
      command.add_option("--record", bench.record, "File that a line of JSON is added to for each result")
          ->type_name("FILE");
  for (CLI::Option* const option : {output, json, record}) option->excludes(command.get_option("--serve"));
}

}  // namespace

void AddBenchOptions(CLI::App& command, Options& options) {
  AddModels(command, options);
  AddCases(command, options.bench);
  AddMachine(command, options);
  AddUsers(command, options.bench);
  AddOutputs(command, options.bench);
}

}  // namespace skald::program
