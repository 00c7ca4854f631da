// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequence_list.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_LIST_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_LIST_H_

#include "skald/engine/running/sequence_list.h"

#include <iterator>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE SequenceList::Iterator SequenceList::FirstOf(RequestId id) {
  const auto found = first_of_.find(id);
  return found == first_of_.end() ? end() : found->second;
}

SKALD_INLINE void SequenceList::Append(std::list<Sequence>& samples) {
  if (samples.empty()) return;
  first_of_.emplace(samples.front().request_id(), samples.begin());
  sequences_.splice(sequences_.end(), samples);
}

SKALD_INLINE void SequenceList::Erase(Iterator at) noexcept {
  const auto first = first_of_.find(at->request_id());
  if (first->second == at) {
    const auto next = std::next(at);
    if (next != end() && next->request_id() == at->request_id()) {
      first->second = next;
    } else {
      first_of_.erase(first);
    }
  }
  sequences_.erase(at);
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_LIST_H_
