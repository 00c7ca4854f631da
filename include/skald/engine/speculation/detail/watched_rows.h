// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/watched_rows.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_WATCHED_ROWS_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_WATCHED_ROWS_H_

#include "skald/engine/speculation/watched_rows.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE void WatchedRows::Begin(const Drafter* drafter) {
  texts_.clear();
  rows_ = width_ = 0;
  if (drafter == nullptr) return places_.clear();
  const std::span<const size_t> places = drafter->Watches();
  places_.assign(places.begin(), places.end());
}

SKALD_INLINE void WatchedRows::Add(uint64_t sequence, uint32_t begin, size_t rows) {
  texts_.push_back({sequence, begin, rows_, rows});
  rows_ += rows;
}

SKALD_INLINE void WatchedRows::AddHooks(std::vector<Hook>& hooks) {
  if (rows_ == 0) return;
  for (size_t i = 0; i < places_.size(); ++i) {  // heads of small models may read one twice
    if (std::ranges::find(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(i), places_[i]) !=
        places_.begin() + static_cast<ptrdiff_t>(i)) {
      continue;
    }
    hooks.push_back({StreamBefore(places_[i]), [this](const HookRows& stream) { Copy(stream); }});
  }
}

SKALD_INLINE void WatchedRows::Copy(const HookRows& stream) {
  if (texts_.empty()) return;
  const size_t dim = stream.cols;
  if (width_ == 0) {
    width_ = dim * places_.size();
    const auto has_room = NoThrow("rows for a drafter", [&]() -> Result<void> {
      values_.resize(rows_ * width_);
      return {};
    });
    if (!has_room) return texts_.clear();  // costs guesses, and nothing else
  }
  for (size_t i = 0; i < stream.rows(); ++i) {
    const Text& text = texts_[stream.sequences[i]];
    if (text.rows == 0) continue;
    float* const row = values_.data() + (text.first + stream.positions[i] - text.begin) * width_;
    for (size_t place = 0; place < places_.size(); ++place) {
      if (places_[place] == stream.place.block) std::ranges::copy(stream.row(i), row + place * dim);
    }
  }
}

SKALD_INLINE void WatchedRows::Keep(uint64_t sequence, uint32_t end) {
  const auto text = std::ranges::find(texts_, sequence, &Text::sequence);
  if (text == texts_.end()) return;
  text->rows = std::min<size_t>(text->rows, end > text->begin ? end - text->begin : 0);
}

SKALD_INLINE StreamRows WatchedRows::Of(uint64_t sequence) const {
  const auto text = std::ranges::find(texts_, sequence, &Text::sequence);
  if (text == texts_.end() || text->rows == 0 || width_ == 0) return {};
  return {text->begin, std::span(values_).subspan(text->first * width_, text->rows * width_)};
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_WATCHED_ROWS_H_
