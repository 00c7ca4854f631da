// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/serve_options.h"

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"

namespace skald::program {
namespace {

void AddAddressOptions(CLI::App& command, ServeOptions& serve) {
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
  command
      .add_option("--allowed-host", serve.hosts,
                  "Name that clients may call the server by, beside\nlocalhost and its address; * for all. Repeatable")
      ->type_name("NAME")
      ->type_size(1)
      ->group(group);
  command
      .add_option("--public-url", serve.public_url,
                  "Where clients find the server behind a reverse proxy, as\nhttps://example.com/skald")
      ->type_name("URL")
      ->group(group);
  command
      .add_option("--trusted-proxy", serve.proxies,
                  "Address of a reverse proxy, or a network as 10.0.0.0/8:\nits X-Forwarded-For, -Host and -Proto are "
                  "believed.\nRepeatable")
      ->type_name("ADDRESS")
      ->type_size(1)
      ->group(group);
}

void AddAccessOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "Access";
  command
      .add_flag("--strict", serve.has_strict_fields,
                "Refuse requests with fields that this server does not know,\ninstead of ignoring these")
      ->group(group);
  command
      .add_option("--log-format", serve.log_format,
                  "Write a line for each request to stderr, without its text:\ntext, or json (default: none)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--trace-file", serve.trace_file,
                  "Add a line for each request to this file: a span of\nOpenTelemetry, in the JSON of OTLP")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--api-keys", serve.api_keys, "File of keys, one of which clients must send")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--metrics-key", serve.metrics_key, "File with the key of /metrics (default: any of --api-keys)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option(
          "--max-failed-keys", serve.failed_keys,
          "Wrong keys that an address may send in a minute; then\nonly keys that were right before are believed")
      ->check(Within(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command.add_option("--cors", serve.origins, "Pages of this origin may use the server; * for all.\nRepeatable")
      ->type_name("ORIGIN")
      ->type_size(1)
      ->group(group);
}

void AddSizeOption(CLI::App& command, const char* name, uint64_t& bytes, uint64_t most, const char* help) {
  command.add_option(name, bytes, help)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, most))
      ->type_name("SIZE")
      ->group("Limits");
}

void AddLimitOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "Limits";
  AddSizeOption(command, "--max-body", serve.body_bytes, uint64_t{1} << 30,
                "Largest request: 500000, 64MB (default: 32MB)");
  AddSizeOption(command, "--max-bodies", serve.bodies_bytes, kUnlimited,
                "Memory for the bodies of all requests, half of it for\none address (default: 256MB)");
  AddSizeOption(command, "--max-import", serve.import_bytes, kUnlimited,
                "Disk for conversations that are imported or exported,\none or all at a time (default: 4GB)");
  command.add_option("--max-connections", serve.connections, "Connections at a time")
      ->check(Within(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--max-connections-per-address", serve.connections_per_address,
                  "Of one address that is no --trusted-proxy (default: a\nquarter of all)")
      ->check(Within(1, 1'000'000))
      ->type_name("N")
      ->group(group);
}

CLI::AsNumberWithUnit Duration() {
  CLI::AsNumberWithUnit duration(std::map<std::string, uint64_t>{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}});
  duration.description("");
  return duration;
}

// Options on the state that clients may keep.
void AddQuotaOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "State";
  const auto add_size = [&](const char* name, std::optional<uint64_t>& bytes, const char* help) {
    command.add_option(name, bytes, help)
        ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
        ->check(Within(1, kUnlimited))
        ->type_name("SIZE")
        ->group(group);
  };
  const auto add_age = [&](const char* name, uint64_t& seconds, const char* help) {
    command.add_option(name, seconds, help)
        ->transform(Duration())
        ->check(Within(0, uint64_t{1} << 40))
        ->type_name("TIME")
        ->group(group);
  };
  add_size("--conversation-size", serve.conversation_bytes,
           "The most that the conversations of a key may take; more is\nrefused (default: 1GB, without --state 100MB)");
  add_age("--conversation-age", serve.conversation_seconds,
          "Conversations that were not changed for so long are\ndeleted: 90d, 12h; 0 for never (default: 0)");
  add_size("--response-size", serve.response_bytes,
           "The same of stored responses, of which the oldest go\n(default: 1GB, without --state 100MB)");
  add_age("--response-age", serve.response_seconds, "When stored responses are deleted (default: 30d)");
}

// Where computed prompts are shared.
void AddStoreOptions(CLI::App& command, ServeOptions& serve) {
  const char* const group = "State";
  const auto add_file = [&](const char* name, std::filesystem::path& path, const char* help) {
    return command.add_option(name, path, help)->type_name("FILE")->group(group);
  };
  CLI::Option* const redis = command.add_option(
      "--redis", serve.redis,
      "Redis server to share computed prompts with others: a host,\nor rediss://USER@HOST:PORT/DATABASE");
  redis->type_name("HOST[:PORT]|URL")->group(group);
  add_file("--redis-password-file", serve.redis_password, "File of the password for Redis")->needs(redis);
  add_file("--redis-ca", serve.redis_ca, "Certificates that Redis' own is signed with, as PEM\n(default: the system's)")
      ->needs(redis);
  CLI::Option* const certificate =
      add_file("--redis-certificate", serve.redis_certificate, "Certificate that Redis wants of its clients");
  CLI::Option* const key = add_file("--redis-private-key", serve.redis_private_key, "Its key");
  certificate->needs(redis)->needs(key);
  key->needs(certificate);
  add_file(
      "--store-key-file", serve.store_key,
      "File of a secret, of 32 random bytes say: what stores hold is\nauthenticated with it, and used only where it "
      "was. Servers that\nshare a store have the same one");
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
  AddQuotaOptions(command, serve);
  AddStoreOptions(command, serve);
}

void AddNamedModelOptions(CLI::App& command, Options& options) {
  ServeOptions& serve = options.serve;
  const char* const group = "Model";
  command
      .add_option("--models-dir", serve.models_dir,
                  "Folder whose models are served too, under their file names:\nfolders, GGUF and packed files")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option(
          "--memory", serve.memory,
          "The most that all models take, weights and caches: those\nthat were used longest ago are put away "
          "(default: no limit for\none; for several three quarters of the machine's memory, or of\nwhat its control "
          "group has)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited - 1))
      ->type_name("SIZE")
      ->group(group);
  command.add_option("--model-name", serve.model_name, "What clients call the first model (default: its own name)")
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag(
          "--yes-or-no", options.encoding.by_yes_or_no,
          "The first model is a decoder that ranks documents by yes or\nno, as Qwen3-Reranker does, whose files do "
          "not say it")
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--alias",
          [&serve](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) serve.aliases.push_back(ParsePair("--alias", "ALIAS=NAME", text));
          },
          "Another name of a model. Repeatable")
      ->type_name("ALIAS=NAME")
      ->type_size(1)
      ->group(group);
  command
      .add_flag("--strict-model-names", serve.has_strict_names,
                "Refuse requests for other models, where one model is\nserved too")
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

void AddEngineOptions(CLI::App& command, Options& options) {
  ServeOptions& serve = options.serve;
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
  command
      .add_option("--policy", serve.policy, "Order of requests: fair (shares among keys), fcfs, priority,\nshortest")
      ->check(CLI::IsMember({"fair", "fcfs", "priority", "shortest"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  auto* const lookup = command.add_flag(
      "--prompt-lookup", serve.prompt_lookup,
      "Guess tokens by what the text said before: faster where it\nrepeats itself, and never another text");
  lookup->group(group);
  AddDraftOptions(command, group, options.draft, lookup);
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

// Takes NAME=PATH apart; a path that is there may have a '=' too.
std::pair<std::string, std::filesystem::path> ParseNamedPath(const std::string& text) {
  const size_t equals = text.find('=');
  std::error_code ignored;
  if (equals == 0 || equals == text.npos || std::filesystem::exists(text, ignored)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

CLI::Option* AddServedModels(CLI::App& command, Options& options) {
  return command
      .add_option_function<std::vector<std::string>>(
          "-m,--model",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) options.serve.models.push_back(ParseNamedPath(text));
            options.model = options.serve.models[0].second;
          },
          "Folder or file with the model (default: the demo model).\nRepeatable: each of several is loaded when "
          "clients "
          "ask for its\nname, and the first one where they name none")
      ->type_name("[NAME=]PATH")
      ->type_size(1)
      ->group("Model");
}

void AddServeOptions(CLI::App& command, Options& options) {
  AddNamedModelOptions(command, options);
  AddAddressOptions(command, options.serve);
  AddAccessOptions(command, options.serve);
  AddLimitOptions(command, options.serve);
  AddStateOptions(command, options);
  AddEngineOptions(command, options);
}

}  // namespace skald::program
