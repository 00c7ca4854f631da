// SPDX-License-Identifier: Apache-2.0
//
// Finds which texts of a list another text begins with, in one walk over its bytes. Flat: the children of a node lie
// side by side, ordered by their byte. Immutable once built; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PREFIX_TRIE_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PREFIX_TRIE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::internal {

class PrefixTrie {
 public:
  static constexpr int32_t kNone = -1;

  PrefixTrie() = default;

  // Texts with their values, which must not be negative. Empty texts are left out; of equal ones the first counts.
  explicit PrefixTrie(std::vector<std::pair<std::string_view, int32_t>> texts) {
    std::erase_if(texts, [](const auto& text) { return text.first.empty(); });
    std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    struct Open {
      size_t begin, end, depth, node;  // the texts that share the first `depth` bytes, which lead to `node`
    };
    std::vector<Open> open = {{0, texts.size(), 0, 0}};
    for (size_t next = 0; next < open.size(); ++next) {  // by depth, so that children lie side by side
      auto [begin, end, depth, node] = open[next];
      for (; begin < end && texts[begin].first.size() == depth; ++begin) {
        if (nodes_[node].value == kNone) nodes_[node].value = texts[begin].second;
      }
      nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
      while (begin < end) {
        const char byte = texts[begin].first[depth];
        size_t last = begin;
        while (last < end && texts[last].first[depth] == byte) ++last;
        open.push_back({begin, last, depth + 1, nodes_.size()});
        nodes_.emplace_back().byte = static_cast<unsigned char>(byte);
        ++nodes_[node].children;
        begin = last;
      }
    }
    for (uint32_t i = 0; i < nodes_[0].children; ++i) {
      const uint32_t child = nodes_[0].first_child + i;
      root_[nodes_[child].byte] = child;
    }
  }

  // Calls found(length, value) with each text that `text` begins with, the shortest first.
  template <class Found>
  void ForEachPrefix(std::string_view text, Found found) const {
    if (text.empty()) return;
    uint32_t node = root_[static_cast<unsigned char>(text[0])];
    for (size_t length = 1; node != 0; ++length) {
      if (nodes_[node].value != kNone) found(length, nodes_[node].value);
      if (length == text.size()) break;
      node = Child(node, static_cast<unsigned char>(text[length]));
    }
  }

  // Whether a text of the list begins with this byte.
  bool HasFirst(char byte) const { return root_[static_cast<unsigned char>(byte)] != 0; }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint16_t children = 0;
    unsigned char byte = 0;
    int32_t value = kNone;
  };

  uint32_t Child(uint32_t node, unsigned char byte) const {
    const Node* const first = nodes_.data() + nodes_[node].first_child;
    const Node* const last = first + nodes_[node].children;
    const Node* const child =
        std::lower_bound(first, last, byte, [](const Node& a, unsigned char b) { return a.byte < b; });
    return child == last || child->byte != byte ? 0 : static_cast<uint32_t>(child - nodes_.data());
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the first is the root
  uint32_t root_[256] = {};                         // the root's children; 0 for none
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PREFIX_TRIE_H_
