// SPDX-License-Identifier: Apache-2.0
//
// CallFilter: lets an answer be anything until a call begins, or until a thought ends, and holds what comes then to a
// grammar.

#ifndef SKALD_OPEN_TOOLS_DETAIL_CALL_FILTER_H_
#define SKALD_OPEN_TOOLS_DETAIL_CALL_FILTER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/constraints/filter_cache.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/open/tools/calls/detail/json_text.h"

namespace skald::internal::calls {

class CallFilter final : public TokenFilter {
 public:
  // Immutable, and shared by all copies of a filter.
  struct Plan {
    std::shared_ptr<const TokenVocabulary> vocabulary;
    // A thought of the answer's beginning; calls do not begin within. Empty: there is none.
    std::string think_begin = {}, think_end = {};
    bool begins_thinking = false;  // the prompt has begun it
    // The text that must come, after the thought if there is one; null: any text. `closing` is the same with the
    // thought's end before it, for a thought that has taken so many tokens.
    SharedFilter must = {}, closing = {};
    uint32_t most_thought = std::numeric_limits<uint32_t>::max();
    // After one of the triggers `may` begins: at any place, or at the beginning of the answer, but for white space and
    // first_marks. May be null.
    SharedFilter may = {};
    std::vector<std::string> triggers = {}, first_triggers = {}, first_marks = {};
    // Where the prompt has the mark of calls: the answer is a call, or begins with start_text and is then any text.
    SharedFilter start = {};
    std::string start_text = {};
    bool goes_on = false;  // after a call any text may come again
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
  bool WatchTriggers(const std::vector<std::string>& triggers, bool is_first, size_t news);
  void Begin(const SharedFilter& filter, std::string_view text);

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const std::vector<uint64_t>> all_;  // a bit for each token
  State state_;
  std::optional<GrammarFilter> held_;  // in kHeld
  uint32_t tokens_ = 0;                // of the thought
  std::string tail_;                   // of what came since the state began
  bool is_beginning_ = true;           // nothing was dropped from that, and no call came before
  std::optional<std::string> start_;   // what came so far where the plan's start is held to
};

inline constexpr size_t kTail = 256;  // bytes; more than any mark has

// Where `mark` ends in `text`, if that is within the last `news` bytes.
inline std::optional<size_t> EndOf(std::string_view mark, std::string_view text, size_t news) {
  if (mark.empty()) return std::nullopt;
  const size_t old = text.size() - news;
  const size_t found = text.find(mark, old - std::min(old, mark.size() - 1));
  return found == text.npos ? std::nullopt : std::optional(found + mark.size());
}

// All tokens; where something must come, an answer does not end before.
inline std::shared_ptr<const std::vector<uint64_t>> AllOf(const CallFilter::Plan& plan) {
  auto all = std::make_shared<std::vector<uint64_t>>(plan.vocabulary->mask_words(), ~uint64_t{0});
  for (const int32_t id : plan.vocabulary->end_ids()) {
    if (plan.must) (*all)[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << id % 64);
  }
  return all;
}

inline CallFilter::CallFilter(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), all_(AllOf(*plan_)), state_(plan_->begins_thinking ? State::kThought : State::kFree) {
  if (state_ == State::kFree && plan_->must) {
    Begin(plan_->must, "");
  } else if (state_ == State::kThought && plan_->closing && plan_->most_thought == 0) {
    Begin(plan_->closing, "");
  } else if (state_ == State::kFree && plan_->start) {
    start_.emplace();
    Begin(plan_->start, "");
  }
}

inline Result<std::unique_ptr<TokenFilter>> CallFilter::Clone() const {
  return NoThrow("a filter of calls",
                 [&]() -> Result<std::unique_ptr<TokenFilter>> { return std::make_unique<CallFilter>(*this); });
}

inline Result<std::span<const uint64_t>> CallFilter::Allowed() {
  if (held_) return held_->Allowed();
  return std::span<const uint64_t>(*all_);
}

inline Result<void> CallFilter::Accept(int32_t id) {
  return NoThrow("a filter of calls", [&]() -> Result<void> {
    if (!held_) {
      const TokenVocabulary& vocabulary = *plan_->vocabulary;
      if (id < 0 || static_cast<size_t>(id) >= vocabulary.size() || vocabulary.IsEnd(id)) return {};
      Watch(vocabulary.BytesOf(id));
      return {};
    }
    SKALD_TRY(held_->Accept(id));
    if (start_ && !held_->has_ended()) *start_ += plan_->vocabulary->BytesOf(id);
    const bool goes_on = plan_->goes_on || (start_ && *start_ == plan_->start_text);
    if (!held_->has_ended() && held_->IsComplete() && goes_on && plan_->may) {
      held_.reset();
      start_.reset();
      state_ = State::kFree;
      is_beginning_ = false;
      tail_.clear();
    }
    return {};
  });
}

inline bool CallFilter::IsComplete() const {
  if (held_) return held_->IsComplete();
  return state_ == State::kFree || !plan_->must;
}

inline void CallFilter::Watch(std::string_view bytes) {
  tail_ += bytes;
  state_ == State::kThought ? WatchThought(bytes.size()) : WatchFree(bytes.size());
  if (tail_.size() <= kTail) return;
  tail_.erase(0, tail_.size() - kTail);
  is_beginning_ = false;
}

inline void CallFilter::WatchThought(size_t news) {
  ++tokens_;
  if (const auto end = EndOf(plan_->think_end, tail_, news)) {
    const std::string behind = tail_.substr(*end);
    tail_.clear();
    if (plan_->must) return Begin(plan_->must, behind);
    state_ = State::kFree;
    is_beginning_ = true;
    return Watch(behind);
  }
  if (plan_->closing && tokens_ >= plan_->most_thought) Begin(plan_->closing, "");
}

inline void CallFilter::WatchFree(size_t news) {
  const bool may_think = is_beginning_ && !plan_->begins_thinking && !plan_->think_begin.empty() && tokens_ == 0;
  if (may_think && Trimmed(tail_).starts_with(plan_->think_begin)) {
    state_ = State::kThought;
    const std::string behind(Trimmed(tail_).substr(plan_->think_begin.size()));
    tail_.clear();
    return Watch(behind);
  }
  if (!WatchTriggers(plan_->triggers, false, news)) WatchTriggers(plan_->first_triggers, true, news);
}

// Returns whether a call begins.
inline bool CallFilter::WatchTriggers(const std::vector<std::string>& triggers, bool is_first, size_t news) {
  for (const std::string& trigger : triggers) {
    const auto end = EndOf(trigger, tail_, news);
    if (!end || !plan_->may) continue;
    std::string_view before = Trimmed(std::string_view(tail_).substr(0, *end - trigger.size()));
    for (const std::string& mark : plan_->first_marks) {
      if (before.starts_with(mark)) before = Trimmed(before.substr(mark.size()));
    }
    if (is_first && !(is_beginning_ && before.empty())) continue;
    Begin(plan_->may, tail_.substr(*end));
    return state_ == State::kHeld;
  }
  return false;
}

// Text that came with the mark's last token belongs to what begins. Where it does not fit, `must` begins anew after
// it, and `may` does not begin.
inline void CallFilter::Begin(const SharedFilter& filter, std::string_view text) {
  held_.emplace(*filter);
  state_ = State::kHeld;
  if (held_->AcceptText(text)) return;
  if (filter == plan_->may) {
    held_.reset();
    state_ = State::kFree;
  } else {
    held_.emplace(*filter);
  }
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_CALL_FILTER_H_
