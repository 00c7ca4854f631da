// SPDX-License-Identifier: Apache-2.0
//
// Texts of answers: stop strings across the borders of tokens, text that is held back, and the ends of answers, through
// an engine with a tokenizer whose pieces are letters.

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/answers/stop_strings.h"
#include "skald/engine/engine.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace answers_test {

// Piece i is the (i % 3)-th of the letters a, b, c.
class Letters : public TokenizerEngine {
 public:
  explicit Letters(size_t vocab_size) : vocab_size_(vocab_size) {}

  size_t vocab_size() const override { return vocab_size_; }
  NamedIds named_ids() const override { return {}; }
  Result<std::vector<int32_t>> Encode(const MarkedText&) const override { return std::vector<int32_t>(); }
  Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial) const override {
    std::string text;
    for (const int32_t id : ids) text += IdToPiece(id);
    return text;
  }
  std::string DecodeNext(DecodingState&, int32_t id) const override { return std::string(IdToPiece(id)); }
  std::string DecodeRest(DecodingState&) const override { return {}; }
  std::optional<int32_t> PieceToId(std::string_view) const override { return std::nullopt; }
  std::optional<int32_t> SpecialId(std::string_view) const override { return std::nullopt; }
  std::string_view IdToPiece(int32_t id) const override {
    return std::string_view("abc").substr(static_cast<size_t>(id) % 3, 1);
  }
  PieceKind KindOf(int32_t) const override { return PieceKind::kText; }
  uint8_t ByteOf(int32_t) const override { return 0; }

 private:
  size_t vocab_size_;
};

TEST_CASE("a text comes out up to the first stop string, in whatever pieces it comes") {
  std::minstd_rand random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops(1 + random() % 3);
    for (std::string& stop : stops) {
      for (size_t length = 1 + random() % 4; length > 0; --length) stop += static_cast<char>('a' + random() % 2);
    }
    std::string text;
    for (size_t length = random() % 20; length > 0; --length) text += static_cast<char>('a' + random() % 3);
    StopStrings stream(std::make_shared<const std::vector<std::string>>(stops));
    std::string got;
    size_t pushed = 0;
    while (pushed < text.size() && !stream.has_stopped()) {
      const size_t length = std::min<size_t>(1 + random() % 3, text.size() - pushed);
      got += stream.Push(text.substr(pushed, length));
      pushed += length;
      // Published text is final, and withheld text could be the beginning of a stop.
      REQUIRE(got.size() <= pushed);
      if (!stream.has_stopped()) REQUIRE(pushed - got.size() < 4);
    }
    got += stream.Flush();
    // The first to be whole, as the text grows; of several whole ones the one that begins first.
    size_t end = std::string::npos;
    std::optional<size_t> which;
    for (size_t i = 0; i < stops.size(); ++i) {
      const size_t found = text.substr(0, pushed).find(stops[i]);
      if (found < end) end = found, which = i;
    }
    REQUIRE(got == text.substr(0, std::min(end, text.size())));
    REQUIRE(stream.stopped_by() == which);
  }
}

struct Written {
  std::string text;
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::kError;
  std::optional<size_t> stop_string = {};
};

// The same, but the letter c is a special token, which decoding leaves out.
class MarkedLetters final : public Letters {
 public:
  using Letters::Letters;
  PieceKind KindOf(int32_t id) const override { return id % 3 == 2 ? PieceKind::kControl : PieceKind::kText; }
  std::string DecodeNext(DecodingState&, int32_t id) const override {
    return KindOf(id) == PieceKind::kControl ? std::string() : std::string(IdToPiece(id));
  }
};

template <class Pieces = Letters>
Written Write(const Request& request) {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 6);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const Tokenizer tokenizer = Tokenizer::From(std::make_shared<Pieces>(static_cast<size_t>(small.spec.vocab_size)));
  EngineOptions options;
  options.tokenizer = &tokenizer;
  auto engine = Engine::Create(model, NewPool(small, {.max_tokens = 400}), workspace, options);
  REQUIRE(engine);
  const auto id = (*engine)->Submit(request);
  REQUIRE_MESSAGE(id, id.error().message);
  Written written;
  while ((*engine)->has_work()) {
    const auto report = (*engine)->Step();
    REQUIRE(report);
    for (const Event& event : report->events) {
      written.text += event.text;
      for (const SampledToken& token : event.tokens) written.tokens.push_back(token.id);
      if (event.finish) written.finish = *event.finish;
      if (event.stop_string) written.stop_string = event.stop_string;
    }
  }
  return written;
}

TEST_CASE("answers end where their requests say") {
  Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 60;
  const Written whole = Write(request);
  REQUIRE(whole.finish == FinishReason::kMaxTokens);
  REQUIRE(whole.text.size() == 60);
  REQUIRE(whole.tokens.size() == 60);

  request.stop_strings = {"x", whole.text.substr(20, 12)};
  const Written stopped = Write(request);
  CHECK(stopped.finish == FinishReason::kStopString);
  CHECK(stopped.stop_string == 1);
  CHECK(stopped.text == whole.text.substr(0, whole.text.find(request.stop_strings[1])));
  CHECK(stopped.tokens.size() == stopped.text.size() + 12);

  request.stop_strings = {};
  request.end_tokens = {whole.tokens[30]};
  const Written ended = Write(request);
  CHECK(ended.finish == FinishReason::kEndToken);
  CHECK_FALSE(ended.stop_string);
  CHECK(whole.text.starts_with(ended.text));
  CHECK(ended.tokens.size() == ended.text.size());
  CHECK(ended.tokens.size() <= 30);
}

TEST_CASE("a text has the names of special tokens where its request asks for them") {
  Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 60;
  const std::string whole = Write(request).text;
  std::string plain = whole;
  std::erase(plain, 'c');
  REQUIRE(plain.size() < whole.size());
  CHECK(Write<MarkedLetters>(request).text == plain);
  request.special_text = true;
  CHECK(Write<MarkedLetters>(request).text == whole);
}

TEST_CASE("an end of text lets out what was held back") {
  Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 25;
  const Written whole = Write(request);
  request.stop_strings = {whole.text.substr(20) + "aaaaaaaa", whole.text.substr(20) + "b"};
  CHECK(Write(request).text == whole.text);
}

TEST_CASE("requests that cannot be are refused, and say why") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 6);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto engine = Engine::Create(model, NewPool(small, {.max_tokens = 100}), workspace);
  REQUIRE(engine);
  const auto refused = [&](void (*change)(Request&), ErrorCode code, const char* words) {
    Request request;
    request.prompt = {1, 2, 3};
    change(request);
    const auto id = (*engine)->Submit(request);
    REQUIRE(!id);
    CHECK(id.error().code == code);
    CHECK_MESSAGE(id.error().message.find(words) != std::string::npos, id.error().message);
    return id.error().facts;
  };
  const auto invalid = ErrorCode::kInvalidArgument;
  refused([](Request& r) { r.prompt = {}; }, invalid, "Request::prompt has no tokens");
  refused([](Request& r) { r.prompt[1] = 1 << 20; }, invalid, "Request::prompt: token 1 has the id 1048576");
  refused([](Request& r) { r.samples = 0; }, invalid, "Request::samples is 0");
  refused([](Request& r) { r.embedding = PromptEmbedding::kMean, r.samples = 2; }, invalid, "Request::embedding");
  refused([](Request& r) { r.max_tokens = 0; }, invalid, "Request::max_tokens is 0");
  refused([](Request& r) { r.stop_strings = {"a"}; }, invalid, "Request::stop_strings need EngineOptions::tokenizer");
  refused([](Request& r) { r.branch_points = {2, 1}; }, invalid, "Request::branch_points");
  refused([](Request& r) { r.branch_points = {4}; }, invalid, "Request::branch_points");
  refused([](Request& r) { r.sampler.top_p = 2.0f; }, invalid, "Request::sampler: sampler setting top_p is 2");
  refused([](Request& r) { r.adapter[0] = std::byte{1}; }, invalid, "not among EngineOptions::adapters");
  const ErrorFacts facts =
      refused([](Request& r) { r.max_tokens = 99; }, ErrorCode::kOutOfRange, "a conversation may have 100");
  CHECK(facts.needed_tokens == 101);
  CHECK(facts.available_tokens == 100);
  CHECK(!(*engine)->has_work());
}

TEST_CASE("engines that cannot be are refused") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 6);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto refused = [&](const std::shared_ptr<BlockPool>& pool, const EngineOptions& options, const char* words) {
    const auto engine = Engine::Create(model, pool, workspace, options);
    REQUIRE(!engine);
    CHECK_MESSAGE(engine.error().message.find(words) != std::string::npos, engine.error().message);
  };
  refused(nullptr, {}, "the pool is null");
  refused(NewPool(SmallModelNamed("mixture")), {}, "Engine: the pool has another layout than the model ");
  refused(NewLedgerPool(small), {}, "keeps account of blocks only");
  refused(NewPool(small), {.max_running = 0}, "EngineOptions::max_running is 0");
  refused(NewPool(small), {.step_tokens = 0}, "EngineOptions::step_tokens is 0");
  refused(NewPool(small), {.step_seconds = 0.0}, "EngineOptions::step_seconds is not positive");
}

}  // namespace answers_test
}  // namespace skald::testing
