// SPDX-License-Identifier: Apache-2.0

#include "conversation/chat/show_chat.h"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string_view>

#include "bench/bench_measure.h"
#include "conversation/chat/chat_settings.h"
#include "conversation/drafting.h"
#include "skald/base/text/printable.h"
#include "skald/open/tools/output_format.h"
#include "skald/weights/parameters.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

// "596.0 million": as numbers of parameters and bytes are told.
std::string Rounded(uint64_t number) {
  std::ostringstream text;
  const bool has_billions = number >= 1'000'000'000;
  text << std::fixed << std::setprecision(1) << static_cast<double>(number) / (has_billions ? 1e9 : 1e6)
       << (has_billions ? " billion" : " million");
  return text.str();
}

void ShowModel(const KeptChat& chat) {
  const ModelInfo& info = chat.parts().info;
  const ProgramModel& model = chat.parts().model();
  const TokenSession& session = chat.conversation().session();
  Note("model " + Printable(info.name) + " (" + Printable(info.model.path().string()) + ")");
  Note((info.family.empty() ? "" : "family " + Printable(info.family) + ", ") + Rounded(CountParameters(model)) +
       " parameters, weights " + std::string(NameOf(model.Cost().weight_type)) + " (" +
       Rounded(MemoryBytes(model.model().weights())) + " bytes)");
  Note("context " + std::to_string(session.size()) + " of " + std::to_string(session.max_tokens()) + " tokens" +
       (info.trained_context == 0 ? "" : ", trained on " + std::to_string(info.trained_context)));
  if (chat.adapter_path()) Note("adapter " + chat.adapter_path()->string());
  if (chat.options().draft.any()) Note(DescribeDrafter(chat.options().draft));
}

void ShowSystem(const KeptChat& chat) {
  const auto& messages = chat.conversation().messages();
  const bool has_one = !messages.empty() && messages.front().role == Role::kSystem;
  Note(has_one ? "system message: " + Printable(messages.front().content) : "no system message");
}

void ShowTemplate(const KeptChat& chat) {
  const ModelText& text = chat.parts().text;
  const Options& options = chat.options();
  if (text.chat_template.parts().only_continues) return Note("no chat template: the model continues what you write");
  const std::string origin = options.chat_template_file ? options.chat_template_file->string()
                             : options.chat_template    ? "built-in " + *options.chat_template
                                                        : "the model's own";
  Note("chat template: " + origin + ", tool calls in the form " + std::string(NameOf(text.output.tools)) +
       (text.output.think_begin.empty() ? "" : ", thoughts begin with " + Printable(text.output.think_begin)));
}

void PrintTemplate(const KeptChat& chat) {
  ShowTemplate(chat);
  std::istringstream lines(chat.parts().text.chat_template.source());
  for (std::string line; std::getline(lines, line);) Note(Printable(line));
}

struct Part {
  std::string_view name;
  void (*show)(const KeptChat& chat);
};

constexpr Part kParts[] = {{"model", ShowModel},
                           {"system", ShowSystem},
                           {"settings", [](const KeptChat& chat) { ShowSettings(chat.conversation()); }},
                           {"template", PrintTemplate}};

}  // namespace

Result<void> ShowChat(KeptChat& chat, const std::string& part) {
  if (part.empty()) {
    ShowModel(chat);
    ShowTemplate(chat);
    ShowSystem(chat);
    ShowSettings(chat.conversation());
    return {};
  }
  const auto* const found = std::ranges::find(kParts, std::string_view(part), &Part::name);
  if (found == std::end(kParts)) {
    return Fail(ErrorCode::kInvalidArgument, "/show knows model, system, settings and template, not " + part);
  }
  found->show(chat);
  return {};
}

}  // namespace skald::program
