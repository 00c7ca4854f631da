// SPDX-License-Identifier: Apache-2.0
//
// Chats as token ids: a chat template renders the messages, and the tokenizer encodes the rendering, in which only what
// the template wrote can become a special token. Pure functions; safe for concurrent calls.

#ifndef SKALD_OPEN_CHAT_H_
#define SKALD_OPEN_CHAT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/json/json_value.h"
#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/open/generation_config.h"
#include "skald/open/tools/output_format.h"
#include "skald/templates/chat_template.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

enum class Role { kSystem, kUser, kAssistant };

/// A message of nothing but text.
struct Message {
  Role role = Role::kUser;   ///< the author
  std::string content;       ///< UTF-8
  std::string thought = {};  ///< of an assistant, before the content; empty: none

  friend bool operator==(const Message&, const Message&) = default;
};

/// The variables of a template, in the order of the libraries that templates are written for.
struct Chat {
  Chat() = default;
  /// A chat of these messages, in their order. The texts are copied.
  explicit Chat(std::span<const Message> texts);

  /// Adds a message of nothing but text.
  void Add(Role role, std::string_view content) { Add(role, content, {}); }
  /// The same with a thought, "reasoning_content", unless that is empty.
  void Add(Role role, std::string_view content, std::string_view thought);

  JsonValue messages = JsonValue::Array();  ///< {"role": ..., "content": ..., ...}
  JsonValue tools;                          ///< a list of tool descriptions, or null
  JsonValue documents;                      ///< a list, or null
  /// An object: "enable_thinking" and the like. Values from elsewhere, as "bos_token", are not among them.
  JsonValue variables = JsonValue::Object();
  bool add_generation_prompt = true;  ///< up to where the model answers
  /// The model goes on with the last message: the rendering ends with it, and has no generation prompt.
  bool continue_final_message = false;
  /// For a template that knows no tools: a text of the system describes them, and calls and results are parts of
  /// messages' texts, as ToolForm::kJson has them.
  bool tools_are_text = false;
  std::string template_name;  ///< of several that a model publishes; empty: "tool_use" for chats with tools
  RenderOptions options;      ///< the time, for templates that tell it; limits
  /// A chat that is certain to have more ids is an error before they are made.
  size_t most_ids = std::numeric_limits<size_t>::max();
};

/// The work for the next answer of a conversation that keeps its cache: keep the first `keep` tokens of the cache,
/// rewinding it if it has more, and compute `ids`, of which there is at least one.
struct NextTurn {
  size_t keep = 0;           ///< tokens of the cache
  std::vector<int32_t> ids;  ///< token ids
};

/// Returns the rendering of a chat. The template finds the spellings of special tokens that its files tell of, and of
/// the tokenizer's BOS, EOS, padding and unknown pieces where they do not. BOS is the template's affair; only where
/// tokenizer_config.json or GGUF metadata say that texts begin with it, and the rendering does not, it is added.
///
/// Calls in messages are written as the template wants them: a rendering that fails is tried again with arguments as a
/// text, and with ids of nine digits. Where it writes calls but no tools, the system's text describes the tools.
///
/// Errors: those of ChatTemplate::Render; a last message that cannot be continued; a piece that a built-in template
/// needs and the tokenizer lacks; a user's or system's message with a mark of a built-in template that is ordinary text
/// to its tokenizer; a variable of the chat with a name that the template trusts. (There is no such rule for marks of
/// published templates: of a text like
/// "### Response:" nothing tells that it separates messages, and a rule that refused all text of the template would
/// refuse half of all messages. Marks with tokens of their own, which nearly all models use for turns, are safe with
/// any template.)
Result<MarkedText> RenderChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat);

/// Returns the ids of a whole chat.
Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                        const Chat& chat);

/// Returns what a cache that holds `cached` needs to hold the whole `chat`, which goes on from an earlier one: rendered
/// whole, and compared with what is there. Where the ids agree, or the texts of the ids up to a place between two ids
/// of each, the cache is kept: a model may spell its answer with other ids than the tokenizer would. From there on the
/// ids are those of EncodeChat. Where a template rewrites the past, as those of reasoning models do that drop what the
/// model thought, `keep` is where that begins. Errors: those of EncodeChat.
Result<NextTurn> EncodeNextTurn(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat,
                                std::span<const int32_t> cached);

/// Returns the ids that end the model's turn: those that its publisher names; the tokenizer's own; those that the
/// template is known by. Stop when one is sampled, and do not feed it to the model: EncodeNextTurn brings it. Error:
/// kDataLoss for an id that the tokenizer does not have.
Result<std::vector<int32_t>> StopIds(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                     const GenerationConfig& advice = {});

/// Returns the name of the built-in template that the special pieces of `tokenizer` tell of, or "none". Llama 2,
/// TinyLlama and the first Mistral models have no pieces of their own for chats, so they cannot be told apart.
std::string_view GuessBuiltInTemplate(const Tokenizer& tokenizer);

/// Returns whether a prompt ends with the mark that begins a thought, so that the answer goes on with that thought.
bool BeginsThinking(const Tokenizer& tokenizer, const OutputFormat& format, std::span<const int32_t> prompt);

namespace internal {

Result<void> CheckPieces(const Tokenizer& tokenizer, const ChatTemplateParts& parts);

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/chat.h"
#endif

#endif  // SKALD_OPEN_CHAT_H_
