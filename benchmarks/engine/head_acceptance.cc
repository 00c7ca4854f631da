// SPDX-License-Identifier: Apache-2.0
//
// How often the guesses of a head are right on a real model, and how much faster its answers are.
//
//   head_acceptance MODEL HEAD PROMPTS [TOKENS]
//
// HEAD is a folder or a file with a head of EAGLE-3 or a drafter of Gemma 4, or "mtp" for the layers for further tokens
// of the model's own files. PROMPTS has a user's message in each line, TOKENS (200) is the most of an answer. Each
// prompt is answered without guesses, with as many as the engine finds worth it, both in turns, and with three each
// time, which are counted: the first two tell the speed. All must have the same logits, to the bit.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/published_head.h"
#include "skald/open/chat.h"
#include "skald/open/open_model.h"

namespace skald {
namespace {

constexpr uint32_t kMost = 3;  // guesses in a row

// Passes guesses on. When it counts, it has as many made as it can count.
class Counting : public Drafter {
 public:
  struct Depth {
    uint64_t made = 0, right = 0;  // where all guesses before were right
  };

  explicit Counting(Drafter& head) : head_(head) {}

  bool counts = false;
  std::array<Depth, kMost> depths = {};

  std::span<const size_t> Watches() const override { return head_.Watches(); }
  uint32_t MostDrafts() const override { return head_.MostDrafts(); }
  void Forget(uint64_t sequence) override {
    made_.erase(sequence);
    head_.Forget(sequence);
  }
  Result<void> Draft(std::span<DraftTask> tasks) override {
    if (!counts) return head_.Draft(tasks);
    std::vector<uint32_t> wanted;
    for (DraftTask& task : tasks) {
      Count(task);
      wanted.push_back(std::exchange(task.most, kMost));
    }
    SKALD_TRY(head_.Draft(tasks));
    for (size_t i = 0; i < tasks.size(); ++i) {
      DraftTask& task = tasks[i];
      made_[task.sequence] = {task.tokens.size(), task.drafts};
      task.most = wanted[i];
      task.drafts.resize(std::min<size_t>(task.drafts.size(), task.most));
    }
    return {};
  }

 private:
  struct Made {
    size_t at;  // the position that the first guess is for
    std::vector<int32_t> guesses;
  };

  void Count(const DraftTask& task) {
    const auto found = made_.find(task.sequence);
    if (found == made_.end()) return;
    const auto& [at, guesses] = found->second;
    for (size_t i = 0; i < std::min<size_t>(guesses.size(), kMost) && at + i < task.tokens.size(); ++i) {
      ++depths[i].made;
      if (guesses[i] != task.tokens[at + i]) break;
      ++depths[i].right;
    }
  }

  Drafter& head_;
  std::map<uint64_t, Made> made_;  // by sequences
};

struct Answer {
  std::vector<int32_t> tokens;
  uint64_t digest = 0, steps = 0;
  double seconds = 0.0;  // from the first token to the last one
};

Result<Answer> Write(Engine& engine, Request request, uint32_t max_drafts) {
  request.max_drafts = max_drafts;
  SKALD_TRY(engine.Submit(std::move(request)));
  Answer answer;
  while (engine.has_work()) {
    SKALD_ASSIGN(const auto report, engine.Step());
    if (!answer.tokens.empty()) ++answer.steps;
    for (const Event& event : report.events) {
      for (const SampledToken& token : event.tokens) answer.tokens.push_back(token.id);
      if (event.error) return Failure(*event.error);
      if (!event.usage.finished) continue;
      answer.digest = event.usage.logits_digest;
      answer.seconds = *event.usage.finished - *event.usage.first_token;
    }
  }
  return answer;
}

Result<DraftHead> LoadHead(const std::string& path, const LanguageModel& model) {
  if (path == "mtp") return LoadPredictionHead(model.info.model, model.model);
  return LoadPublishedHead(path, model.model);
}

Result<void> Run(const std::string& model_path, const std::string& head_path, const std::string& prompts,
                 uint32_t most) {
  SKALD_ASSIGN(const auto model, OpenModel(model_path));
  SKALD_ASSIGN(const auto head, LoadHead(head_path, model));
  SKALD_ASSIGN(auto workspace, CreateWorkspace());
  SKALD_ASSIGN(auto head_workspace, CreateWorkspace());
  SKALD_ASSIGN(const auto pool, CreateBlockPool(model.model.layout(), {.rewind_tokens = kMost}));
  SKALD_ASSIGN(const auto drafter, NewHeadDrafter(head, {.rewind_tokens = kMost}, head_workspace));
  Counting counting(*drafter);
  EngineOptions options;
  options.drafter = &counting;
  SKALD_ASSIGN(const auto engine, Engine::Create(model.model, pool, workspace, options));
  std::ifstream file(prompts);
  if (!file) return Fail(ErrorCode::kNotFound, prompts + ": cannot be read");
  std::vector<std::vector<int32_t>> questions;
  for (std::string line; std::getline(file, line);) {
    Chat chat;
    chat.Add(Role::kUser, line);
    SKALD_ASSIGN(questions.emplace_back(), EncodeChat(model.text.tokenizer, model.text.chat_template, chat));
  }
  std::cout
      << "| temperature | tokens | right: first | second | third | tokens of a step | times as fast | equal texts |\n"
      << "|---|---|---|---|---|---|---|---|\n";
  for (const float temperature : {0.0f, 0.8f}) {
    counting.depths = {};
    std::vector<double> gains;
    uint64_t tokens = 0, steps = 0, equal = 0, seed = 0;
    for (const std::vector<int32_t>& question : questions) {
      Request request;
      request.prompt = question;
      request.sampler.temperature = temperature;
      request.sampler.random.seed = ++seed;
      request.end_tokens = model.text.stop_ids;
      request.max_tokens = most;
      request.digest_logits = true;
      SKALD_ASSIGN(const auto plain, Write(*engine, request, 0));
      SKALD_ASSIGN(const auto guessed, Write(*engine, request, kMost));
      counting.counts = true;
      SKALD_ASSIGN(const auto counted, Write(*engine, request, kMost));
      counting.counts = false;
      const auto is_plain = [&](const Answer& one) { return one.tokens == plain.tokens && one.digest == plain.digest; };
      equal += is_plain(guessed) && is_plain(counted) ? 1 : 0;
      tokens += guessed.tokens.size() - 1;
      steps += guessed.steps;
      if (guessed.seconds > 0.0) gains.push_back(plain.seconds / guessed.seconds);
    }
    std::cout << "| " << temperature << " | " << tokens;
    for (const Counting::Depth& depth : counting.depths) {
      std::cout << " | " << static_cast<double>(depth.right) / static_cast<double>(std::max<uint64_t>(depth.made, 1));
    }
    std::ranges::sort(gains);
    std::cout << " | " << static_cast<double>(tokens) / static_cast<double>(std::max<uint64_t>(steps, 1)) << " | "
              << (gains.empty() ? 0.0 : gains[gains.size() / 2]) << " | " << equal << " of " << questions.size()
              << " |\n";
  }
  return {};
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) {
  if (argc < 4) return std::cerr << "usage: head_acceptance MODEL HEAD PROMPTS [TOKENS]\n", 2;
  const auto done = skald::Run(argv[1], argv[2], argv[3], argc > 4 ? static_cast<uint32_t>(std::stoul(argv[4])) : 200);
  if (!done) return std::cerr << done.error().message << '\n', 1;
}
