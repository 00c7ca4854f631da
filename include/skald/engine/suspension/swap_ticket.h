// SPDX-License-Identifier: Apache-2.0
//
// SwapTicket: a conversation that is written to a store, or read from it, beside the engine. While it is under way it
// is staged in memory of its own, so that the blocks of the engine's pool are free at once.

#ifndef SKALD_ENGINE_SUSPENSION_SWAP_TICKET_H_
#define SKALD_ENGINE_SUSPENSION_SWAP_TICKET_H_

#include <cstdint>
#include <mutex>
#include <optional>

#include "skald/engine/suspension/swap_space.h"
#include "skald/store/snapshots/staged_cache.h"

namespace skald {

/// Shared by the engine and the thread that writes and reads for it.
struct SwapTicket {
  /// The work that is under way.
  enum class Stage : uint8_t { kWriting, kAtRest, kReading };

  std::mutex mutex;                          ///< guards the members
  Stage stage = Stage::kWriting;             ///< guarded by mutex, as what follows
  bool is_wanted = true;                     ///< else the thread that has written it drops it again
  std::optional<StagedCache> staged = {};    ///< fixed while it is being written
  std::optional<SwappedCache> written = {};  ///< set when the store has it
  bool was_read = false;                     ///< and is staged, if it could be

  /// Whether a thread is reading it from the store. Locks `mutex`.
  bool is_reading();
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/suspension/detail/swap_ticket.h"
#endif

#endif  // SKALD_ENGINE_SUSPENSION_SWAP_TICKET_H_
