// SPDX-License-Identifier: Apache-2.0
//
// Chats as token ids, in the formats that published models were trained on. Markers enter as ids;
// what the messages say is encoded as plain text, so that no user can write a marker. Where a
// format has marks that are ordinary text (Llama 2: "[/INST]"), a message that contains one is
// refused. Pure functions; safe for concurrent calls. Sources beside each template; "chat_template"
// is the field of that name in tokenizer_config.json.

#ifndef SKALD_TEXT_CHAT_TEMPLATE_H_
#define SKALD_TEXT_CHAT_TEMPLATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/prompt_writer.h"
#include "skald/text/tokenizer.h"

namespace skald {

enum class ChatTemplate {
  kNone,       // a text to be continued: BOS, text
  kGemma,      // chat_template of google/gemma-2-2b-it (Gemma 1 and 3 alike)
  kLlama2,     // chat_template of meta-llama/Llama-2-7b-chat-hf; chat_completion in Meta's
               // llama/generation.py
  kMistral,    // mistralai/Mistral-7B-Instruct-v0.1 and v0.2: tokenizer V1 of mistral-common
  kMistralV3,  // mistralai/Mistral-7B-Instruct-v0.3: tokenizer V3 of mistral-common
  kZephyr,     // chat_template of TinyLlama/TinyLlama-1.1B-Chat-v1.0
};

enum class Role { kSystem, kUser, kAssistant };

struct Message {
  Role role = Role::kUser;
  std::string content;
};

// The names that ChatTemplateFromName takes.
inline constexpr std::array<std::pair<std::string_view, ChatTemplate>, 6> kChatTemplateNames = {{
    {"none", ChatTemplate::kNone},
    {"gemma", ChatTemplate::kGemma},
    {"llama2", ChatTemplate::kLlama2},
    {"mistral", ChatTemplate::kMistral},
    {"mistral-v3", ChatTemplate::kMistralV3},
    {"zephyr", ChatTemplate::kZephyr},
}};

// Returns the template of that name. The error lists all names.
inline Result<ChatTemplate> ChatTemplateFromName(std::string_view name) {
  return NoThrow("the chat template", [&]() -> Result<ChatTemplate> {
    std::string known;
    for (const auto& [known_name, chat_template] : kChatTemplateNames) {
      if (name == known_name) return chat_template;
      known.append(known.empty() ? "" : ", ").append(known_name);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "there is no chat template \"" + std::string(name) + "\", expected one of: " + known);
  });
}

inline std::string_view NameOf(ChatTemplate chat_template) {
  for (const auto& [name, named] : kChatTemplateNames) {
    if (named == chat_template) return name;
  }
  return "";
}

// Returns the template that the special pieces of `tokenizer` tell of, or kNone. Llama 2, TinyLlama
// and the first Mistral models have no pieces of their own for chats, so they cannot be told apart.
inline ChatTemplate GuessChatTemplate(const Tokenizer& tokenizer) {
  if (tokenizer.SpecialId("<start_of_turn>")) return ChatTemplate::kGemma;
  if (tokenizer.SpecialId("[INST]")) return ChatTemplate::kMistralV3;
  return ChatTemplate::kNone;
}

// Returns the template that a program in the Jinja language, as models publish it, writes, or kNone. For models that
// cannot be told apart by their pieces: a mark that stands in it, and in no other template, is enough to know it by.
inline ChatTemplate ChatTemplateFromJinja(std::string_view jinja) {
  constexpr std::pair<std::string_view, ChatTemplate> kMarks[] = {{"<|assistant|>", ChatTemplate::kZephyr},
                                                                  {"<<SYS>>", ChatTemplate::kLlama2},
                                                                  {"[/INST]", ChatTemplate::kMistral}};
  for (const auto& [mark, chat_template] : kMarks) {
    if (jinja.find(mark) != jinja.npos) return chat_template;
  }
  return ChatTemplate::kNone;
}

// Returns the ids that end the model's turn. Stop when one is sampled, and do not feed it to the
// model: EncodeNextTurn begins with it.
inline std::vector<int32_t> StopIds(const Tokenizer& tokenizer, ChatTemplate chat_template) {
  std::vector<int32_t> ids;
  if (chat_template == ChatTemplate::kGemma) {
    if (const auto id = tokenizer.SpecialId("<end_of_turn>")) ids.push_back(*id);
  }
  if (const auto id = tokenizer.eos_id()) ids.push_back(*id);
  return ids;
}

// Returns the ids of a whole chat, from BOS to the point where the model answers. `messages` are an
// optional system message, then user and assistant in turns, the last one from the user; kNone
// takes one user message only. Gemma and Mistral have no place for a system message, so it starts
// the first user message, before an empty line.
//
// Errors: roles in another order; a user or system message with a mark of the template; a tokenizer
// without a piece that the template needs.
inline Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, ChatTemplate chat_template,
                                               std::span<const Message> messages);

// Returns the ids that follow once the model has answered, from the end of its turn to the point
// where it answers `user_text`: what a conversation that keeps its cache has to compute. Errors as
// those of EncodeChat.
inline Result<std::vector<int32_t>> EncodeNextTurn(const Tokenizer& tokenizer, ChatTemplate chat_template,
                                                   std::string_view user_text);

// Implementation.

namespace internal {

inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kWhitespace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kWhitespace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhitespace) + 1 - begin);
}

// In Llama 2 each user turn has its own BOS. A text without a template is for any model.
inline void WriteStart(ChatTemplate chat_template, PromptWriter& out) {
  if (chat_template == ChatTemplate::kLlama2) return;
  chat_template == ChatTemplate::kNone ? out.BosIfDefined() : out.Bos();
}

// Writes a user's turn, and what the model's turn starts with. `system` is empty but for the first
// turn.
inline void WriteUser(ChatTemplate chat_template, std::string_view system, std::string_view content,
                      PromptWriter& out) {
  const std::string folded =
      system.empty() ? std::string(content) : std::string(system) + "\n\n" + std::string(content);
  switch (chat_template) {
    case ChatTemplate::kNone:
      out.Text(content);
      break;
    case ChatTemplate::kGemma:
      out.Marker("<start_of_turn>");
      out.Text("user\n" + std::string(Trim(folded)));
      out.Marker("<end_of_turn>");
      out.Text("\n");
      out.Marker("<start_of_turn>");
      out.Text("model\n");
      break;
    case ChatTemplate::kLlama2: {
      std::string text(content);
      if (!system.empty()) text = "<<SYS>>\n" + std::string(system) + "\n<</SYS>>\n\n" + text;
      out.Bos();
      out.Text("[INST] " + std::string(Trim(text)) + " [/INST]");
      break;
    }
    case ChatTemplate::kMistral:
      out.Text("[INST] " + folded + " [/INST]");
      out.Break();
      break;
    case ChatTemplate::kMistralV3:
      out.Marker("[INST]");
      out.Text(folded);
      out.Marker("[/INST]");
      break;
    case ChatTemplate::kZephyr:
      if (!system.empty()) {
        out.Text("<|system|>\n" + std::string(system));
        out.Eos();
        out.Text("\n");
      }
      out.Text("<|user|>\n" + std::string(content));
      out.Eos();
      out.Text("\n<|assistant|>\n");
      break;
  }
}

// Writes what the model answered, as the template has it in earlier turns.
inline void WriteAssistant(ChatTemplate chat_template, std::string_view content, PromptWriter& out) {
  switch (chat_template) {
    case ChatTemplate::kGemma:
      return out.Text(Trim(content));
    case ChatTemplate::kLlama2:
      return out.Text(" " + std::string(Trim(content)) + " ");
    default:
      return out.Text(content);
  }
}

// Writes the end of the model's turn.
inline void WriteEndOfAssistant(ChatTemplate chat_template, PromptWriter& out) {
  switch (chat_template) {
    case ChatTemplate::kNone:
      break;
    case ChatTemplate::kGemma:
      out.Marker("<end_of_turn>");
      out.Text("\n");
      break;
    case ChatTemplate::kZephyr:
      out.Eos();
      out.Text("\n");
      break;
    default:
      out.Eos();
  }
}

// Refuses marks of the template that are ordinary text, and so could end a turn from inside a
// message. Meta's chat_completion does the same.
inline Result<void> CheckContent(ChatTemplate chat_template, std::string_view content) {
  std::vector<std::string_view> marks;
  if (chat_template == ChatTemplate::kLlama2) marks = {"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"};
  if (chat_template == ChatTemplate::kMistral) marks = {"[INST]", "[/INST]"};
  if (chat_template == ChatTemplate::kZephyr) marks = {"<|system|>", "<|user|>", "<|assistant|>"};
  for (const std::string_view mark : marks) {
    if (content.find(mark) == std::string_view::npos) continue;
    return Fail(ErrorCode::kInvalidArgument, "a message contains " + std::string(mark) + ", which the chat template " +
                                                 std::string(NameOf(chat_template)) + " uses to separate messages");
  }
  return {};
}

// Checks the messages after the system message: user and assistant in turns, from user to user.
inline Result<void> CheckRoles(ChatTemplate chat_template, std::span<const Message> turns) {
  const auto refuse = [&](const std::string& what) {
    return Fail(ErrorCode::kInvalidArgument,
                "the chat template " + std::string(NameOf(chat_template)) + " cannot express these messages: " + what);
  };
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].role == Role::kSystem) return refuse("a system message can only come first");
    if (turns[i].role == (i % 2 == 0 ? Role::kUser : Role::kAssistant)) continue;
    return refuse("user and assistant must take turns, starting with the user");
  }
  if (turns.size() % 2 == 0) return refuse("the last one must be from the user, to be answered");
  return {};
}

}  // namespace internal

inline Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, ChatTemplate chat_template,
                                               std::span<const Message> messages) {
  return NoThrow("encoding a chat", [&]() -> Result<std::vector<int32_t>> {
    std::string_view system;
    std::span<const Message> turns = messages;
    if (!messages.empty() && messages[0].role == Role::kSystem) {
      system = messages[0].content;
      turns = messages.subspan(1);
    }
    if (chat_template == ChatTemplate::kNone && messages.size() > 1) {
      return Fail(ErrorCode::kInvalidArgument, "without a chat template there can be only one message, a user's");
    }
    Result<void> valid = internal::CheckRoles(chat_template, turns);
    if (!valid) return Failure(valid.error());
    for (const Message& message : messages) {
      if (message.role == Role::kAssistant) continue;
      valid = internal::CheckContent(chat_template, message.content);
      if (!valid) return Failure(valid.error());
    }

    internal::PromptWriter out(tokenizer, NameOf(chat_template));
    internal::WriteStart(chat_template, out);
    for (size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].role == Role::kUser) {
        internal::WriteUser(chat_template, i == 0 ? system : std::string_view(), turns[i].content, out);
      } else {
        internal::WriteAssistant(chat_template, turns[i].content, out);
        internal::WriteEndOfAssistant(chat_template, out);
      }
    }
    return std::move(out).Finish();
  });
}

inline Result<std::vector<int32_t>> EncodeNextTurn(const Tokenizer& tokenizer, ChatTemplate chat_template,
                                                   std::string_view user_text) {
  return NoThrow("encoding a turn", [&]() -> Result<std::vector<int32_t>> {
    if (Result<void> valid = internal::CheckContent(chat_template, user_text); !valid) {
      return Failure(valid.error());
    }
    internal::PromptWriter out(tokenizer, NameOf(chat_template));
    internal::WriteEndOfAssistant(chat_template, out);
    internal::WriteUser(chat_template, {}, user_text, out);
    return std::move(out).Finish();
  });
}

}  // namespace skald

#endif  // SKALD_TEXT_CHAT_TEMPLATE_H_
