// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/config/config_text.h.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_CONFIG_TEXT_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_CONFIG_TEXT_H_

#include "skald/families/config/config_text.h"

#include "skald/base/inline.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"

namespace skald {

namespace internal {

SKALD_INLINE bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

SKALD_INLINE std::string StructName(std::string_view name) {
  const bool is_letter = !name.empty() && IsWordCharacter(name[0]) && name[0] > '9';
  std::string made = is_letter ? "" : "Model_";
  for (const char c : name) {
    if (IsWordCharacter(c)) made += c;
    if (!IsWordCharacter(c) && !made.ends_with('_')) made += '_';  // two in a row are the compiler's
  }
  if (made[0] >= 'a') made[0] = static_cast<char>(made[0] - 'a' + 'A');
  return made;
}

SKALD_INLINE std::string Literal(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' || c < ' ' || c > '~' ? '_' : c;
  return quoted + '"';
}

SKALD_INLINE void List::Add(std::string_view name, const std::string& value) {
  text_ += text_.empty() ? "" : ", ";
  if (!name.empty()) text_.append(".").append(name).append(" = ");
  text_ += value;
}

SKALD_INLINE void List::AddUnless(const std::string& standard, std::string_view name, const std::string& value) {
  if (value != standard) Add(name, value);
}

SKALD_INLINE std::string Literal(const std::vector<float>& values) {
  List list;
  for (const float value : values) list.Add("", Literal(value));
  return list.InBraces();
}

SKALD_INLINE std::string LayersText(const std::vector<LayerKind>& layers) {
  size_t period = 1;
  const auto repeats = [&] {
    for (size_t i = period; i < layers.size(); ++i) {
      if (layers[i] != layers[i - period]) return false;
    }
    return true;
  };
  while (!repeats()) ++period;
  List pattern;
  for (size_t i = 0; i < period; ++i) pattern.Add("", Literal(layers[i]));
  return "skald::RepeatLayers<" + std::to_string(layers.size()) + ">(" + pattern.InBraces() + ")";
}

SKALD_INLINE std::string Wrapped(const std::string& line, size_t indent) {
  constexpr size_t kColumns = 110;
  std::string wrapped, rest = std::string(indent, ' ') + line;
  while (rest.size() > kColumns) {
    const size_t comma = rest.rfind(", ", kColumns);
    if (comma == std::string::npos || comma <= indent + 4) break;
    wrapped += rest.substr(0, comma + 1) + "\n";
    rest = std::string(indent + 4, ' ') + rest.substr(comma + 2);
  }
  return wrapped + rest + "\n";
}

SKALD_INLINE void Members::AddExpression(std::string_view type, std::string_view name, const std::string& value) {
  AddLine("static constexpr " + std::string(type) + " " + std::string(name) + " = " + value + ";");
}

SKALD_INLINE void AddRecurrence(const ShortForm& a, Members& members) {
  const auto has = [&](LayerKind kind) { return std::ranges::count(a.layers, kind) != 0; };
  const bool rg_lru = has(LayerKind::kRgLru), mamba = has(LayerKind::kMamba), mamba2 = has(LayerKind::kMamba2);
  if (rg_lru) {
    members.Add("kLruWidth", a.rg_lru.width);
    members.Add("kLruBlocks", a.rg_lru.blocks);
  }
  if (mamba) {
    members.Add("kInnerDim", a.mamba.inner_dim);
    members.Add("kTimeStepRank", a.mamba.time_step_rank);
  }
  if (mamba2) {
    members.Add("kSsmHeads", a.mamba2.heads);
    members.Add("kSsmHeadDim", a.mamba2.head_dim);
    members.Add("kSsmGroups", a.mamba2.groups);
    const float limits[] = {a.mamba2.time_step_min, a.mamba2.time_step_max};
    if (limits[0] != Mamba2().time_step_min || limits[1] != Mamba2().time_step_max) {
      members.AddExpression("std::array<float, 2>", "kTimeStepLimit",
                            "{" + Literal(limits[0]) + ", " + Literal(limits[1]) + "}");
    }
  }
  if (mamba || mamba2) members.Add("kStateDim", mamba ? a.mamba.state_dim : a.mamba2.state_dim);
  if (rg_lru || mamba || mamba2) {
    members.Add("kConvWidth", rg_lru ? a.rg_lru.conv_width : mamba ? a.mamba.conv_width : a.mamba2.conv_width);
  }
}

SKALD_INLINE bool SharedMembersAgree(const ShortForm& a) {
  if (a.sliding_rope && !a.sliding_rope->factors.empty()) return false;
  if (a.mamba.selection_norm && std::ranges::count(a.layers, LayerKind::kMamba) != 0) return false;
  std::vector<int> conv_widths, state_dims;
  for (const LayerKind kind : a.layers) {
    if (kind == LayerKind::kRgLru) conv_widths.push_back(a.rg_lru.conv_width);
    if (kind == LayerKind::kMamba) conv_widths.push_back(a.mamba.conv_width), state_dims.push_back(a.mamba.state_dim);
    if (kind == LayerKind::kMamba2)
      conv_widths.push_back(a.mamba2.conv_width), state_dims.push_back(a.mamba2.state_dim);
  }
  const auto agree = [](const std::vector<int>& sizes) {
    return std::ranges::all_of(sizes, [&](int size) { return size == sizes[0]; });
  };
  return agree(conv_widths) && agree(state_dims);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_CONFIG_TEXT_H_
