// SPDX-License-Identifier: Apache-2.0
//
// WatchedRows: rows of the residual stream that a step computed, at the places that a drafter watches. They are copied
// while the step is computed, and kept until the next one. Without such a drafter nothing is observed.

#ifndef SKALD_ENGINE_SPECULATION_WATCHED_ROWS_H_
#define SKALD_ENGINE_SPECULATION_WATCHED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/engine/requests/drafter.h"
#include "skald/model/hooks.h"

namespace skald {

/// Used by one thread at a time.
class WatchedRows {
 public:
  /// Begins a step; the rows of the one before are gone. `drafter` may be null. Throws std::bad_alloc.
  void Begin(const Drafter* drafter);

  /// The next text of the step's batch. `rows` are those that it computes from position `begin` on, or 0 if no drafter
  /// is to read them. Throws std::bad_alloc.
  void Add(uint64_t sequence, uint32_t begin, size_t rows);

  /// Adds the hooks of the step; none if nothing is watched. This must outlive their calls. Throws std::bad_alloc.
  void AddHooks(std::vector<Hook>& hooks);

  /// Only rows before position `end` are of tokens that the text kept.
  void Keep(uint64_t sequence, uint32_t end);

  /// Returns what was computed of a text; empty if nothing was. Valid until the next step begins.
  StreamRows Of(uint64_t sequence) const;

 private:
  struct Text {
    uint64_t sequence;
    uint32_t begin;
    size_t first, rows;  ///< of values_
  };

  void Copy(const HookRows& stream);

  std::vector<size_t> places_;
  std::vector<Text> texts_;  ///< of the batch, in its order
  size_t rows_ = 0, width_ = 0;
  std::vector<float> values_;  ///< [rows_, width_]
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/watched_rows.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_WATCHED_ROWS_H_
