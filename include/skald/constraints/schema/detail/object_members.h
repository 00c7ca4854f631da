// SPDX-License-Identifier: Apache-2.0
//
// The members of an object as a grammar: each property once, in the order in which they are written, then any others.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_OBJECT_MEMBERS_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_OBJECT_MEMBERS_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/constraints/grammar/grammar.h"

namespace skald::internal {

struct ObjectMember {
  Grammar::Expression text;  // its name and its value
  bool is_required;
};

// Texts around members and between them.
struct MemberMarks {
  Grammar::Expression begin, close, comma;
  std::string_view end;  // of an object without members
};

// The order of names for Gemma, whose templates sort them without regard to case.
inline std::vector<size_t> SortedOrder(const std::vector<std::string>& names) {
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(names[a].begin(), names[a].end(), names[b].begin(), names[b].end(),
                                        [&](char x, char y) { return lower(x) < lower(y); });
  });
  return order;
}

// A graph with each member once, and `other`, if there may be others, any number of times after them. Each has a node
// before it, where a member must follow, and one after it, where the object ends or a comma follows.
inline Grammar::Expression AddMembers(std::span<const ObjectMember> members, std::optional<Grammar::Expression> other,
                                      const MemberMarks& marks, Grammar& grammar) {
  const size_t count = members.size(), places = count + (other ? 1 : 0);
  const auto before = [](size_t i) { return 3 + 2 * i; };
  const auto behind = [](size_t i) { return 4 + 2 * i; };
  constexpr size_t kOpened = 2;
  size_t last_required = 0;  // counted from 1
  for (size_t i = 0; i < count; ++i) last_required = members[i].is_required ? i + 1 : last_required;
  Grammar::Graph graph;
  graph.nodes = 3 + 2 * places;
  graph.edges.push_back({0, kOpened, marks.begin});
  if (last_required == 0) graph.edges.push_back({kOpened, 1, grammar.Literal(marks.end)});
  if (places > 0) graph.edges.push_back({kOpened, before(0), Grammar::kEmpty});
  for (size_t i = 0; i < places; ++i) {
    const bool is_other = i == count, is_required = !is_other && members[i].is_required;
    graph.edges.push_back({before(i), behind(i), is_other ? *other : members[i].text});
    if (i + 1 < places && !is_required) graph.edges.push_back({before(i), before(i + 1), Grammar::kEmpty});
    if (is_other) graph.edges.push_back({behind(i), before(i), marks.comma});
    if (i + 1 < places) graph.edges.push_back({behind(i), before(i + 1), marks.comma});
    if (i + 1 >= last_required) graph.edges.push_back({behind(i), 1, marks.close});
  }
  return grammar.Add(std::move(graph));
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_OBJECT_MEMBERS_H_
