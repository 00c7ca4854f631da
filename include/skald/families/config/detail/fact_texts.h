// SPDX-License-Identifier: Apache-2.0
//
// Values, and members of a model's layers, as texts that can be compared.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_FACT_TEXTS_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_FACT_TEXTS_H_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald::internal {

inline std::string Text(std::string_view value) { return std::string(value); }
inline std::string Text(bool value) { return value ? "true" : "false"; }
inline std::string Text(int value) { return std::to_string(value); }

// The shortest text that no other value of its type has, so equal texts mean equal values.
template <std::floating_point T>
std::string Text(T value) {
  if (value == std::floor(value) && std::abs(value) < T{1e9}) return std::to_string(static_cast<int64_t>(value));
  char buffer[32];
  return std::string(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
}

inline std::string Text(const std::vector<float>& values) {
  std::string text = "[";
  for (const float value : values) text += (text.size() == 1 ? "" : ", ") + Text(value);
  return text + "]";
}

inline std::string Text(const RopeSpec& rope) {
  std::string text = Text(rope.base);
  if (rope.scaling == RopeScaling::kLongRope)
    return text + " longrope " + Text(rope.factors) + Text(rope.short_factors);
  if (rope.scaling != RopeScaling::kNone) text += " " + Text(NameOf(rope.scaling)) + " by " + Text(rope.factor);
  if (rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn) {
    text += " between " + Text(rope.low_frequency_factor) + " and " + Text(rope.high_frequency_factor) + " of " +
            Text(rope.original_context);
  }
  return text;
}

// The shortest pattern whose repetition gives the list, as in "sliding_attention x5, full_attention x1".
inline std::string Pattern(const std::vector<std::string>& texts) {
  size_t period = 1;
  while (period < texts.size() &&
         !std::equal(texts.begin() + static_cast<ptrdiff_t>(period), texts.end(), texts.begin())) {
    ++period;
  }
  std::string pattern;
  for (size_t begin = 0; begin < std::min(period, texts.size());) {
    size_t end = begin;
    while (end < period && texts[end] == texts[begin]) ++end;
    pattern += (begin == 0 ? "" : ", ") + texts[begin] + " x" + std::to_string(end - begin);
    begin = end;
  }
  return pattern;
}

using Layers = std::vector<const LayerSpec*>;

inline Layers LayersThat(const ModelSpec& spec, bool (*test)(const LayerSpec&)) {
  Layers found;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (test(layer)) found.push_back(&layer);
    }
  }
  return found;
}

// Returns the one text if all agree, `none` if there is no text.
inline std::string Joint(const std::vector<std::string>& texts, const std::string& none) {
  if (texts.empty()) return none;
  const bool agree = std::ranges::all_of(texts, [&](const std::string& text) { return text == texts[0]; });
  return agree ? texts[0] : Pattern(texts);
}

// The fact of each of the layers. Called through a pointer: there are a hundred facts, and a copy of this for each
// would be a tenth of what a program compiles.
inline std::string FactOf(const Layers& layers, const std::string& none, std::string (*fact)(const LayerSpec&)) {
  std::vector<std::string> texts;
  for (const LayerSpec* const layer : layers) texts.push_back(fact(*layer));
  return Joint(texts, none);
}

template <Layer L>
bool Is(const LayerSpec& layer) {
  return layer.As<L>() != nullptr;
}

// The fact that a member is, of all layers that have it. `member` returns where it is, or nothing in layers of another
// kind; without a layer, the standard. There is one copy for each type of value.
template <class T>
std::string FactOfMember(const ModelSpec& spec, const T* (*member)(const LayerSpec*)) {
  std::vector<std::string> texts;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const T* const value = member(&layer)) texts.push_back(Text(*value));
    }
  }
  return Joint(texts, Text(*member(nullptr)));
}

template <Layer L>
const L* LayerOrStandard(const LayerSpec* layer) {
  static const L standard;
  return layer == nullptr ? &standard : layer->As<L>();
}

template <Layer L, auto kMember>
std::string Member(const ModelSpec& spec) {
  using T = std::remove_reference_t<decltype(std::declval<const L&>().*kMember)>;
  return FactOfMember<std::remove_const_t<T>>(spec, [](const LayerSpec* layer) -> T* {
    const L* const found = LayerOrStandard<L>(layer);
    return found == nullptr ? nullptr : &(found->*kMember);
  });
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_FACT_TEXTS_H_
