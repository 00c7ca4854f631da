// SPDX-License-Identifier: Apache-2.0
//
// Numbers within bounds, and multiples of a number, as a graph of a grammar that compares digit by digit: exact, with
// no rounding. Written without exponents, and with at most as many digits as a double keeps, or as the bounds have.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_DECIMAL_RANGES_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_DECIMAL_RANGES_H_

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "skald/constraints/grammar/grammar.h"

namespace skald::internal {

// A decimal number; its digits before the point without leading zeros, those after it without trailing ones.
struct Decimal {
  bool is_negative = false;
  std::string whole, fraction;

  bool IsZero() const { return whole.empty() && fraction.empty(); }

  // Reads a number of JSON. Returns nothing if it has more digits than are of any use, exponent worked in.
  static std::optional<Decimal> Parse(std::string_view text) {
    constexpr int kMost = 64;
    Decimal number;
    if (text.starts_with('-')) text.remove_prefix(number.is_negative = 1);
    int exponent = 0;
    if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
      std::string_view power = text.substr(e + 1);
      if (power.starts_with('+')) power.remove_prefix(1);
      if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc()) return std::nullopt;
      text = text.substr(0, e);
    }
    const size_t point = std::min(text.find('.'), text.size());
    number.whole = text.substr(0, point);
    number.fraction = text.substr(std::min(point + 1, text.size()));
    if (exponent > kMost || exponent < -kMost || text.size() > kMost) return std::nullopt;
    for (; exponent > 0; --exponent) {
      number.whole += number.fraction.empty() ? '0' : number.fraction[0];
      if (!number.fraction.empty()) number.fraction.erase(0, 1);
    }
    for (; exponent < 0; ++exponent) {
      number.fraction.insert(0, 1, number.whole.empty() ? '0' : number.whole.back());
      if (!number.whole.empty()) number.whole.pop_back();
    }
    number.whole.erase(0, std::min(number.whole.find_first_not_of('0'), number.whole.size()));
    number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
    number.is_negative = number.is_negative && !number.IsZero();
    return number;
  }
};

struct DecimalBound {
  enum class Side { kAtLeast, kAtMost };

  Side side;
  bool is_strict;  // the bound itself is outside
  Decimal number;
};

// The allowed numbers.
struct DecimalRange {
  std::vector<DecimalBound> bounds = {};
  // Multiples of this many units of the digit `places` after the point.
  std::optional<uint64_t> multiple_of = {};
  size_t places = 0;
  bool integers_only = false;
  size_t most_digits = 15;
};

// Makes the graph. One for each grammar that is made.
class DecimalGraph {
 public:
  DecimalGraph(const DecimalRange& range, Grammar& grammar) : range_(range), grammar_(grammar) {
    most_digits_ = range.most_digits;
    for (const DecimalBound& bound : range.bounds) {
      most_digits_ = std::max(most_digits_, bound.number.whole.size() + bound.number.fraction.size());
    }
  }

  // Returns nothing if the graph would be too large.
  std::optional<Grammar::Expression> Make() {
    graph_.nodes = 2;
    AddSide(false);
    const size_t minus = graph_.nodes++;
    graph_.edges.push_back({0, minus, grammar_.Literal("-")});
    begin_ = minus;
    AddSide(true);
    if (graph_.nodes > kMostNodes) return std::nullopt;
    return grammar_.Add(std::move(graph_));
  }

 private:
  static constexpr size_t kMostNodes = 40'000;

  enum class Phase : uint8_t { kBegin, kZero, kWhole, kPoint, kFraction };
  // The state that determines which digits may follow.
  struct State {
    Phase phase = Phase::kBegin;
    size_t whole = 0, fraction = 0;  // digits so far; a zero alone before the point counts as none
    std::vector<int8_t> compared;    // with each bound: below, equal so far, above
    uint64_t remainder = 0;

    auto Key() const { return std::tie(phase, whole, fraction, compared, remainder); }
    friend bool operator<(const State& a, const State& b) { return a.Key() < b.Key(); }
  };

  // The bounds of the numbers with or without a minus, as bounds of the digits after it. Returns false if there are no
  // such numbers.
  bool FindBounds(bool is_negative) {
    using Side = DecimalBound::Side;
    bounds_.clear();
    if (is_negative) bounds_.push_back({Side::kAtLeast, true, {}});  // no -0
    for (const DecimalBound& bound : range_.bounds) {
      const bool at_least = bound.side == Side::kAtLeast;
      if (bound.number.is_negative != is_negative) {
        if (at_least != bound.number.is_negative) return false;
        continue;  // all of them are on the right side
      }
      const bool flips = is_negative;
      bounds_.push_back({at_least != flips ? Side::kAtLeast : Side::kAtMost, bound.is_strict, bound.number});
    }
    return true;
  }

  void AddSide(bool is_negative) {
    if (!FindBounds(is_negative)) return;
    State first;
    first.compared.assign(bounds_.size(), 0);
    nodes_ = {{first, begin_}};
    std::vector<State> open = {first};
    for (size_t i = 0; i < open.size() && graph_.nodes <= kMostNodes; ++i) {
      const State state = open[i];
      const size_t node = nodes_.at(state);
      const auto node_of = [&](const State& next) {
        const auto [entry, is_new] = nodes_.try_emplace(next, graph_.nodes);
        if (is_new) open.push_back(next);
        graph_.nodes += is_new ? 1 : 0;
        return entry->second;
      };
      if (IsEnd(state)) graph_.edges.push_back({node, 1, Grammar::kEmpty});
      if (const std::optional<State> next = AfterPoint(state)) {
        graph_.edges.push_back({node, node_of(*next), grammar_.Literal(".")});
      }
      for (char first_digit = '0'; first_digit <= '9';) {
        const std::optional<State> next = AfterDigit(state, first_digit);
        char last = first_digit;  // digits with the same consequence make one edge
        while (last < '9' && next && SameState(AfterDigit(state, static_cast<char>(last + 1)), *next)) ++last;
        if (next) graph_.edges.push_back({node, node_of(*next), DigitsFrom(first_digit, last)});
        first_digit = static_cast<char>(last + 1);
      }
    }
  }

  static bool SameState(const std::optional<State>& a, const State& b) { return a && a->Key() == b.Key(); }

  Grammar::Expression DigitsFrom(char first, char last) {
    const auto [entry, is_new] = digits_.try_emplace({first, last}, 0);
    if (is_new) {
      const CharacterRanges set = {{static_cast<char32_t>(first), static_cast<char32_t>(last)}};
      entry->second = grammar_.Add(Grammar::Characters{set});
    }
    return entry->second;
  }

  // Whether what was read goes on past the digits before the point: then their number counts.
  void EndWhole(State& state) const {
    for (size_t i = 0; i < bounds_.size(); ++i) {
      if (state.whole < bounds_[i].number.whole.size()) state.compared[i] = -1;
    }
  }

  std::optional<State> AfterPoint(State state) const {
    if (range_.integers_only || (state.phase != Phase::kZero && state.phase != Phase::kWhole)) return std::nullopt;
    if (state.whole + 1 > most_digits_ || (range_.multiple_of && range_.places == 0)) return std::nullopt;
    EndWhole(state);
    state.phase = Phase::kPoint;
    return state;
  }

  std::optional<State> AfterDigit(State state, char digit) const {
    if (state.phase == Phase::kZero) return std::nullopt;
    const bool is_whole = state.phase == Phase::kBegin || state.phase == Phase::kWhole;
    if (state.whole + state.fraction >= most_digits_) return std::nullopt;
    if (!is_whole && range_.multiple_of && state.fraction == range_.places) return std::nullopt;
    for (size_t i = 0; i < bounds_.size(); ++i) {
      if (state.compared[i] != 0 && !(is_whole && state.whole == bounds_[i].number.whole.size())) continue;
      state.compared[i] = CompareDigit(state, is_whole, bounds_[i].number, digit);
    }
    if (range_.multiple_of) {
      state.remainder = (state.remainder * 10 + static_cast<uint64_t>(digit - '0')) % *range_.multiple_of;
    }
    const bool is_leading_zero = state.phase == Phase::kBegin && digit == '0';
    if (is_whole) {
      state.whole += is_leading_zero ? 0 : 1;
      state.phase = is_leading_zero ? Phase::kZero : Phase::kWhole;
    } else {
      ++state.fraction;
      state.phase = Phase::kFraction;
    }
    return state;
  }

  int8_t CompareDigit(const State& state, bool is_whole, const Decimal& bound, char digit) const {
    if (is_whole && state.phase == Phase::kBegin && digit == '0') return 0;  // no digit yet
    const std::string& digits = is_whole ? bound.whole : bound.fraction;
    const size_t place = is_whole ? state.whole : state.fraction;
    if (is_whole && place >= digits.size()) return 1;
    const char other = place < digits.size() ? digits[place] : '0';
    return static_cast<int8_t>(digit < other ? -1 : digit > other ? 1 : 0);
  }

  bool IsEnd(State state) const {
    if (state.phase == Phase::kBegin || state.phase == Phase::kPoint) return false;
    if (state.phase != Phase::kFraction) EndWhole(state);
    for (size_t i = 0; i < bounds_.size(); ++i) {
      int compared = state.compared[i];
      if (compared == 0 && state.fraction < bounds_[i].number.fraction.size()) compared = -1;
      const bool at_least = bounds_[i].side == DecimalBound::Side::kAtLeast;
      if (compared == 0 ? bounds_[i].is_strict : (compared > 0) != at_least) return false;
    }
    uint64_t remainder = state.remainder;
    for (size_t i = state.fraction; range_.multiple_of && i < range_.places; ++i) {
      remainder = remainder * 10 % *range_.multiple_of;
    }
    return remainder == 0;
  }

  const DecimalRange& range_;
  Grammar& grammar_;
  size_t most_digits_;
  size_t begin_ = 0;                  // the node before the first digit
  std::vector<DecimalBound> bounds_;  // of the digits after the sign
  Grammar::Graph graph_;
  std::map<State, size_t> nodes_;
  std::map<std::pair<char, char>, Grammar::Expression> digits_;
};

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_DECIMAL_RANGES_H_
