// SPDX-License-Identifier: Apache-2.0
//
// Random conversations that are longer than the context, on every small model: with turns left out they go on as
// conversations that never had these turns.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/open/conversation.h"
#include "tests/conversations/letters.h"

namespace skald::testing {
namespace long_conversations_test {

constexpr uint32_t kContext = 230;

// The ids of the messages, up to the end of the last answer.
std::vector<int32_t> IdsOfMessages(const ModelText& text, const Conversation& conversation) {
  Chat chat(conversation.messages());
  chat.add_generation_prompt = false;
  const auto ids = EncodeChat(text.tokenizer, text.chat_template, chat);
  REQUIRE_MESSAGE(ids.has_value(), (ids ? "" : ids.error().message));
  return *ids;
}

// A conversation with nothing computed that has the messages of `state`, but for those of its last turn.
ConversationState BeforeLastTurn(const Conversation& conversation, ConversationState state) {
  state.tokens = {*CreateKVCache(conversation.session().pool()), {}};
  state.turns.assign(state.turns.size() - 1, 0);
  state.messages.resize(state.messages.size() - 2);
  --state.questions;
  return state;
}

class LongConversation {
 public:
  LongConversation(uint32_t seed, const RandomModel& model, std::string_view template_source, bool recomputes)
      : random_(seed),
        model_(model),
        text_(TextFor(model.small(), template_source)),
        conversation_(NewConversation(model, text_, {.max_tokens = kContext, .resume_point_every = 40},
                                      {.system = seed % 2 == 0 && !template_source.empty() ? "be brief" : "",
                                       .seed = seed,
                                       .max_tokens = seed % 3 == 0 ? std::optional<size_t>() : 20 + random_() % 60,
                                       .recomputes = recomputes})) {}

  void Say() {
    const std::string message = RandomMessage(random_, random_() % 8 == 0 ? 120 : 30);
    const auto reply = conversation_.Say(message);
    REQUIRE_MESSAGE(reply.has_value(), (reply ? "" : reply.error().message));
    left_out_ += reply->left_out;
    CHECK(reply->text == text_.tokenizer.Decode(reply->tokens));
    CHECK(conversation_.session().size() <= kContext + 1);
    CheckTokens();
    CheckAgainstMessagesAlone(message, *reply);
  }

  size_t left_out() const { return left_out_; }
  bool is_exact() const {
    return conversation_.session().cache().exact_tokens() == conversation_.session().cache().size();
  }
  void CheckLogitsIfExact() const {
    if (is_exact()) CheckLogits(model_, conversation_);
  }

 private:
  // The tokens are those of the messages that are left, each once.
  void CheckTokens() const {
    const std::vector<int32_t> ids = conversation_.session().ids(), wanted = IdsOfMessages(text_, conversation_);
    REQUIRE(ids.size() <= wanted.size());
    CHECK(std::equal(ids.begin(), ids.end(), wanted.begin()));
    if (!text_.chat_template.parts().only_continues) CHECK(wanted.size() - ids.size() <= 2);
  }

  void CheckAgainstMessagesAlone(const std::string& message, const Reply& reply) {
    if (reply.left_out == 0 || !is_exact()) return;
    auto fresh = *conversation_.Fork();
    REQUIRE(fresh.Restore(BeforeLastTurn(conversation_, *conversation_.State())));
    // A message that went on with a text does not begin one.
    const bool goes_on = text_.chat_template.parts().only_continues && fresh.turns() == 0;
    const auto again = fresh.Say((goes_on ? " " : "") + message);
    REQUIRE(again);
    CHECK(again->left_out == 0);
    CHECK(again->tokens == reply.tokens);
    CHECK(fresh.session().ids() == conversation_.session().ids());
  }

  std::mt19937 random_;
  const RandomModel& model_;
  const ModelText text_;
  Conversation conversation_;
  size_t left_out_ = 0;
};

SKALD_LAW("conversations longer than the context go on as those of the messages that are left", small) {
  const RandomModel model(small, 5);
  for (const std::string_view source : {kTurnsWithMarks, kSystemInFirstTurn, std::string_view()}) {
    for (uint32_t seed = 0; seed < 4; ++seed) {
      CAPTURE(source);
      CAPTURE(seed);
      LongConversation conversation(seed, model, source, /*recomputes=*/seed < 2);
      for (int turn = 0; turn < 14; ++turn) conversation.Say();
      conversation.CheckLogitsIfExact();
      CHECK(conversation.left_out() > 0);
      // Recurrent layers cannot move what is kept, so it was computed again.
      if (seed < 2 || small.layout.has_recurrence()) CHECK(conversation.is_exact());
    }
  }
}

}  // namespace long_conversations_test
}  // namespace skald::testing
