// SPDX-License-Identifier: Apache-2.0

#include "conversation/chat/chat_settings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "command_line/shared/option_checks.h"
#include "skald/sampling/settings.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

// A setting of the answers to come.
struct Setting {
  std::string_view name;
  std::string (*show)(const Conversation& chat);
  Result<void> (*set)(Conversation& chat, const std::string& text);
};

Failure Expected(const char* what, const std::string& text) {
  return Fail(ErrorCode::kInvalidArgument, std::string("expected ") + what + ", got " + text);
}

template <auto kMember>
constexpr Setting SamplerSetting(std::string_view name) {
  using Value = std::remove_cvref_t<decltype(SamplerSettings().*kMember)>;
  return {name,
          [](const Conversation& chat) {
            std::ostringstream text;
            text << chat.sampler().*kMember;
            return text.str();
          },
          [](Conversation& chat, const std::string& text) -> Result<void> {
            const auto value = ParseNumber<Value>(text);
            if (!value) return Expected("a number", text);
            SamplerSettings sampler = chat.sampler();
            sampler.*kMember = *value;
            return chat.SetSampler(sampler);
          }};
}

std::string ShowSeed(const Conversation& chat) { return std::to_string(chat.sampler().random.seed); }

Result<void> SetSeed(Conversation& chat, const std::string& text) {
  const auto seed = ParseNumber<uint64_t>(text);
  if (!seed) return Expected("a whole number", text);
  SamplerSettings sampler = chat.sampler();
  sampler.random.seed = *seed;
  return chat.SetSampler(sampler);
}

std::string ShowMaxTokens(const Conversation& chat) {
  return chat.max_tokens() == kMaxTokens ? "as many as fit" : std::to_string(chat.max_tokens());
}

Result<void> SetMaxTokens(Conversation& chat, const std::string& text) {
  const auto tokens = ParseNumber<size_t>(text);
  if (!tokens || *tokens == 0 || *tokens > kMaxTokens) return Expected("1 or more tokens", text);
  chat.SetMaxTokens(*tokens);
  return {};
}

constexpr Setting kSettings[] = {
    SamplerSetting<&SamplerSettings::temperature>("temperature"),
    SamplerSetting<&SamplerSettings::top_k>("top_k"),
    SamplerSetting<&SamplerSettings::top_p>("top_p"),
    SamplerSetting<&SamplerSettings::min_p>("min_p"),
    SamplerSetting<&SamplerSettings::repetition_penalty>("repetition_penalty"),
    SamplerSetting<&SamplerSettings::presence_penalty>("presence_penalty"),
    SamplerSetting<&SamplerSettings::frequency_penalty>("frequency_penalty"),
    SamplerSetting<&SamplerSettings::penalty_window>("penalty_window"),
    {"seed", ShowSeed, SetSeed},
    {"max_tokens", ShowMaxTokens, SetMaxTokens},
};

}  // namespace

void ShowSettings(const Conversation& chat) {
  for (const Setting& setting : kSettings) Note(std::string(setting.name) + " " + setting.show(chat));
}

Result<void> ChangeSetting(Conversation& chat, const std::string& text) {
  const size_t end = std::min(text.find_first_of(" ="), text.size());
  const std::string name = text.substr(0, end), value = text.substr(std::min(end + 1, text.size()));
  const auto* const setting = std::ranges::find(kSettings, std::string_view(name), &Setting::name);
  if (setting == std::end(kSettings)) {
    return Fail(ErrorCode::kInvalidArgument, "there is no setting " + name + "; /set lists them");
  }
  if (const auto done = setting->set(chat, value); !done) return Annotate(name, done);
  return {};
}

}  // namespace skald::program
