// SPDX-License-Identifier: Apache-2.0
//
// SequenceList: an engine's sequences in the order in which they came, the samples of a request in a row, and found by
// their request: what becomes of one request costs the same however many others there are.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCE_LIST_H_
#define SKALD_ENGINE_RUNNING_SEQUENCE_LIST_H_

#include <cstddef>
#include <list>
#include <unordered_map>

#include "skald/engine/requests/request.h"
#include "skald/engine/running/sequence.h"

namespace skald {

class SequenceList {
 public:
  using Iterator = std::list<Sequence>::iterator;  ///< stays valid until its sequence is erased

  Iterator begin() { return sequences_.begin(); }
  Iterator end() { return sequences_.end(); }
  std::list<Sequence>::const_iterator begin() const { return sequences_.begin(); }
  std::list<Sequence>::const_iterator end() const { return sequences_.end(); }
  size_t size() const { return sequences_.size(); }

  /// Whether a sample of the request is in the list. O(1).
  bool Contains(RequestId id) const { return first_of_.contains(id); }

  /// The first sample of a request that is there; end() if there is none.
  Iterator FirstOf(RequestId id);

  /// Calls visit(sequence) for the samples of a request. O(samples).
  template <class Visit>
  void ForEachOf(RequestId id, Visit visit) {
    for (auto at = FirstOf(id); at != end() && at->request_id() == id; ++at) visit(*at);
  }

  /// Puts the samples of one request at the end; none of that request is there. Throws std::bad_alloc; nothing has
  /// changed then.
  void Append(std::list<Sequence>& samples);

  /// Removes one sequence. O(1).
  void Erase(Iterator at) noexcept;

 private:
  std::list<Sequence> sequences_;
  std::unordered_map<RequestId, Iterator> first_of_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/sequence_list.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SEQUENCE_LIST_H_
