// SPDX-License-Identifier: Apache-2.0
//
// Conversation when memory runs out.

#include <memory>
#include <string>

#include "doctest/doctest.h"
#include "skald/open/conversation.h"
#include "tests/allocation/fail_each.h"
#include "tests/allocation/the_model.h"
#include "tests/conversations/letters.h"

namespace skald::testing {
namespace chat_test {

constexpr RuntimeConfig kChatRuntime = {.max_tokens = 200, .block_tokens = 32, .resume_point_every = 50};

// A conversation that has as many turns as its context holds.
struct Talk {
  explicit Talk(const SmallModel& small) : text(TextFor(small, kTurnsWithMarks)), model(TheModel(small)) {
    for (const char* message : {"hello", "what is it?", "and then?"}) REQUIRE(chat.Say(message));
  }

  std::string State() const {
    std::string state = BytesIn(chat.session().ids()) + std::to_string(chat.turns());
    for (const Message& message : chat.messages()) state += message.content + "\n";
    return state;
  }
  std::string GoOn() {
    const auto reply = chat.Say("go on");
    REQUIRE(reply);
    return State() + reply->text;
  }

  const ModelText text;
  const RandomModel& model;
  Conversation chat = NewConversation(model, text, kChatRuntime, {.system = "be brief", .max_tokens = 20});
};

template <class Call>
void FailEachInTalk(const char* model, const std::string& name, Call call) {
  const SmallModel& small = SmallModelNamed(model);
  FailEachAllocation(
      small.name + ": " + name, [&] { return std::make_unique<Talk>(small); }, call,
      [](Talk& talk, const auto&) { return talk.GoOn(); });
}

TEST_CASE("a chat survives every allocation that fails") {
  for (const char* model : {"one-layer", "hybrid"}) {
    FailEachInTalk(model, "Say with turns left out",
                   [message = std::string(70, 'a')](Talk& talk) { return talk.chat.Say(message); });
    FailEachInTalk(model, "Regenerate", [](Talk& talk) { return talk.chat.Regenerate(); });
    FailEachInTalk(model, "TakeBack", [](Talk& talk) { return talk.chat.TakeBack(); });
    FailEachInTalk(model, "KeepTurns", [](Talk& talk) { return talk.chat.KeepTurns(1); });
    FailEachInTalk(model, "Fork", [](Talk& talk) { return talk.chat.Fork(); });
    FailEachInTalk(model, "State", [](Talk& talk) { return talk.chat.State(); });
  }
}

}  // namespace chat_test
}  // namespace skald::testing
