// SPDX-License-Identifier: Apache-2.0

#include "server/chat/calls/call_filter.h"

#include <algorithm>
#include <utility>

#include "server/chat/calls/json_text.h"
#include "server/chat/calls/whole_calls.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

constexpr size_t kTail = 256;  // bytes; more than any mark has

// Where `mark` ends in `text`, if that is within the last `news` bytes.
std::optional<size_t> EndOf(std::string_view mark, std::string_view text, size_t news) {
  if (mark.empty()) return std::nullopt;
  const size_t old = text.size() - news;
  const size_t found = text.find(mark, old - std::min(old, mark.size() - 1));
  return found == text.npos ? std::nullopt : std::optional(found + mark.size());
}

// All tokens; where something must come, an answer does not end before.
std::shared_ptr<const std::vector<uint64_t>> AllOf(const CallFilter::Plan& plan) {
  auto all = std::make_shared<std::vector<uint64_t>>(plan.vocabulary->mask_words(), ~uint64_t{0});
  for (const int32_t id : plan.vocabulary->end_ids()) {
    if (plan.must) (*all)[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << id % 64);
  }
  return all;
}

}  // namespace

CallFilter::CallFilter(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), all_(AllOf(*plan_)), state_(plan_->begins_thinking ? State::kThought : State::kFree) {
  if (state_ == State::kFree && plan_->must) {
    Begin(plan_->must, "");
  } else if (state_ == State::kThought && plan_->closing && plan_->most_thought == 0) {
    Begin(plan_->closing, "");
  }
}

Result<std::unique_ptr<TokenFilter>> CallFilter::Clone() const {
  return NoThrow("a filter of calls",
                 [&]() -> Result<std::unique_ptr<TokenFilter>> { return std::make_unique<CallFilter>(*this); });
}

Result<std::span<const uint64_t>> CallFilter::Allowed() {
  if (held_) return held_->Allowed();
  return std::span<const uint64_t>(*all_);
}

Result<void> CallFilter::Accept(int32_t id) {
  return NoThrow("a filter of calls", [&]() -> Result<void> {
    if (!held_) {
      const TokenVocabulary& vocabulary = *plan_->vocabulary;
      if (id < 0 || static_cast<size_t>(id) >= vocabulary.size() || vocabulary.IsEnd(id)) return {};
      Watch(vocabulary.BytesOf(id));
      return {};
    }
    SKALD_TRY(held_->Accept(id));
    if (!held_->has_ended() && held_->IsComplete() && plan_->goes_on && plan_->may) {
      held_.reset();
      state_ = State::kFree;
      is_beginning_ = false;
      tail_.clear();
    }
    return {};
  });
}

bool CallFilter::IsComplete() const {
  if (held_) return held_->IsComplete();
  return state_ == State::kFree || !plan_->must;
}

void CallFilter::Watch(std::string_view bytes) {
  tail_ += bytes;
  state_ == State::kThought ? WatchThought(bytes.size()) : WatchFree(bytes.size());
  if (tail_.size() <= kTail) return;
  tail_.erase(0, tail_.size() - kTail);
  is_beginning_ = false;
}

void CallFilter::WatchThought(size_t news) {
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

void CallFilter::WatchFree(size_t news) {
  const bool may_think = is_beginning_ && !plan_->begins_thinking && !plan_->think_begin.empty() && tokens_ == 0;
  if (may_think && Trimmed(tail_).starts_with(plan_->think_begin)) {
    state_ = State::kThought;
    const std::string behind(Trimmed(tail_).substr(plan_->think_begin.size()));
    tail_.clear();
    return Watch(behind);
  }
  for (const std::string& trigger : plan_->triggers) {
    const auto end = EndOf(trigger, tail_, news);
    if (!end || !plan_->may) continue;
    const std::string_view before = Trimmed(std::string_view(tail_).substr(0, *end - trigger.size()));
    if (plan_->begins_answer && !(is_beginning_ && (before.empty() || before == kPythonTag))) continue;
    return Begin(plan_->may, tail_.substr(*end));
  }
}

// Text that came with the mark's last token belongs to what begins. Where it does not fit, what must begins anew behind
// it, and what may does not begin.
void CallFilter::Begin(const SharedFilter& filter, std::string_view text) {
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

}  // namespace skald::serve
