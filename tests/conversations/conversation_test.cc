// SPDX-License-Identifier: Apache-2.0
//
// Conversation: turns, forks, ways back, saved states, ends and failures.

#include "skald/open/conversation.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/saved_conversation.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/conversations/letters.h"
#include "tests/support/check_error.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace conversation_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 260, .resume_point_every = 50};

// Random changes; after each, what follows is what follows from the tokens.
class RandomChanges {
 public:
  RandomChanges(uint32_t seed, const RandomModel& model)
      : random_(seed),
        model_(model),
        text_(TextFor(model.small(), kTurnsWithMarks)),
        conversation_(NewConversation(model, text_, kRuntime, Options(seed))) {}

  void Change() {
    switch (random_() % 8) {
      case 0:
        REQUIRE(conversation_.KeepTurns(random_() % (conversation_.turns() + 1)));
        break;
      case 1:
        if (conversation_.turns() > 0) REQUIRE(conversation_.TakeBack());
        break;
      case 2:
        if (conversation_.turns() > 0) REQUIRE(conversation_.Regenerate());
        break;
      case 3: {
        auto fork = *conversation_.Fork();
        REQUIRE(fork.Say(RandomMessage(random_, 20)));
        if (random_() % 2 == 0) conversation_ = std::move(fork);
        break;
      }
      case 4:
        SaveAndResume();
        break;
      default:
        REQUIRE(conversation_.Say(RandomMessage(random_, 40)));
    }
    CHECK(conversation_.messages().size() == 1 + 2 * conversation_.turns());
    CheckLogits(model_, conversation_);
  }

 private:
  static ConversationOptions Options(uint32_t seed) {
    return {.system = "be kind", .seed = seed, .max_tokens = 40, .recomputes = true};
  }

  void SaveAndResume() {
    const Identity identity;
    MemoryStore store(kUnlimited);
    const auto key = SaveConversation(conversation_, identity, store);
    REQUIRE(key);
    Conversation other = NewConversation(model_, text_, kRuntime, {.max_tokens = 40, .recomputes = true});
    REQUIRE(ResumeConversation(other, identity, store, *key));
    const std::string message = RandomMessage(random_, 20);
    const auto one = conversation_.Say(message), two = other.Say(message);
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->tokens == two->tokens);
    CHECK(conversation_.messages() == other.messages());
    conversation_ = std::move(other);
  }

  std::mt19937 random_;
  const RandomModel& model_;
  const ModelText text_;
  Conversation conversation_;
};

SKALD_LAW("whatever is done with a conversation, what follows is what follows from its tokens", small) {
  const RandomModel model(small, 6);
  for (uint32_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    RandomChanges changes(seed, model);
    for (int change = 0; change < 14; ++change) changes.Change();
  }
}

// A conversation on the model of every kind of layer.
struct Scene {
  explicit Scene(std::string_view source = kTurnsWithMarks) : text(TextFor(small, source)) {}

  Conversation Begin(ConversationOptions options = {}, std::function<bool()> is_stopped = {}) const {
    return NewConversation(model, text, kRuntime, std::move(options), std::move(is_stopped));
  }

  // Whether a second of the two goes on as the first one.
  static void CheckSame(Conversation& a, Conversation& b) {
    CHECK(a.session().ids() == b.session().ids());
    CHECK(a.messages() == b.messages());
    CHECK(a.turns() == b.turns());
    auto one = *a.Fork(), two = *b.Fork();
    const auto x = one.Say("and now"), y = two.Say("and now");
    REQUIRE(x);
    REQUIRE(y);
    CHECK(x->tokens == y->tokens);
  }

  const SmallModel& small = SmallModelNamed("hybrid");
  RandomModel model{small, 7};
  ModelText text;
};

TEST_CASE("pieces, joined, are the text of the answer") {
  const Scene scene;
  Conversation conversation = scene.Begin({.system = "be brief", .max_tokens = 30});
  std::string pieces;
  const auto reply = conversation.Say("hello", [&](std::string_view piece) { pieces += piece; });
  REQUIRE(reply);
  CHECK(reply->text == pieces);
  CHECK(!pieces.empty());
  const auto& messages = conversation.messages();
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].content == "be brief");
  CHECK(messages[1].content == "hello");
  CHECK(messages[2].content == pieces);
  CHECK(conversation.session().statistics().generated_tokens == reply->tokens.size());
}

TEST_CASE("each end says which limit it was") {
  Scene scene;
  auto never = scene.text;
  never.sampler.logit_bias.push_back({kTurnEnd, -std::numeric_limits<float>::infinity()});
  auto always = scene.text;
  always.sampler.logit_bias.push_back({kTurnEnd, 1000.0f});

  Conversation model_ends = NewConversation(scene.model, always, kRuntime);
  const auto one = model_ends.Say("hello");
  REQUIRE(one);
  CHECK(one->end == AnswerEnd::kModel);
  CHECK(one->tokens.empty());
  CHECK(model_ends.turns() == 1);

  Conversation limited = NewConversation(scene.model, never, kRuntime, {.max_tokens = 9});
  const auto two = limited.Say("hello");
  REQUIRE(two);
  CHECK(two->end == AnswerEnd::kTokenLimit);
  CHECK(two->tokens.size() == 9);

  Conversation full = NewConversation(scene.model, never, kRuntime);
  const auto three = full.Say("hello");
  REQUIRE(three);
  CHECK(three->end == AnswerEnd::kContextFull);
  CHECK(full.session().size() == kRuntime.max_tokens + 1);
  const auto after = full.Say("and now");  // no dead end
  REQUIRE(after);
  CHECK(after->left_out == 1);
  CHECK(full.turns() == 1);

  Conversation stopped = NewConversation(scene.model, never, kRuntime);
  int pieces = 0;
  const auto four = stopped.Say("hello", [&](std::string_view) { return ++pieces < 3; });
  REQUIRE(four);
  CHECK(four->end == AnswerEnd::kStopped);
  CHECK(pieces == 3);
  CHECK(four->tokens.size() == 3);
  REQUIRE(stopped.Say("go on", [](std::string_view) { return false; }));
  CHECK(stopped.turns() == 2);
}

TEST_CASE("a stop before the first token takes the message back") {
  const Scene scene;
  bool stops = false;
  Conversation conversation = scene.Begin({.max_tokens = 20}, [&stops] { return stops; });
  REQUIRE(conversation.Say("hello"));
  Conversation before = *conversation.Fork();
  stops = true;
  const auto reply = conversation.Say("and now");
  REQUIRE(reply);
  CHECK(reply->end == AnswerEnd::kStopped);
  CHECK(reply->tokens.empty());
  stops = false;
  Scene::CheckSame(conversation, before);
}

TEST_CASE("an answer that is drawn again is another one, and the question stays") {
  const Scene scene;
  Conversation conversation = scene.Begin({.max_tokens = 20});
  CheckError(conversation.Regenerate(), ErrorCode::kFailedPrecondition, "no answer");
  const auto first = conversation.Say("hello");
  const auto second = conversation.Regenerate();
  REQUIRE(second);
  CHECK(second->tokens != first->tokens);
  CHECK(conversation.turns() == 1);
  CHECK(conversation.messages()[0].content == "hello");
}

TEST_CASE("a conversation that begins again is a new one with that system message") {
  const Scene scene;
  Conversation conversation = scene.Begin({.system = "as before", .max_tokens = 20});
  REQUIRE(conversation.Say("hello"));
  REQUIRE(conversation.Begin("be brief"));
  CHECK(conversation.turns() == 0);
  CHECK(conversation.session().size() == 0);
  Conversation expected = scene.Begin({.system = "be brief", .max_tokens = 20});
  const auto found = conversation.Say("hello");
  REQUIRE(found);
  // Messages are counted on, so that a message sent again gets another answer: draws of the second message here.
  REQUIRE(expected.Say("hello"));
  CHECK(found->tokens == expected.Regenerate()->tokens);
  REQUIRE(conversation.Begin(""));
  CHECK(conversation.messages().empty());
}

TEST_CASE("later answers are drawn as the sampler then says") {
  const Scene scene;
  Conversation conversation = scene.Begin({.max_tokens = 20}),
               greedy = scene.Begin({.sampler = SamplerSettings{.temperature = 0.0f}, .max_tokens = 9});
  CheckError(conversation.SetSampler({.temperature = -1.0f}), ErrorCode::kInvalidArgument, "temperature");
  REQUIRE(conversation.SetSampler({.temperature = 0.0f}));
  conversation.SetMaxTokens(9);
  CHECK(conversation.max_tokens() == 9);
  Scene::CheckSame(conversation, greedy);
}

// A model that has no room at some call.
struct FailingModel {
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    if (calls_left-- == 0) return Fail(ErrorCode::kResourceExhausted, "no room at all");
    return model.Forward(batch, workspace, options);
  }
  const ModelSpec& spec() const { return model.spec(); }

  const RandomModel& model;
  mutable int calls_left = -1;
};

TEST_CASE("an identity tells whether the model's files may hold quantised weights") {
  const std::pair<const char*, bool> folders[] = {
      {"llama", false}, {"quantised/gptq", true}, {"quantised/bitnet", true}, {"quantised/bitnet_online", true}};
  for (const auto& [folder, quantised] : folders) {
    CAPTURE(folder);
    const auto identity = IdentityOfModel(*OpenedModel::Open(GoldenPath(folder)), DType::kBF16);
    REQUIRE_MESSAGE(identity, identity.error().message);
    CHECK(identity->quantised_files == quantised);
  }
}

TEST_CASE("a failure leaves a conversation as it was") {
  const Scene scene;
  const FailingModel failing{scene.model};
  auto made = Conversation::Create(
      scene.text, {.model = failing, .pool = NewPool(scene.small, kRuntime), .workspace = {.threads = 1}},
      {.system = "be brief", .max_tokens = 40});
  REQUIRE(made);
  Conversation& conversation = *made;
  for (const char* message : {"hello", "what is it?", "tell me more", "and then?"}) REQUIRE(conversation.Say(message));
  Conversation before = *conversation.Fork();

  // Turns are left out at this message, so that much is computed again.
  const std::string longer(100, 'a');
  REQUIRE(conversation.Fork()->Say(longer)->left_out > 0);
  for (const int call : {0, 1, 5}) {
    failing.calls_left = call;
    CheckError(conversation.Say(longer), ErrorCode::kResourceExhausted, "no room at all");
    failing.calls_left = -1;
    Scene::CheckSame(conversation, before);
  }
  failing.calls_left = 2;
  CheckError(conversation.Regenerate(), ErrorCode::kResourceExhausted, "no room at all");
  failing.calls_left = -1;
  CheckError(conversation.Say("hello", [](std::string_view) { throw std::runtime_error("a broken pipe"); }),
             ErrorCode::kFailedPrecondition, "a broken pipe");
  CheckError(conversation.Say(std::string(300, 'a')), ErrorCode::kOutOfRange, "at most 260 fit");
  CheckError(conversation.KeepTurns(conversation.turns() + 1), ErrorCode::kOutOfRange, "turn ");
  CheckError(conversation.TakeBack(conversation.turns() + 1), ErrorCode::kFailedPrecondition, "to take back");
  auto state = *conversation.State();
  state.turns.pop_back();
  CheckError(conversation.Restore(std::move(state)), ErrorCode::kDataLoss, "do not belong");
  Scene::CheckSame(conversation, before);
}

TEST_CASE("a saved conversation is refused where it does not belong, and nothing changes") {
  const Scene scene;
  Conversation conversation = scene.Begin({.max_tokens = 20});
  REQUIRE(conversation.Say("hello"));
  MemoryStore store(kUnlimited);
  const auto key = SaveConversation(conversation, {}, store);
  REQUIRE(key);
  Conversation other = scene.Begin({.max_tokens = 20});
  REQUIRE(other.Say("good day"));
  Conversation before = *other.Fork();
  CheckError(ResumeConversation(other, {.salt = "of another tenant"}, store, *key), ErrorCode::kFailedPrecondition, "");
  const auto plain = SaveSnapshot(conversation.session().cache(), {}, {}, store);
  REQUIRE(plain);
  CheckError(ResumeConversation(other, {}, store, *plain), ErrorCode::kUnsupported, "not one of");
  Scene::CheckSame(other, before);
}

TEST_CASE("a state of another pool is refused") {
  const Scene scene;
  Conversation one = scene.Begin(), two = scene.Begin();
  CheckError(one.Restore(*two.State()), ErrorCode::kFailedPrecondition, "another pool");
}

// A model that says what it is told to say.
struct ScriptedModel {
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    auto outputs = model.Forward(batch, workspace, options);
    if (!outputs) return outputs;
    logits.assign(static_cast<size_t>(spec().vocab_size), 0.0f);
    logits[static_cast<size_t>(next < script.size() ? script[next++] : kTurnEnd)] = 1000.0f;
    Outputs scripted;
    scripted.Append(logits);
    return scripted;
  }
  const ModelSpec& spec() const { return model.spec(); }

  const RandomModel& model;
  mutable std::vector<int32_t> script = {};
  mutable size_t next = 0;
  mutable std::vector<float> logits = {};
};

TEST_CASE("thoughts are told apart from the text") {
  Scene scene;
  ModelText text = scene.text;
  text.output.think_begin = "..a";
  text.output.think_end = "a..";
  ScriptedModel scripted{scene.model};
  const auto say = [&](bool shows_thoughts, std::string& pieces) {
    scripted.script = *text.tokenizer.Encode("..ahm wella..so be it");
    scripted.next = 0;
    auto conversation = Conversation::Create(text, {.model = scripted, .pool = NewPool(scene.small, kRuntime)},
                                             {.shows_thoughts = shows_thoughts});
    REQUIRE(conversation);
    const auto reply = conversation->Say("hello", [&](std::string_view piece) { pieces += piece; });
    REQUIRE(reply);
    CHECK(conversation->messages().back() == Message{Role::kAssistant, "so be it", "hm well"});
    return *reply;
  };
  std::string pieces, all;
  const Reply reply = say(false, pieces);
  CHECK(reply.text == "so be it");
  CHECK(reply.thought == "hm well");
  CHECK(pieces == "so be it");
  say(true, all);
  CHECK(all == "..ahm wella..so be it");
}

TEST_CASE("the token limit is what the model learned from, as far as there is memory for it") {
  auto info = IdentifyModel(RepositoryPath("examples/demo_model"));
  REQUIRE(info);
  CHECK(ConversationRuntime(*info).max_tokens == 512);
  info->trained_context = 0;
  CHECK(ConversationRuntime(*info).max_tokens == RuntimeConfig().max_tokens);
  info->trained_context = 1'000'000;
  const uint64_t bytes = 1 << 24;
  const RuntimeConfig runtime = ConversationRuntime(*info, {}, bytes);
  CHECK(runtime.max_tokens < 1'000'000);
  CHECK(ConversationRuntime(*info, {.kv_type = DType::kF32}, bytes).max_tokens == runtime.max_tokens / 2);
}

}  // namespace conversation_test
}  // namespace skald::testing
