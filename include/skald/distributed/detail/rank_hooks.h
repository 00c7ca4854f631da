// SPDX-License-Identifier: Apache-2.0
//
// Hooks of rank 0 see, and may change, rows that all ranks have: what they make of them goes to all.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANK_HOOKS_H_
#define SKALD_DISTRIBUTED_DETAIL_RANK_HOOKS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/model/hooks.h"

namespace skald::internal {

// The names of places of hooks, for a message: one after the other, each with an end.
inline std::vector<char> PlacesOf(std::span<const Hook> hooks) {
  std::vector<char> names;
  for (const Hook& hook : hooks) {
    names.insert(names.end(), hook.place.begin(), hook.place.end());
    names.push_back('\0');
  }
  return names;
}

// Rank 0's. Where one ends the step or throws, the others get nothing, so that none waits for it.
inline std::vector<Hook> ShownToAll(std::span<const Hook> hooks, const CommunicatorRef& ranks) {
  struct Message {
    const CommunicatorRef& ranks;
    std::vector<std::byte> bytes;

    // An error is the next exchange's, too.
    ~Message() { static_cast<void>(ranks.Broadcast(bytes)); }
  };
  std::vector<Hook> shown;
  for (const Hook& hook : hooks) {
    if (!hook.call) {
      shown.push_back(hook);
      continue;
    }
    shown.push_back({hook.place, [call = hook.call, &ranks](HookRows& rows) {
                       Message message = {ranks, {}};
                       call(rows);
                       if (rows.stops() || !rows.status()) return;
                       const auto values = std::as_bytes(rows.values());
                       message.bytes.assign(values.begin(), values.end());
                     }});
  }
  return shown;
}

// The exchanges of a step that rank 0 may end at any place, as its hooks do: a Communicator of another rank.
class HookedRanks {
 public:
  explicit HookedRanks(const CommunicatorRef& ranks) : ranks_(ranks) {}

  RankShare share() const { return ranks_.share(); }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    return has_ended_ ? Ended() : ranks_.AllGather(all, begins);
  }
  Result<void> Broadcast(std::vector<std::byte>& bytes) { return has_ended_ ? Ended() : ranks_.Broadcast(bytes); }
  Result<void> Wait() { return has_ended_ ? Ended() : ranks_.Wait(); }

  // Hooks at the places of rank 0's, which take what those made of the rows. Rank 0 gives the names.
  std::vector<Hook> HooksAt(std::span<const char> places) {
    std::vector<Hook> hooks;
    for (auto begin = places.begin(); begin != places.end();) {
      const auto end = std::find(begin, places.end(), '\0');
      hooks.push_back({std::string(begin, end), [this](HookRows& rows) { Take(rows); }});
      begin = end == places.end() ? end : end + 1;
    }
    return hooks;
  }

 private:
  static Result<void> Ended() { return Fail(ErrorCode::kFailedPrecondition, "rank 0 has ended the step"); }

  void Take(HookRows& rows) {
    std::vector<std::byte> bytes;
    const auto told = Broadcast(bytes);
    const std::span<float> values = rows.values();
    has_ended_ = !told || bytes.size() != values.size_bytes();
    if (has_ended_) return rows.Stop();
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }

  const CommunicatorRef& ranks_;
  bool has_ended_ = false;
};

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DETAIL_RANK_HOOKS_H_
