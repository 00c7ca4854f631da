// SPDX-License-Identifier: Apache-2.0
//
// CallFilter: lets an answer be anything until a call begins, or until a thought ends, and holds what comes then to a
// grammar.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_FILTER_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_FILTER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/chat/filter_cache.h"
#include "skald/base/result.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald::serve {

class CallFilter final : public TokenFilter {
 public:
  // Immutable, and shared by all copies of a filter.
  struct Plan {
    std::shared_ptr<const TokenVocabulary> vocabulary;
    // A thought of the answer's beginning; calls do not begin within. Empty: there is none.
    std::string think_begin = {}, think_end = {};
    bool begins_thinking = false;  // the prompt has begun it
    // What must come, behind the thought if there is one; null: anything. `closing` is the same with the thought's end
    // before it, for a thought that has taken so many tokens.
    SharedFilter must = {}, closing = {};
    uint32_t most_thought = std::numeric_limits<uint32_t>::max();
    // Behind one of the triggers `may` begins, wherever it is, or as the beginning of the answer alone. May be null.
    SharedFilter may = {};
    std::vector<std::string> triggers = {};
    bool begins_answer = false;
    bool goes_on = false;  // behind a call anything may come again
  };

  explicit CallFilter(std::shared_ptr<const Plan> plan);

  Result<std::unique_ptr<TokenFilter>> Clone() const override;
  Result<std::span<const uint64_t>> Allowed() override;
  std::shared_ptr<FilterWork> TakeWork() override { return held_ ? held_->TakeWork() : nullptr; }
  Result<void> Accept(int32_t id) override;
  // A thought that was not ended comes before what must.
  bool IsComplete() const override;

 private:
  enum class State { kThought, kFree, kHeld };

  void Watch(std::string_view bytes);
  void WatchThought(size_t news);
  void WatchFree(size_t news);
  void Begin(const SharedFilter& filter, std::string_view text);

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const std::vector<uint64_t>> all_;  // a bit for each token
  State state_;
  std::optional<GrammarFilter> held_;  // in kHeld
  uint32_t tokens_ = 0;                // of the thought
  std::string tail_;                   // of what came since the state began
  bool is_beginning_ = true;           // nothing was dropped from that, and no call came before
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_FILTER_H_
