// SPDX-License-Identifier: Apache-2.0
//
// A model that is served to many without HTTP, as a program of another kind would do it: chats as prompts, answers by
// inboxes, state that is found again, filters, cancelling and the end.

#include "skald/serving/model_service.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/distributed/follow_ranks.h"
#include "skald/open/open_model.h"
#include "skald/open/saved_conversation.h"
#include "skald/serving/chat_prompt.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/check_error.h"

namespace skald::testing {
namespace model_service_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Service = std::unique_ptr<ModelService>;

const std::filesystem::path kDemo = SKALD_REPOSITORY "/examples/demo_model";

// The demo model with a template of turns, which it has not of its own.
constexpr const char* kTurns = R"({%- for m in messages -%}{{ m.role + ':' + m.content + '\n' }}{%- endfor -%}
{{ 'assistant:' if add_generation_prompt }})";

// An answer of so many tokens waits for its reader.
constexpr uint32_t kMoreThanAnInbox = 400;

LanguageModel OpenDemo(const RankShare& share = {}) {
  auto model = OpenModel(kDemo, {.load = {.share = share}});
  REQUIRE(model);
  auto turns = ChatTemplate::Make(kTurns, {});
  REQUIRE(turns);
  model->text.chat_template = *std::move(turns);
  return *std::move(model);
}

ServedModel Served(ServedModelOptions options = {}) {
  options.runtime = {.max_tokens = 512, .cache_bytes = 64 << 20};
  auto served = ServeModel(OpenDemo(), std::move(options));
  REQUIRE_MESSAGE(served, served.error().message);
  return *std::move(served);
}

Service Started(ServedModel model, const ModelServiceOptions& options = {}) {
  auto service = ModelService::Start(std::move(model), options);
  REQUIRE_MESSAGE(service, service.error().message);
  return *std::move(service);
}

Chat Ask(const std::string& question) { return Chat(std::vector<Message>{{Role::kUser, question}}); }

Request RequestFor(ModelService& service, const Chat& chat, uint32_t max_tokens) {
  const ServedModel& model = service.served();
  Request request;
  auto prompt = EncodePrompt(model.text, chat, service.transcripts(), request.tenant);
  REQUIRE_MESSAGE(prompt, prompt.error().message);
  request.prompt = *std::move(prompt);
  request.branch_points = BranchPointsOf(model.text, model.pool->layout(), chat, request.prompt);
  request.sampler = {.temperature = 0.8f, .random = {.seed = 3}};
  request.max_tokens = max_tokens;
  request.digest_logits = true;
  return request;
}

struct Answer {
  std::string text;
  std::vector<int32_t> ids;
  Usage usage;
  FinishReason finish = FinishReason::kError;
};

Answer Read(const EngineLoop::Ticket& ticket) {
  Answer answer;
  while (auto event = ticket.inbox->Next(seconds(60))) {
    answer.text += event->text;
    for (const SampledToken& token : event->tokens) answer.ids.push_back(token.id);
    answer.usage = event->usage;
    if (event->finish) answer.finish = *event->finish;
  }
  CHECK(ticket.inbox->is_finished());
  return answer;
}

EngineLoop::Ticket Submitted(ModelService& service, Request request) {
  auto ticket = service.Submit(std::move(request));
  REQUIRE_MESSAGE(ticket, ticket.error().message);
  return *std::move(ticket);
}

// Answers a chat, which has the answer then.
Answer Converse(ModelService& service, Chat& chat) {
  const Request request = RequestFor(service, chat, 16);
  const Answer answer = Read(Submitted(service, request));
  chat.Add(Role::kAssistant, answer.text);
  std::vector<int32_t> ids = request.prompt;
  ids.insert(ids.end(), answer.ids.begin(), answer.ids.end());
  service.transcripts().Remember(chat.messages, request.tenant, ids);
  return answer;
}

TEST_CASE("chats of many clients have the answers that each has alone") {
  const std::vector<Chat> chats = {Ask("In the beginning"), Ask("And the LORD said"), Ask("Who is he?")};
  std::vector<uint64_t> alone;
  for (const Chat& chat : chats) {
    const Service service = Started(Served());
    alone.push_back(Read(Submitted(*service, RequestFor(*service, chat, 24))).usage.logits_digest);
  }
  const Service service = Started(Served());
  std::vector<EngineLoop::Ticket> tickets;
  for (const Chat& chat : chats) tickets.push_back(Submitted(*service, RequestFor(*service, chat, 24)));
  for (size_t i = 0; i < chats.size(); ++i) CHECK(Read(tickets[i]).usage.logits_digest == alone[i]);
  const ModelServiceStats stats = service->stats();
  CHECK(stats.engine.generated_tokens > 0);
  CHECK(stats.pool.used_bytes > 0);
  CHECK_FALSE(service->health().failure.has_value());
}

TEST_CASE("the next turn of a chat begins with the tokens of the last one, which are not computed again") {
  const Service service = Started(Served());
  Chat chat = Ask("In the beginning");
  const Answer first = Converse(*service, chat);
  chat.Add(Role::kUser, "And then?");
  const Request next = RequestFor(*service, chat, 8);
  const auto begins = [&](const std::vector<int32_t>& ids) {
    return next.prompt.size() > ids.size() && std::equal(ids.begin(), ids.end(), next.prompt.begin());
  };
  std::vector<int32_t> spelled = RequestFor(*service, Ask("In the beginning"), 1).prompt;
  spelled.insert(spelled.end(), first.ids.begin(), first.ids.end());
  CHECK(begins(spelled));
  CHECK(Read(Submitted(*service, next)).usage.cached_tokens >= spelled.size() - 1);
  CHECK(service->stats().prompts.memory_hits > 0);
}

TEST_CASE("services that share a store go on from each other's chats, until one of them forgets") {
  MemoryStore store(64 << 20);
  const auto identity = IdentityOfModel(OpenDemo().info.model, DType::kBF16);
  REQUIRE(identity);
  const ModelServiceOptions options = {.stores = {ChunkStoreRef(store)}};
  Chat chat = Ask("In the beginning");
  {
    const Service service = Started(Served({.identity = *identity}), options);
    Converse(*service, chat);
    service->Stop(seconds(60));
  }
  const Service other = Started(Served({.identity = *identity}), options);
  Chat next = chat;
  next.Add(Role::kUser, "And then?");
  CHECK(Read(Submitted(*other, RequestFor(*other, next, 4))).usage.cached_tokens > 0);
  CHECK(other->stats().prompts.store_hits == 1);
  CHECK_FALSE(other->transcripts().Recall(chat.messages, "").empty());
  Chat relative = Ask("In the beginning");
  other->Forget(chat.messages, std::vector<JsonValue>{relative.messages}, "");
  other->Stop(seconds(60));  // the store has forgotten it, too
  CHECK(other->transcripts().Recall(chat.messages, "").empty());
}

TEST_CASE("a request that is cancelled ends soon, and the others go on") {
  const Service service = Started(Served());
  const EngineLoop::Ticket cancelled =
      Submitted(*service, RequestFor(*service, Ask("In the beginning"), kMoreThanAnInbox));
  const EngineLoop::Ticket other = Submitted(*service, RequestFor(*service, Ask("And"), 8));
  REQUIRE(cancelled.inbox->Next(seconds(60)));
  service->Cancel(cancelled.number);
  CHECK(Read(cancelled).finish == FinishReason::kCancelled);
  CHECK(Read(other).finish != FinishReason::kCancelled);
}

TEST_CASE("a service that stops lets answers end in the time that it gives them, and takes no more") {
  for (const seconds grace : {seconds(0), seconds(60)}) {
    const Service service = Started(Served());
    const uint32_t tokens = grace == seconds(0) ? kMoreThanAnInbox : 60;
    const EngineLoop::Ticket ticket = Submitted(*service, RequestFor(*service, Ask("In the beginning"), tokens));
    REQUIRE(ticket.inbox->Next(seconds(60)));
    service->Stop(grace);
    CHECK((Read(ticket).finish == FinishReason::kCancelled) == (grace == seconds(0)));
    CheckError(service->Submit(RequestFor(*service, Ask("And"), 1)), ErrorCode::kFailedPrecondition, "");
  }
}

TEST_CASE("answers keep the rules that their filters have") {
  const Service service = Started(Served());
  Request request = RequestFor(*service, Ask("How many?"), 32);
  const auto schema = service->FilterOf({.schema = R"({"type": "integer", "minimum": 10, "maximum": 99})"}, request);
  REQUIRE_MESSAGE(schema, schema.error().message);
  request.filter = *schema;
  const auto number = nlohmann::json::parse(Read(Submitted(*service, request)).text);
  CHECK(number >= 10);
  CHECK(number <= 99);
  const auto grammar = service->FilterOfGrammar("root ::= \"yes\" | \"no\"");
  REQUIRE_MESSAGE(grammar, grammar.error().message);
  request.filter = *grammar;
  const std::string text = Read(Submitted(*service, request)).text;
  CHECK((text == "yes" || text == "no"));
  CheckError(service->FilterOfGrammar("root ::= ("), ErrorCode::kInvalidArgument, "expected )");
  const auto nothing = service->FilterOf({}, request);
  REQUIRE(nothing);
  CHECK(*nothing == nullptr);
}

NamedAdapter AdapterNamed(const std::string& name, unsigned char digest) {
  NamedAdapter named = {name, {}};
  named.adapter.digest[0] = std::byte{digest};
  return named;
}

std::vector<NamedAdapter> Two(NamedAdapter one, NamedAdapter other) {
  std::vector<NamedAdapter> adapters;
  adapters.push_back(std::move(one));
  adapters.push_back(std::move(other));
  return adapters;
}

TEST_CASE("adapters have names and digests of their own") {
  CHECK(CheckAdapters("demo", Two(AdapterNamed("poet", 1), AdapterNamed("scribe", 2))));
  CheckError(CheckAdapters("demo", Two(AdapterNamed("poet", 1), AdapterNamed("poet", 2))), ErrorCode::kInvalidArgument,
             "'poet' is the name of another model");
  CheckError(CheckAdapters("demo", Two(AdapterNamed("poet", 1), AdapterNamed("demo", 2))), ErrorCode::kInvalidArgument,
             "'demo' is the name of another model");
  CheckError(CheckAdapters("demo", Two(AdapterNamed("poet", 1), AdapterNamed("scribe", 1))),
             ErrorCode::kInvalidArgument, "'poet' and 'scribe' are the same adapter");
  ServedModel model = Served({.name = "demo"});
  model.adapters = Two(AdapterNamed("demo", 1), AdapterNamed("poet", 2));
  CheckError(ModelService::Start(std::move(model)), ErrorCode::kInvalidArgument, "'demo'");
}

TEST_CASE("a model is found by its name") {
  const Service service = Started(Served({.name = "writer"}));
  REQUIRE(service->FindModel("writer") != nullptr);
  CHECK(service->FindModel("writer")->adapter == Sha256Digest{});
  CHECK(service->FindModel("reader") == nullptr);
  CHECK(service->context() == 512);
}

TEST_CASE("ranks serve a model with the answers of one process") {
  const Request request = RequestFor(*Started(Served()), Ask("In the beginning"), 16);
  const uint64_t alone = Read(Submitted(*Started(Served()), request)).usage.logits_digest;
  auto ends = CreateThreadRanks(2, seconds(60));
  Result<void> followed;
  std::thread follower([&] {
    const CommunicatorRef end(ends[1]);
    const auto model = OpenModel(kDemo, {.load = {.share = end.share()}});
    Workspace workspace = *CreateWorkspace({.threads = 1});
    followed = FollowRanks(model->model, end, workspace);
  });
  {
    const CommunicatorRef end(ends[0]);
    ServedModelOptions options = {.runtime = {.max_tokens = 512, .cache_bytes = 64 << 20}};
    options.ranks = end;
    auto served = ServeModel(OpenDemo(end.share()), std::move(options));
    CHECK(served.has_value());
    if (served) CHECK(Read(Submitted(*Started(*std::move(served)), request)).usage.logits_digest == alone);
  }
  follower.join();
  CHECK_MESSAGE(followed, followed.error().message);
}

}  // namespace model_service_test
}  // namespace skald::testing
