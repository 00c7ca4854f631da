// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/chat.h.

#ifndef SKALD_OPEN_DETAIL_CHAT_H_
#define SKALD_OPEN_DETAIL_CHAT_H_

#include "skald/open/chat.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/open/detail/final_message.h"
#include "skald/open/tools/detail/adapted_calls.h"
#include "skald/open/tools/detail/adapted_thoughts.h"
#include "skald/open/tools/detail/tool_text.h"
#include "skald/templates/built_in.h"
#include "skald/templates/special_tokens.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald {

SKALD_INLINE Chat::Chat(std::span<const Message> texts) {
  for (const Message& message : texts) Add(message.role, message.content, message.thought);
}

SKALD_INLINE void Chat::Add(Role role, std::string_view content, std::string_view thought) {
  constexpr const char* kRoles[] = {"system", "user", "assistant"};
  // A JsonValue can be destroyed without memory, as a tree cannot.
  JsonValue message = JsonValue::Object();
  TreeOf(message)["role"] = kRoles[static_cast<size_t>(role)];
  TreeOf(message)["content"] = content;
  if (!thought.empty()) TreeOf(message)["reasoning_content"] = thought;
  TreeOf(messages).push_back(std::move(TreeOf(message)));
}

SKALD_INLINE std::string_view GuessBuiltInTemplate(const Tokenizer& tokenizer) {
  if (tokenizer.SpecialId("<start_of_turn>")) return "gemma";
  if (tokenizer.SpecialId("[INST]")) return "mistral-v3";
  return "none";
}

namespace internal {

inline std::optional<int32_t> PieceNamed(const Tokenizer& tokenizer, std::string_view name) {
  if (name == "BOS") return tokenizer.bos_id();
  if (name == "EOS") return tokenizer.eos_id();
  return tokenizer.SpecialId(name);
}

SKALD_INLINE Result<void> CheckPieces(const Tokenizer& tokenizer, const ChatTemplateParts& parts) {
  for (const std::string& name : parts.pieces) {
    if (PieceNamed(tokenizer, name)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the ", parts.name, " needs the piece ", name, ", which the tokenizer does not have"}));
  }
  return {};
}

inline Result<void> CheckMarks(const ChatTemplateParts& parts, const nlohmann::ordered_json& messages) {
  for (const auto& message : messages) {
    if (!message.is_object()) continue;
    const auto role = message.find("role");
    if (role != message.end() && role->is_string() && role->get_ref<const std::string&>() == "assistant") continue;
    const auto content = message.find("content");
    if (content == message.end() || !content->is_string()) continue;
    for (const std::string& mark : parts.marks) {
      if (content->get_ref<const std::string&>().find(mark) == std::string::npos) continue;
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({"a message contains ", mark, ", which the ", parts.name, " uses to separate messages"}));
    }
  }
  return {};
}

// A template writes the values of these as its own, and a chat's variables may come from a request.
inline Result<void> CheckVariables(const nlohmann::ordered_json& variables) {
  if (!variables.is_object()) return {};
  for (const auto& [name, value] : variables.items()) {
    static constexpr std::string_view kOthers[] = {"messages", "tools", "documents", "add_generation_prompt"};
    const bool is_other = std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
    if (!is_other && !jinja::IsSpecialTokenName(name)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the variables of a chat contain ", name, ", which the chat template has from elsewhere"}));
  }
  return {};
}

// `text` with the marks that are ordinary text made so even where the tokenizer has special pieces of these names.
inline MarkedText WithPlainMarks(const MarkedText& text, const std::vector<std::string>& marks) {
  MarkedText plain;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text.text()).substr(at);
    const auto mark = std::find_if(marks.begin(), marks.end(), [&](const auto& m) { return rest.starts_with(m); });
    const size_t size = mark == marks.end() ? 1 : mark->size();
    plain.Append(rest.substr(0, size), mark == marks.end() ? text.AuthorAt(at) : Author::kMessage);
    at += size;
  }
  return plain;
}

// The variables of a rendering, in an order in which the last one of a name counts, and what they refer to beside the
// chat and the template.
class ChatVariables {
 public:
  ChatVariables(const Tokenizer& tokenizer, const ChatTemplateParts& parts, const Chat& chat, const JsonValue& messages,
                const JsonValue& tools) {
    const std::optional<int32_t> ids[] = {tokenizer.bos_id(), tokenizer.eos_id(), tokenizer.unk_id(),
                                          tokenizer.pad_id()};
    for (size_t i = 0; i < std::size(ids); ++i) {
      const std::string_view name = jinja::kSpecialTokenNames[i];
      const auto known = parts.special_tokens.find(name);
      const auto piece = ids[i] ? tokenizer.IdToPiece(*ids[i]) : Result<std::string_view>("");
      if (known != parts.special_tokens.end() || !ids[i] || !piece) continue;
      AddToken(name, *piece);
    }
    for (const auto& [name, spelling] : parts.special_tokens) {
      if (spelling) AddToken(name, *spelling);
    }
    list_.emplace_back("messages", &messages);
    list_.emplace_back("tools", &tools);
    list_.emplace_back("documents", &chat.documents);
    // The name that SmolLM3's template has for tools, and those of Fireworks' for tools and time.
    list_.emplace_back("xml_tools", &tools);
    if (!tools.is_null()) TreeOf(functions_) = calls::FunctionsText(TreeOf(tools));
    if (chat.options.now) TreeOf(datetime_) = DateTime(*chat.options.now);
    list_.emplace_back("functions", &functions_);
    list_.emplace_back("datetime", &datetime_);
    TreeOf(add_generation_prompt_) = chat.add_generation_prompt && !chat.continue_final_message;
    list_.emplace_back("add_generation_prompt", &add_generation_prompt_);
    list_.emplace_back("", &chat.variables);
  }
  ChatVariables(const ChatVariables&) = delete;
  ChatVariables& operator=(const ChatVariables&) = delete;

  const TemplateVariables& list() const { return list_; }

  // The spelling of BOS, or an empty text.
  std::string_view Bos() const { return bos_; }

 private:
  static std::string DateTime(const WallTime& time) {
    const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
    return std::to_string(time.year) + "-" + two(time.month) + "-" + two(time.day) + " " + two(time.hour) + ":" +
           two(time.minute) + ":" + two(time.second);
  }

  void AddToken(std::string_view name, std::string_view spelling) {
    TreeOf(tokens_.emplace_back()) = spelling;
    list_.emplace_back(name, &tokens_.back());
    if (name == "bos_token") bos_ = spelling;
  }

  std::deque<JsonValue> tokens_;  // texts
  JsonValue add_generation_prompt_, functions_, datetime_;
  std::string_view bos_;
  TemplateVariables list_;
};

// Renders the chat with these messages and tools in place of its own, and says how BOS is spelled.
inline Result<MarkedText> RenderMessages(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                         const Chat& chat, const JsonValue& messages, const JsonValue& tools,
                                         std::string& bos) {
  const ChatVariables variables(tokenizer, chat_template.parts(), chat, messages, tools);
  bos = variables.Bos();
  const std::string_view name = chat.template_name;
  return chat_template.Render(variables.list(), chat.options, name.empty() && !tools.is_null() ? "tool_use" : name);
}

inline bool IsComplaint(const Result<MarkedText>& text) {
  return !text && text.error().code == ErrorCode::kInvalidArgument;
}

// Renders the chat with its tools as text.
inline Result<MarkedText> RenderToolText(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                         const Chat& chat, std::string& bos) {
  const auto render = [&](bool has_system) {
    JsonValue messages = JsonValue::Array();
    calls::AddWithToolText(TreeOf(chat.messages), TreeOf(chat.tools), has_system, TreeOf(messages));
    return RenderMessages(tokenizer, chat_template, chat, messages, {}, bos);
  };
  Result<MarkedText> text = render(true);
  if (!IsComplaint(text)) return text;
  Result<MarkedText> other = render(false);
  return other ? std::move(other) : std::move(text);
}

// Renders the chat in the ways that templates want tools, calls and thoughts, until one does; returns the first error
// if none does.
inline Result<MarkedText> RenderAnyWay(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat,
                                       std::string& bos) {
  if (chat.tools_are_text) return RenderToolText(tokenizer, chat_template, chat, bos);
  const std::string_view source = chat_template.source();
  const bool has_calls = calls::HaveCalls(TreeOf(chat.messages));
  const calls::CallForm* const unwritten = has_calls ? calls::UnwrittenForm(source) : nullptr;
  const calls::CallForm* const untold = chat.tools.is_null() ? nullptr : calls::UntoldForm(source);
  const bool calls_alone = has_calls && calls::WantsCallsAlone(source);
  const bool in_system = !chat.tools.is_null() && calls::WantsToolsInSystem(source);
  const calls::ThoughtPlace thoughts =
      calls::HaveThoughts(TreeOf(chat.messages)) ? calls::ThoughtPlaceOf(source) : calls::ThoughtPlace::kHere;
  const bool are_same =
      unwritten == nullptr && untold == nullptr && !calls_alone && !in_system && thoughts == calls::ThoughtPlace::kHere;
  const auto render = [&](bool with_text, bool with_ids) {
    if (are_same && !with_text && !with_ids) {
      return RenderMessages(tokenizer, chat_template, chat, chat.messages, chat.tools, bos);
    }
    JsonValue messages = chat.messages;
    auto& list = TreeOf(messages);
    for (auto& message : list) {
      if (unwritten != nullptr) calls::WriteCallsInText(*unwritten, message);
    }
    if (thoughts != calls::ThoughtPlace::kHere) calls::MoveThoughts(thoughts, list);
    if (calls_alone) calls::LeaveCallsAlone(list);
    if (untold != nullptr) calls::DescribeTools(*untold, TreeOf(chat.tools), list);
    if (in_system) calls::GiveToolsToSystem(TreeOf(chat.tools), list);
    if (with_text) calls::WriteArguments(list);
    if (with_ids) calls::ShortenIds(list);
    return RenderMessages(tokenizer, chat_template, chat, messages, chat.tools, bos);
  };
  Result<MarkedText> text = render(false, false);
  if (!IsComplaint(text) || !has_calls) return text;
  for (const int way : {1, 2, 3}) {
    if (Result<MarkedText> other = render(way & 1, way & 2); other) return other;
  }
  return text;
}

// Ids as text, step by step. Special pieces are no text: they separate stretches of it.
class IdsAsText {
 public:
  IdsAsText(const Tokenizer& tokenizer, std::span<const int32_t> ids, size_t begin, StreamDecoder decoder)
      : tokenizer_(tokenizer), ids_(ids), at_(begin), decoder_(std::move(decoder)) {}

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == ids_.size(); }
  std::string& text() { return text_; }  // that was read and not yet taken off

  // Whether all that was read is in text(): no character is incomplete.
  bool IsBetweenCharacters() const {
    StreamDecoder copy = decoder_;
    return copy.Flush().empty();
  }

  // The next id if it is special.
  std::optional<int32_t> Special() const {
    if (AtEnd()) return std::nullopt;
    const Result<std::string_view> piece = tokenizer_.IdToPiece(ids_[at_]);
    const bool is_special =
        !piece || tokenizer_.KindOf(ids_[at_]) == PieceKind::kControl || tokenizer_.SpecialId(*piece) == ids_[at_];
    return is_special ? std::optional<int32_t>(ids_[at_]) : std::nullopt;
  }

  void Read() {
    if (Special()) {
      text_ += decoder_.Flush();
    } else {
      text_ += decoder_.Push(ids_[at_]).value_or("");
    }
    ++at_;
  }

 private:
  const Tokenizer& tokenizer_;
  std::span<const int32_t> ids_;
  size_t at_;
  StreamDecoder decoder_;
  std::string text_;
};

// Takes off what both texts begin with. Returns whether one of them is used up, so that nothing contradicts.
inline bool TakeCommon(std::string& a, std::string& b) {
  const size_t same = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  a.erase(0, same);
  b.erase(0, same);
  return a.empty() || b.empty();
}

// How far two sequences of ids represent the same text: the furthest places in both, each between two ids, of which the
// second is not at the end.
inline std::pair<size_t, size_t> CommonPlaces(const Tokenizer& tokenizer, std::span<const int32_t> cached,
                                              std::span<const int32_t> wanted) {
  const size_t most = std::min(cached.size(), wanted.size() - 1);
  const size_t same = static_cast<size_t>(
      std::mismatch(cached.begin(), cached.begin() + static_cast<std::ptrdiff_t>(most), wanted.begin()).first -
      cached.begin());
  StreamDecoder decoder(tokenizer);
  for (const int32_t id : wanted.first(same)) static_cast<void>(decoder.Push(id));
  IdsAsText a(tokenizer, cached, same, decoder), b(tokenizer, wanted, same, decoder);
  std::pair<size_t, size_t> furthest = {same, same};
  while (!a.AtEnd() && !b.AtEnd()) {
    const std::optional<int32_t> special_a = a.Special(), special_b = b.Special();
    // A special piece waits for the other text to come as far.
    const bool read_a = a.text().empty() && !special_a, read_b = b.text().empty() && !special_b;
    if (!read_a && !read_b) {
      if (!special_a || special_a != special_b || !a.text().empty() || !b.text().empty()) break;
      a.Read();
      b.Read();
    } else {
      if (read_a) a.Read();
      if (read_b) b.Read();
    }
    if (!TakeCommon(a.text(), b.text())) break;
    const bool is_place = a.text().empty() && b.text().empty() && a.IsBetweenCharacters() && b.IsBetweenCharacters();
    if (is_place && !b.AtEnd()) furthest = {a.at(), b.at()};
  }
  return furthest;
}

}  // namespace internal

SKALD_INLINE Result<MarkedText> RenderChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                           const Chat& chat) {
  return NoThrow("rendering a chat", [&]() -> Result<MarkedText> {
    const ChatTemplateParts& parts = chat_template.parts();
    if (!chat.template_name.empty() && !chat_template.Has(chat.template_name)) {
      return Fail(ErrorCode::kNotFound,
                  Concat({"the model has no chat template named ", QuotedName(chat.template_name)}));
    }
    if (Result<void> valid = internal::CheckPieces(tokenizer, parts); !valid) return Failure(valid.error());
    if (Result<void> valid = internal::CheckMarks(parts, TreeOf(chat.messages)); !valid) return Failure(valid.error());
    if (Result<void> valid = internal::CheckVariables(TreeOf(chat.variables)); !valid) return Failure(valid.error());
    std::string spelling;
    Result<MarkedText> text = internal::RenderAnyWay(tokenizer, chat_template, chat, spelling);
    if (text && chat.continue_final_message) text = internal::UpToFinalMessage(*text, TreeOf(chat.messages));
    if (text && !parts.marks.empty()) text = internal::WithPlainMarks(*text, parts.marks);
    if (!text || !parts.adds_bos || spelling.empty()) return text;
    if (text->text().starts_with(spelling) && text->IsTemplates(0, spelling.size())) return text;
    MarkedText with_bos(spelling, Author::kTemplate);
    with_bos.Append(*text);
    return with_bos;
  });
}

SKALD_INLINE Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                                     const Chat& chat) {
  return NoThrow("encoding a chat", [&]() -> Result<std::vector<int32_t>> {
    SKALD_ASSIGN(const auto text, RenderChat(tokenizer, chat_template, chat));
    if (const size_t least = tokenizer.LeastIds(text.text()); least > chat.most_ids) {
      return Fail(ErrorCode::kOutOfRange,
                  Concat({"the chat has at least ", std::to_string(least), " tokens, but ",
                          std::to_string(chat.most_ids), " fit"}),
                  {.needed_tokens = least, .available_tokens = chat.most_ids});
    }
    return tokenizer.Encode(text);
  });
}

SKALD_INLINE Result<NextTurn> EncodeNextTurn(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                             const Chat& chat, std::span<const int32_t> cached) {
  return NoThrow("encoding a turn", [&]() -> Result<NextTurn> {
    SKALD_ASSIGN(const auto wanted, EncodeChat(tokenizer, chat_template, chat));
    if (wanted.empty()) return Fail(ErrorCode::kInvalidArgument, "the chat template writes nothing for this chat");
    const auto [keep, from] = internal::CommonPlaces(tokenizer, cached, wanted);
    return NextTurn{keep, {wanted.begin() + static_cast<std::ptrdiff_t>(from), wanted.end()}};
  });
}

SKALD_INLINE Result<std::vector<int32_t>> StopIds(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                                  const GenerationConfig& advice) {
  return NoThrow("the ids that end a turn", [&]() -> Result<std::vector<int32_t>> {
    std::vector<int32_t> ids;
    const auto add = [&](int32_t id) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    };
    // Markers that end turns wherever models have them.
    std::vector<std::string> names = chat_template.parts().stops;
    for (const char* name : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|END_OF_TURN_TOKEN|>",
                             "<turn|>", "<|tool_response>", "<|observation|>"}) {
      if (chat_template.source().find(name) != std::string::npos) names.emplace_back(name);
    }
    for (const std::string& name : names) {
      if (const auto id = tokenizer.SpecialId(name)) add(*id);
    }
    for (const int32_t id : advice.eos_ids) {
      if (static_cast<size_t>(id) >= tokenizer.vocab_size()) {
        return Fail(ErrorCode::kDataLoss, "generation_config.json: eos_token_id " + std::to_string(id) +
                                              " is beyond the tokenizer's vocabulary of " +
                                              std::to_string(tokenizer.vocab_size()));
      }
      add(id);
    }
    if (const auto id = tokenizer.eos_id()) add(*id);
    return ids;
  });
}

SKALD_INLINE bool BeginsThinking(const Tokenizer& tokenizer, const OutputFormat& format,
                                 std::span<const int32_t> prompt) {
  if (format.think_begin.empty()) return false;
  const auto tail = prompt.last(std::min<size_t>(prompt.size(), 16));
  std::string text = tokenizer.Decode(tail, SkipSpecial::kNo).value_or("");
  const auto trim = [](std::string& one) {
    while (one.ends_with('\n') || one.ends_with(' ')) one.pop_back();
  };
  std::string begin = format.think_begin;
  trim(text);
  trim(begin);
  return text.ends_with(begin);
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_CHAT_H_
