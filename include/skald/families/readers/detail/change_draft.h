// SPDX-License-Identifier: Apache-2.0
//
// Changes from what layers have to what files of several architectures have: shapes of vectors, rows in another order
// (GgufArchitecture::change_draft).

#ifndef SKALD_FAMILIES_READERS_DETAIL_CHANGE_DRAFT_H_
#define SKALD_FAMILIES_READERS_DETAIL_CHANGE_DRAFT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

// Calls change(tensor) with each tensor of one of `names`. A name that begins with a point is of each layer.
template <class Change>
void ChangeTensors(GgufDraft& draft, std::initializer_list<std::string_view> names, Change change) {
  for (DraftTensor& tensor : draft.tensors) {
    const auto has_name = [&](std::string_view name) {
      return name.starts_with('.') ? tensor.name.ends_with(name) : tensor.name == name;
    };
    if (std::ranges::any_of(names, has_name)) change(tensor);
  }
}

// Gives vectors further axes of one element.
inline void MakeColumns(GgufDraft& draft, std::initializer_list<std::string_view> names) {
  ChangeTensors(draft, names, [](DraftTensor& tensor) { tensor.shape.push_back(1); });
}

inline void RenameTensors(GgufDraft& draft, std::string_view from, std::string_view to) {
  ChangeTensors(draft, {from},
                [&](DraftTensor& tensor) { tensor.name.replace(tensor.name.size() - from.size(), from.size(), to); });
}

// Reads row of(row) of what the tensor has now for each of `rows` rows.
template <class Of>
void TakeRows(DraftTensor& tensor, uint64_t rows, Of of) {
  tensor.shape.front() = rows;
  tensor.read_row = [read = std::move(tensor.read_row), of](uint64_t row, std::span<float> values) {
    read(of(row), values);
  };
}

// Multiplies each row by factor(row).
template <class Factor>
void MultiplyRows(DraftTensor& tensor, Factor factor) {
  tensor.read_row = [read = std::move(tensor.read_row), factor](uint64_t row, std::span<float> values) {
    read(row, values);
    for (float& value : values) value *= factor(row);
  };
}
inline void MultiplyTensors(GgufDraft& draft, std::string_view name, float factor) {
  ChangeTensors(draft, {name},
                [factor](DraftTensor& tensor) { MultiplyRows(tensor, [factor](uint64_t) { return factor; }); });
}

// Mamba-2's decays and skips are columns, and its norm is of each group of heads by itself.
inline void ChangeMamba2(const ModelSpec& spec, GgufDraft& draft) {
  const auto* const mamba = FindLayer<Mamba2>(spec);
  if (mamba == nullptr) return;
  MakeColumns(draft, {".ssm_a", ".ssm_d"});
  ChangeTensors(draft, {".ssm_norm.weight"}, [groups = static_cast<uint64_t>(mamba->groups)](DraftTensor& tensor) {
    tensor.shape = {groups, tensor.shape.back() / groups};
  });
}

// llama.cpp asks how many types of tokens there are, at least one. Positions begin at the first row.
inline void ChangeEncoder(const ModelSpec& spec, GgufDraft& draft) {
  draft.Set(GgufNumber("tokenizer.ggml.token_type_count", static_cast<uint32_t>(std::max(spec.token_types, 1))));
  const auto first = static_cast<uint64_t>(spec.first_position), rows = static_cast<uint64_t>(spec.positions) - first;
  ChangeTensors(draft, {"position_embd.weight"},
                [&](DraftTensor& tensor) { TakeRows(tensor, rows, [first](uint64_t row) { return first + row; }); });
}

inline ModelSpec EncoderAsWritten(ModelSpec spec) {
  spec.positions -= spec.first_position;
  spec.first_position = 0;
  return spec;
}

// Latent attention whose queries are made of the row itself has them by the usual name.
inline void ChangeLatentQueries(const ModelSpec& spec, GgufDraft& draft) {
  const auto* const attention = FindLayer<LatentAttention>(spec);
  if (attention != nullptr && attention->query_rank == 0) RenameTensors(draft, ".attn_q_b.weight", ".attn_q.weight");
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_CHANGE_DRAFT_H_
