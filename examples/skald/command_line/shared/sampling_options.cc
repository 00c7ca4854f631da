// SPDX-License-Identifier: Apache-2.0

#include "command_line/shared/sampling_options.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/shared/option_checks.h"
#include "skald/open/conversation.h"

namespace skald::program {
namespace {

LogitBias ParseLogitBias(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto token = ParseNumber<int32_t>(std::string_view(text).substr(0, equals));
  const char* const number = text.c_str() + std::min(equals + 1, text.size());
  char* end = nullptr;
  const float bias = std::strtof(number, &end);
  if (token && *token >= 0 && end != number && *end == '\0') return {*token, bias};
  throw CLI::ValidationError("--logit-bias", "expected ID=VALUE, got " + text);
}

}  // namespace

void AddSamplerOptions(CLI::App& command, Options& options) {
  const char* const group = "Sampling";
  const auto add = [&]<class T>(const char* name, T SamplerSettings::*member, const char* help) {
    const auto choose = [&options, member](const T& value) {
      options.sampling.push_back([member, value](SamplerSettings& sampler) { sampler.*member = value; });
    };
    return command.add_option_function<T>(name, choose, help)->check(Given())->type_name("X")->group(group);
  };
  using Settings = SamplerSettings;
  add("--temperature", &Settings::temperature,
      "Below 1 tamer, above 1 wilder; 0 is greedy. The default\nof this and"
      " of the next four is what the model's\ngeneration_config.json advises, else 0.8, 40, 0.95, 0, 1");
  add("--top-k", &Settings::top_k, "Only the X most likely tokens; 0 for all")->check(Within(0, kMaxTokens));
  add("--top-p", &Settings::top_p, "Only the most likely tokens, X of all probability");
  add("--min-p", &Settings::min_p, "Only tokens at least X times as likely as the likeliest");
  add("--repetition-penalty", &Settings::repetition_penalty, "Logits of recent tokens are divided by X");
  add("--presence-penalty", &Settings::presence_penalty, "X is taken from logits of recent tokens (default: 0)");
  add("--frequency-penalty", &Settings::frequency_penalty, "The same, for each occurrence (default: 0)");
}

void AddSeedOption(CLI::App& command, const char* help, Options& options) {
  const auto choose = [&options](uint64_t seed) {
    options.seed = seed;
    options.chose_seed = true;
  };
  command.add_option_function<uint64_t>("--seed", choose, help)
      ->check(Within(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->group("Sampling");
}

void AddSamplingOptions(CLI::App& command, Options& options) {
  const char* const group = "Sampling";
  command
      .add_option("-n,--max-tokens", options.max_tokens,
                  "Most tokens of one text or answer (default: of a text " + std::to_string(kTextTokens) +
                      ", of an\nanswer as many as the context has room for)")
      ->check(Within(1, kMaxTokens))
      ->type_name("X")
      ->group(group);
  AddSamplerOptions(command, options);
  command
      .add_option_function<size_t>(
          "--penalty-window",
          [&options](size_t tokens) {
            options.sampling.push_back([tokens](SamplerSettings& sampler) { sampler.penalty_window = tokens; });
          },
          "How many tokens count as recent (default: 64)")
      ->check(Given())
      ->check(Within(0, kMaxTokens))
      ->type_name("X")
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options.sampling.push_back(
                  [bias = ParseLogitBias(text)](SamplerSettings& sampler) { sampler.logit_bias.push_back(bias); });
            }
          },
          "Added to a token's logit; -inf bans the token. Repeatable")
      ->type_name("ID=VALUE")
      ->type_size(1)
      ->group(group);
  AddSeedOption(command, "Makes a text repeatable (default: a random one)", options);
}

}  // namespace skald::program
