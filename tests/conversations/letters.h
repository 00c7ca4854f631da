// SPDX-License-Identifier: Apache-2.0
//
// Text for small models with random weights: a tokenizer with a piece for each letter, so that a text has one spelling,
// and chat templates. Their conversations need no files.

#ifndef SKALD_TESTS_CONVERSATIONS_LETTERS_H_
#define SKALD_TESTS_CONVERSATIONS_LETTERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/conversation.h"
#include "skald/templates/built_in.h"
#include "skald/templates/chat_template.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/support/small_models.h"

namespace skald::testing {

inline constexpr std::string_view kLetters = "\n abcdefghijklmnopqrstuvwxyz0123456789.,?!";
inline constexpr const char* kMarks[] = {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"};
inline constexpr int32_t kFirstLetter = 5, kTurnEnd = 4;

inline Tokenizer LettersTokenizer() {
  std::string vocabulary, added;
  int id = 0;
  const auto add = [&](const std::string& piece) {
    vocabulary += (id == 0 ? "\"" : ",\"") + (piece == "\n" ? "\\n" : piece) + "\":" + std::to_string(id);
    ++id;
  };
  for (const char* mark : kMarks) {
    added += (id == 0 ? "" : ",") + std::string("{\"id\":") + std::to_string(id) + ",\"content\":\"" + mark +
             "\",\"special\":true}";
    add(mark);
  }
  for (const char letter : kLetters) add(std::string(1, letter));
  auto tokenizer = Tokenizer::Parse("{\"added_tokens\":[" + added +
                                    "],\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"BPE\",\"unk_token\":"
                                    "\"<unk>\",\"vocab\":{" +
                                    vocabulary + "},\"merges\":[]}}");
  REQUIRE_MESSAGE(tokenizer.has_value(), (tokenizer ? "" : tokenizer.error().message));
  return *std::move(tokenizer);
}

inline constexpr std::string_view kTurnsWithMarks =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// The system's message is part of the first user's, as Gemma and Mistral have it.
inline constexpr std::string_view kSystemInFirstTurn =
    "{% set system = messages[0].content + '\\n' if messages[0].role == 'system' else '' %}"
    "{% set turns = messages[1:] if messages[0].role == 'system' else messages %}<s>"
    "{% for m in turns %}{{ '<|im_start|>' + m.role + '\\n' + (system if loop.first else '') + m.content +"
    " '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

inline ModelText TextWith(std::string_view template_source) {
  auto chat_template = template_source.empty() ? BuiltInTemplate("none") : ChatTemplate::Parse(template_source);
  REQUIRE(chat_template);
  Tokenizer tokenizer = LettersTokenizer();
  const OutputFormat output = OutputFormatOf(template_source);
  ModelText text = {std::move(tokenizer), *std::move(chat_template), {kTurnEnd}, {}, output};
  // Only letters, or the end of an answer.
  const auto ban = [&text](int32_t id) {
    text.sampler.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
  };
  for (int32_t id = 0; id < kTurnEnd; ++id) ban(id);
  for (int32_t id = kFirstLetter + static_cast<int32_t>(kLetters.size()); id < 512; ++id) ban(id);
  return text;
}

// Bans without effect on a model with fewer rows are errors of the sampler.
inline ModelText TextFor(const SmallModel& small, std::string_view template_source) {
  ModelText text = TextWith(template_source);
  std::erase_if(text.sampler.logit_bias,
                [&](const LogitBias& bias) { return bias.token >= static_cast<int32_t>(small.spec.vocab_size); });
  return text;
}

// Letters from a generator, no space at either end.
inline std::string RandomMessage(std::mt19937& random, size_t most) {
  std::string text;
  for (size_t n = 1 + random() % most; n > 0; --n) text += kLetters[2 + random() % 26];
  return text;
}

inline Conversation NewConversation(const RandomModel& model, const ModelText& text, const RuntimeConfig& runtime,
                                    ConversationOptions options = {}, std::function<bool()> is_stopped = {}) {
  auto conversation = Conversation::Create(text,
                                           {.model = model,
                                            .pool = NewPool(model.small(), runtime),
                                            .is_stopped = std::move(is_stopped),
                                            .workspace = {.threads = 1}},
                                           std::move(options));
  REQUIRE_MESSAGE(conversation.has_value(), (conversation ? "" : conversation.error().message));
  return *std::move(conversation);
}

// The logits [vocab_size] of `cache` after `tokens`.
inline std::vector<float> LogitsAfter(const RandomModel& model, KVCache cache, std::span<const int32_t> tokens) {
  auto workspace = CreateWorkspace({.threads = 1});
  REQUIRE(workspace);
  const auto logits = model.Forward(cache, tokens, *workspace);
  REQUIRE_MESSAGE(logits.has_value(), (logits ? "" : logits.error().message));
  return {logits->begin(), logits->end()};
}

// Checks that the logits after a conversation and one more token, where that fits, are those of an empty cache that is
// given all tokens.
inline void CheckLogits(const RandomModel& model, const Conversation& conversation) {
  const TokenSession& session = conversation.session();
  std::vector<int32_t> ids = session.ids();
  ids.push_back(kFirstLetter);
  ids.resize(std::min<size_t>(ids.size(), session.max_tokens()));
  if (ids.size() == session.cache().size()) return;
  const auto ours = LogitsAfter(model, *session.cache().Fork(), std::span(ids).subspan(session.cache().size()));
  CHECK(ours == LogitsAfter(model, NewCache(model.small(), session.pool()->runtime()), ids));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONVERSATIONS_LETTERS_H_
