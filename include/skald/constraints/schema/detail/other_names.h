// SPDX-License-Identifier: Apache-2.0
//
// Names of an object's members that are none of those that a schema lists.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_OTHER_NAMES_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_OTHER_NAMES_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/schema/detail/json_texts.h"

namespace skald::internal {

// Returns a string in quotes, or without if it `is_bare`, that is none of `names`, each character written in one way,
// so that no escape makes one of the names. A tree of the names' beginnings, from each of which any character leads
// away that no name goes on with. `names` must be valid UTF-8.
inline Grammar::Expression NamesOtherThan(const std::vector<std::string>& names, bool is_bare, Grammar& grammar,
                                          JsonTexts& json) {
  const CharacterRanges bare = JsonTexts::KeyCharacters();
  const auto character = [&](CharacterRanges set) {
    return is_bare ? grammar.Add(Grammar::Characters{Without(set, Complement(bare))}) : json.CharacterOf(set);
  };
  struct Beginning {
    std::map<char32_t, size_t> next;
    bool is_name = false;
  };
  std::vector<Beginning> tree(1);
  for (const std::string& name : names) {
    size_t at = 0;
    for (std::string_view rest = name; !rest.empty();) {
      const size_t length = FirstUtf8Character(rest).length;
      const char32_t c = CharacterIn(rest.substr(0, length));
      rest.remove_prefix(length);
      const auto [entry, is_new] = tree[at].next.try_emplace(c, tree.size());
      at = entry->second;
      if (is_new) tree.emplace_back();
    }
    tree[at].is_name = true;
  }
  const auto node = [](size_t beginning) { return beginning == 0 ? 0 : beginning + 2; };
  constexpr size_t kElsewhere = 2;
  Grammar::Graph graph;
  graph.nodes = tree.size() + 2;
  graph.edges.push_back(
      {kElsewhere, 1, is_bare ? grammar.Add(Grammar::Repeat{character(bare)}) : json.AnyCharacters()});
  for (size_t i = 0; i < tree.size(); ++i) {
    CharacterRanges taken;
    for (const auto& [c, next] : tree[i].next) {
      taken.push_back({c, c});
      graph.edges.push_back({node(i), node(next), character({{c, c}})});
    }
    graph.edges.push_back({node(i), kElsewhere, character(Complement(std::move(taken)))});
    if (!tree[i].is_name && !(is_bare && i == 0)) graph.edges.push_back({node(i), 1, Grammar::kEmpty});
  }
  const Grammar::Expression name = grammar.Add(std::move(graph));
  return is_bare ? name : json.Quoted(name);
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_OTHER_NAMES_H_
