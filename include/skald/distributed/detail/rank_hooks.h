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

// The exchanges of a step that rank 0 may end at any place, as its hooks do: a Communicator of one rank. Once the step
// has ended, no rank waits for another.
class HookedRanks {
 public:
  explicit HookedRanks(const CommunicatorRef& ranks) : ranks_(ranks) {}

  RankShare share() const { return ranks_.share(); }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    return has_ended_ ? Ended() : ranks_.AllGather(all, begins);
  }
  Result<void> Broadcast(std::vector<std::byte>& bytes) { return has_ended_ ? Ended() : ranks_.Broadcast(bytes); }
  Result<void> Wait() { return has_ended_ ? Ended() : ranks_.Wait(); }

  // Rank 0's hooks, whose rows go to the others. Where one ends the step or throws, those get nothing.
  std::vector<Hook> ShownToAll(std::span<const Hook> hooks) {
    std::vector<Hook> shown;
    for (const Hook& hook : hooks) {
      if (!hook.call) {
        shown.push_back(hook);
        continue;
      }
      shown.push_back({hook.place, [call = hook.call, this](HookRows& rows) {
                         Message message = {*this, {}};
                         call(rows);
                         if (rows.stops() || !rows.status()) return;
                         const auto values = std::as_bytes(rows.values());
                         message.bytes.assign(values.begin(), values.end());
                       }});
    }
    return shown;
  }

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
  // The rows of a hook of rank 0, told to the others when that has returned; none, unless they are given.
  struct Message {
    HookedRanks& all;
    std::vector<std::byte> bytes;

    ~Message() {
      static_cast<void>(all.Broadcast(bytes));  // an error is the next exchange's, too
      all.has_ended_ = bytes.empty();
    }
  };

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
