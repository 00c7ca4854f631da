// SPDX-License-Identifier: Apache-2.0
//
// How many answers are open, of one tenant or of all. A request counts by its cost: the number of its prompts times the
// answers to each.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_OPEN_ANSWERS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_OPEN_ANSWERS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace skald::serve {

// Safe for concurrent calls.
class OpenAnswers {
 public:
  uint64_t count() const { return count_; }

  // Adds `more` unless there would be more than `most` then. Returns whether it did.
  bool Add(uint64_t more, uint64_t most) {
    uint64_t now = count_;
    do {
      if (more > most || now > most - more) return false;
    } while (!count_.compare_exchange_weak(now, now + more));
    return true;
  }
  void Remove(uint64_t fewer) { count_ -= fewer; }

 private:
  std::atomic<uint64_t> count_ = 0;
};

// Answers that were added to a count; taken off with it.
class CountedAnswers {
 public:
  CountedAnswers(std::shared_ptr<OpenAnswers> answers, uint64_t number)
      : answers_(std::move(answers)), number_(number) {}
  CountedAnswers(CountedAnswers&&) noexcept = default;
  CountedAnswers& operator=(CountedAnswers&&) = delete;
  ~CountedAnswers() {
    if (answers_ != nullptr) answers_->Remove(number_);
  }

 private:
  std::shared_ptr<OpenAnswers> answers_;  // null once it has moved
  uint64_t number_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_OPEN_ANSWERS_H_
