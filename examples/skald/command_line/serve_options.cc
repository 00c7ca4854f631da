// SPDX-License-Identifier: Apache-2.0

#include "command_line/serve_options.h"

#include <limits>

#include "command_line/option_checks.h"

namespace skald::program {
namespace {

void AddNetworkOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "Network";
  command.add_option("--host", serve.host, "Address to listen at; 0.0.0.0 for all")
      ->capture_default_str()
      ->type_name("ADDRESS")
      ->group(group);
  command.add_option("--port", serve.port, "Port; 0 for any that is free")
      ->check(Within(0, 65535))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  CLI::Option* const certificate =
      command.add_option("--certificate", serve.certificate, "Certificate chain, as PEM: speak TLS");
  certificate->type_name("FILE")->group(group);
  CLI::Option* const key = command.add_option("--private-key", serve.private_key, "Its key");
  key->type_name("FILE")->group(group)->needs(certificate);
  certificate->needs(key);
  command.add_option("--api-keys", serve.api_keys, "File of keys, one of which clients must send")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--cors", serve.origins, "Pages of this origin may use the server; * for all.\nRepeatable")
      ->type_name("ORIGIN")
      ->type_size(1)
      ->group(group);
  command.add_option("--max-body", serve.body_bytes, "Largest request: 500000, 64MB (default: 32MB)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, uint64_t{1} << 30))
      ->type_name("SIZE")
      ->group(group);
  command.add_option("--max-connections", serve.connections, "Connections at a time")
      ->check(Within(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void AddStateOptions(CLI::App& command, Options& options) {
  const char* const group = "State";
  ServeOptions& serve = options.serve;
  command.add_option("--state", serve.state, "Folder that keeps conversations and computed prompts")
      ->type_name("DIR")
      ->group(group);
  command.add_option("--prompt-cache", options.prompt_cache, "Folder of prompts alone (default: in that of --state)")
      ->type_name("DIR")
      ->group(group);
  command.add_option("--state-size", serve.state_bytes, "The most that prompts may take there (default: 20GB)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
  command.add_option("--redis", serve.redis, "Redis server to share computed prompts with others")
      ->type_name("HOST[:PORT]")
      ->group(group);
}

void AddNamedModelOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "Model";
  command.add_option("--model-name", serve.model_name, "What clients call the model (default: its own name)")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--adapter",
          [&serve](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              serve.adapters.emplace_back(ParsePair("--adapter", "NAME=PATH", text));
            }
          },
          "LoRA adapter, served as a model of this name beside the\nothers: a folder of Hugging Face's PEFT, or a GGUF "
          "file.\nRepeatable")
      ->type_name("NAME=PATH")
      ->type_size(1)
      ->group(group);
}

void AddEngineOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "Engine";
  command.add_option("--users", serve.users, "Answers that are computed at a time; others wait")
      ->check(Within(1, 65536))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_option("--queue", serve.queue, "Answers that may wait; more get status 429")
      ->check(Within(0, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--step-ms", serve.step_ms, "Most milliseconds of a step, so that long prompts do not\nstop others")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("X")
      ->group(group);
  command.add_option("--policy", serve.policy, "Who goes first: fair (shares among keys), fcfs, priority,\nshortest")
      ->check(CLI::IsMember({"fair", "fcfs", "priority", "shortest"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag("--prompt-lookup", serve.prompt_lookup,
                "Guess tokens by what the text said before: faster where it\nrepeats itself, and never another text")
      ->group(group);
  command
      .add_option("--stall-seconds", serve.stall_seconds,
                  "Seconds without a step of the engine, while there is work,\nafter which /health answers 503")
      ->check(Within(1, 86400))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_option("--grace", serve.grace_seconds, "Seconds that answers have to end after SIGTERM")
      ->check(Within(0, 86400))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

}  // namespace

void AddServeOptions(CLI::App& command, Options& options) {
  AddNamedModelOptions(command, options.serve);
  AddNetworkOptions(command, options.serve);
  AddStateOptions(command, options);
  AddEngineOptions(command, options.serve);
}

}  // namespace skald::program
