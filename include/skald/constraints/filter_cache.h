// SPDX-License-Identifier: Apache-2.0
//
// FilterCache: the compiled grammars that were used last, by the texts that they are made of. Agents send the same
// tools with every request: they are compiled once, and the masks that a filter has computed serve all requests.

#ifndef SKALD_CONSTRAINTS_FILTER_CACHE_H_
#define SKALD_CONSTRAINTS_FILTER_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "skald/base/result.h"
#include "skald/constraints/grammar_filter.h"

namespace skald {

/// A compiled grammar of several users; each copies it for an answer.
using SharedFilter = std::shared_ptr<const GrammarFilter>;

/// Keeps filters. Safe for concurrent calls.
class FilterCache {
 public:
  /// The filters that are kept take about `max_bytes` at most, except the filter used last and masks that are computed
  /// between two calls.
  explicit FilterCache(size_t max_bytes = size_t{256} << 20) : max_bytes_(max_bytes) {}

  /// Returns the filter made of `text`, which says all that it depends on; if there is none yet, the filter that
  /// `make()` returns as Result<GrammarFilter>. Errors: those of `make`.
  template <class Make>
  Result<SharedFilter> Get(const std::string& text, const Make& make) {
    if (auto known = Find(text)) return known;
    auto made = make();  // not locked: others need not wait for it
    if (!made) return Failure(made.error());
    auto filter = std::make_shared<const GrammarFilter>(*std::move(made));
    if (text.size() <= kLongestText) Keep(text, filter);
    return filter;
  }

 private:
  SharedFilter Find(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(known_, text, &Entry::first);
    if (found == known_.end()) return nullptr;
    known_.splice(known_.begin(), known_, found);
    SharedFilter filter = found->second;
    DropOld();
    return filter;
  }

  void Keep(const std::string& text, const SharedFilter& filter) {
    const std::lock_guard lock(mutex_);
    known_.emplace_front(text, filter);
    if (known_.size() > kMostFilters) known_.pop_back();
    DropOld();
  }

  // Filters grow with their masks, so sizes are added up each time. Called with mutex_ held.
  void DropOld() {
    size_t bytes = 0;
    for (auto entry = known_.begin(); entry != known_.end(); ++entry) {
      bytes += entry->first.size() + entry->second->shared_bytes();
      if (bytes <= max_bytes_ || entry == known_.begin()) continue;
      known_.erase(entry, known_.end());
      return;
    }
  }

  static constexpr size_t kMostFilters = 16, kLongestText = size_t{64} << 10;

  using Entry = std::pair<std::string, SharedFilter>;
  const size_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> known_;  // used last, first; guarded by mutex_
};

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_FILTER_CACHE_H_
