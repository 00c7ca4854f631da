// SPDX-License-Identifier: Apache-2.0
//
// WatchedPlaces: the hooks of one call of Forward, each at the places that it named.

#ifndef SKALD_MODEL_DETAIL_WATCHED_PLACES_H_
#define SKALD_MODEL_DETAIL_WATCHED_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/place_watcher.h"
#include "skald/layers/run/rows.h"
#include "skald/model/detail/model_places.h"
#include "skald/model/detail/rank_places.h"
#include "skald/model/hooks.h"

namespace skald {

class WatchedPlaces final : public PlaceWatcher {
 public:
  // Returns null without hooks. All that is referred to must outlive the result. `ranks` compute the model, each a part
  // of its layers; null for one that is whole.
  static Result<std::unique_ptr<WatchedPlaces>> Find(const ModelPlaces& places, std::span<const Hook> hooks,
                                                     const CommunicatorRef* ranks) {
    if (hooks.empty()) return nullptr;
    auto watched = std::make_unique<WatchedPlaces>(places, ranks);
    for (const Hook& hook : hooks) {
      if (auto found = watched->AddHook(hook); !found) return Failure(found.error());
    }
    std::ranges::stable_sort(watched->hooks_, {}, &Found::place);
    return watched;
  }

  WatchedPlaces(const ModelPlaces& places, const CommunicatorRef* ranks) : places_(places), ranks_(ranks) {}

  // The rows that are shown from now on, which must stay where they are.
  void BeginPass(const PassRows& rows) { rows_ = &rows; }

  // Whether hooks want the step to go on.
  bool goes_on() const { return !stops_ && status_; }
  bool stops() const { return stops_; }
  const Result<void>& status() const { return status_; }

  // Whether a place is watched.
  bool Has(size_t place) const { return std::ranges::binary_search(hooks_, place, {}, &Found::place); }

  // Shows the whole pass at a place.
  void ShowAll(size_t place, Rows values) {
    if (Has(place)) Call(place, *rows_, 0, rows_->size(), values, all()[place].part_cols);
  }

  // Shows those rows of the pass whose numbers are listed, of these experts if there are any.
  void ShowRows(size_t place, std::span<const uint32_t> numbers, Rows values, std::span<const uint32_t> experts = {}) {
    if (!Has(place) || numbers.empty()) return;
    PassRows some;
    for (const uint32_t row : numbers) {
      some.tokens.push_back(rows_->tokens[row]);
      some.positions.push_back(rows_->positions[row]);
      some.sequences.push_back(rows_->sequences[row]);
    }
    Call(place, some, 0, some.size(), values, all()[place].part_cols, experts);
  }

  // Returns the watcher of what a layer shows itself, until the next call; null if no hook is at any of that.
  PlaceWatcher* InLayer(size_t number) {
    layer_ = places_.layer(number);
    const auto found = std::ranges::lower_bound(hooks_, layer_.first, {}, &Found::place);
    return found != hooks_.end() && found->place < layer_.end ? this : nullptr;
  }

  bool IsWatched(std::string_view what) const override { return Has(PlaceInLayer(what)); }
  void Show(std::string_view what, Rows values) override { ShowAll(PlaceInLayer(what), values); }
  void ShowSome(std::string_view what, Rows values, size_t first, size_t rows, size_t part_cols) override {
    if (const size_t place = PlaceInLayer(what); Has(place)) Call(place, *rows_, first, rows, values, part_cols);
  }
  void ShowChoices(std::string_view what, Rows values, std::span<const uint32_t> rows,
                   std::span<const uint32_t> experts) override {
    ShowRows(PlaceInLayer(what), rows, values, experts);
  }

 private:
  struct Found {
    size_t place;
    const Hook* hook;
  };

  const std::vector<Place>& all() const { return places_.all(); }

  // kNone for a name that the layer does not list.
  size_t PlaceInLayer(std::string_view what) const {
    for (size_t place = layer_.first; place < layer_.end; ++place) {
      if (all()[place].what == what) return place;
    }
    return ModelPlaces::kNone;
  }

  // Calls the hooks at a place, and of a layer of which ranks have parts, those of all ranks at once.
  void Call(size_t place, const PassRows& of, size_t first, size_t count, Rows values, size_t part_cols,
            std::span<const uint32_t> experts = {}) {
    const Place& where = all()[place];
    if (ranks_ == nullptr || !where.inside_layer) return CallHere(place, of, first, count, values, part_cols, experts);
    if (!goes_on()) return;  // no rank waits for the others any more
    WholeRows whole(*ranks_, places_.parts(place), where.part_cols == 0 ? part_cols : 1);
    status_ = whole.Join(values, count, where.parts * part_cols);
    if (!status_) return;
    CallHere(place, of, first, count, whole.rows(), part_cols, experts);
    whole.Cut(values, count);
  }

  void CallHere(size_t place, const PassRows& of, size_t first, size_t count, Rows values, size_t part_cols,
                std::span<const uint32_t> experts) {
    const Place& where = all()[place];
    const size_t cols = where.parts * part_cols;
    auto found = std::ranges::lower_bound(hooks_, place, {}, &Found::place);
    for (; found != hooks_.end() && found->place == place && goes_on(); ++found) {
      HookRows rows(where, std::span(of.tokens).subspan(first, count), std::span(of.positions).subspan(first, count),
                    std::span(of.sequences).subspan(first, count), experts, values.data, cols, values.stride);
      found->hook->call(rows);
      stops_ = rows.stops();
      status_ = rows.status();
    }
  }

  Result<void> AddHook(const Hook& hook) {
    if (!hook.call) return Fail(ErrorCode::kInvalidArgument, "the hook at " + QuotedName(hook.place) + " does nothing");
    const size_t before = hooks_.size();
    for (size_t i = 0; i < all().size(); ++i) {
      if (Matches(hook.place, all()[i].name)) hooks_.push_back({i, &hook});
    }
    if (hooks_.size() > before) return {};
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the model has no place ", QuotedName(hook.place), NamesLike(hook.place)}));
  }

  // Whether the name is the pattern, in which each * matches any characters.
  static bool Matches(std::string_view pattern, std::string_view name) {
    size_t p = 0, n = 0, star = std::string_view::npos,
           matched = 0;  // the last star, and the end of what it matches
    while (n < name.size()) {
      if (p < pattern.size() && pattern[p] == '*') {
        star = p++;
        matched = n;
      } else if (p < pattern.size() && pattern[p] == name[n]) {
        ++p, ++n;
      } else if (star != std::string_view::npos) {
        p = star + 1;
        n = ++matched;
      } else {
        return false;
      }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
  }

  // "; block.3 has input, queries": the places of the block that a name begins with, for an error.
  std::string NamesLike(std::string_view name) const {
    const size_t dot = name.find('.', name.find('.') + 1);
    std::string names;
    for (const Place& place : all()) {
      if (dot == std::string_view::npos || !place.name.starts_with(name.substr(0, dot + 1))) continue;
      names += (names.empty() ? "" : ", ") + place.name.substr(dot + 1);
    }
    if (names.empty()) return "; AnyModel::Places lists those that it has";
    return Concat({"; ", name.substr(0, dot), " has ", names});
  }

  const ModelPlaces& places_;
  const CommunicatorRef* const ranks_;  // null: the model is whole
  std::vector<Found> hooks_;            // ascending places
  const PassRows* rows_ = nullptr;
  ModelPlaces::OfLayer layer_ = {};
  bool stops_ = false;
  Result<void> status_;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_WATCHED_PLACES_H_
