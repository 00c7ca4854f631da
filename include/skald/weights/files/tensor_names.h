// SPDX-License-Identifier: Apache-2.0
//
// How checkpoints name their tensors. Layers list their parameters by the names of the Llama lineage
// ("self_attn.q_proj.weight"); a TensorNames says what checkpoints of one convention call them. Which conventions there
// are is handed down (families/registry.h knows those of all families), and which of them a checkpoint follows is seen
// from the names in it, so any model can be loaded from any of them. A name that no convention changes, as of a layer
// of a user's own, is the same everywhere.

#ifndef SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_
#define SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/weights/files/checkpoint.h"

namespace skald {

/// How the rows of a part lie in its tensor.
struct RowLayout {
  bool by_turns = false;     ///< a row of each part with this name by turns, not all rows of one part after the other
  bool transposed = false;   ///< as columns; interleaved, as columns of the rows that the part is
  bool mxfp4 = false;        ///< as blocks of MXFP4 [rows, cols / 32, 16], whose scales are another tensor
  bool interleaved = false;  ///< with those of other kinds of parts, one head after the other (Interleaved)
  bool joined = false;       ///< of stacked matrices: without an axis of their own, one matrix below the other
  bool pairs_adjacent = false;  ///< those that RoPE turns together side by side (TensorView::rope_pairs_adjacent)
};

/// The beginning of a name, and what stands there instead. In `theirs`, "#" stands for the number of an expert; where
/// there is none the tensors of all experts are stacked in one. A name with two renamings has two spellings, and parts
/// of one matrix with one name lie in one tensor, one after the other.
///
/// Within a layer, "input_layernorm" is the norm in front of the mixer; "feed_forward_norm" the one in front of the
/// feed-forward layer of models that have no others; and of models with a norm behind each too, these are
/// "post_attention_layernorm", "pre_feedforward_layernorm" and "post_feedforward_layernorm". (Checkpoints call two of
/// them post_attention_layernorm.) "mlp.gate" is the router of a mixture of experts and "mlp.experts.gate_proj" the
/// gate projection of one of them.
struct Renaming {
  std::string_view ours, theirs;
  RowLayout layout = {};
};

/// What a tensor is called, and how it holds what it does.
struct Spelling {
  std::string name;
  RowLayout layout = {};
};

/// How a family names the tensors of its language models. Multimodal checkpoints put them under a prefix of their own,
/// which changed over time, beside a vision part that Skald does not read.
struct TensorNames {
  std::string_view body;  ///< in front of the embedding, the layers and the final norm
  std::string_view head;  ///< in front of the output head's "weight"
  std::string_view embedding = "embed_tokens.weight";
  std::string_view final_norm = "norm.";  ///< of the final norm, in front of "weight" and the like
  std::string_view layers = "layers.";
  std::span<const Renaming> renamings = {};  ///< of names within a layer

  /// Norms that multiply by one plus their parameter are stored with the one added, decays as what is multiplied by.
  bool stores_converted = false;

  std::string_view mark = {};  ///< a tensor of the first layer that only checkpoints with these names have

  /// Returns what this family calls `name`, of a layer or of none, with "#" for the number of an expert.
  std::string NameOf(std::string_view name, std::optional<size_t> layer) const;

  /// Returns all that members of this family call `name` within a layer, at least one.
  std::vector<Spelling> SpellingsOf(std::string_view name) const;

  /// From a name within a layer to that of the tensor.
  std::string OfLayer(size_t layer, std::string_view name) const;
  /// And back; nothing for tensors of no layer.
  std::string_view WithinLayer(std::string_view tensor) const;
};

/// Returns which of the names in `known`, at least one, the checkpoint follows: those of which it has most of the three
/// tensors that every model has, so that the error about a tensor that is missing calls it by its right name. In doubt
/// it is the earliest.
const TensorNames& DetectTensorNames(const Checkpoint& checkpoint, std::span<const TensorNames> known);

/// What layers that predict further tokens have and no others, in Hugging Face folders and GGUF files.
inline constexpr std::string_view kPredictionParts[] = {"eh_proj.", "enorm.", "hnorm.", "shared_head.", "nextn."};

/// True for tensors that hold no parameters: older exporters saved the RoPE frequencies, and GGUF files hold what
/// scales them, which a Config computes.
bool IsDerivedTensor(std::string_view name);

/// The beginnings of the names of tensors that are no part of a language model: what sees and hears, and layers that
/// predict further tokens. Whatever else no layer asks for is refused.
inline constexpr std::string_view kOtherParts[] = {"vision_tower.",
                                                   "vision_model.",
                                                   "multi_modal_projector.",
                                                   "visual.",
                                                   "audio_tower.",
                                                   "embed_vision.",
                                                   "embed_audio.",
                                                   "model.vision_tower.",
                                                   "model.vision_model.",
                                                   "model.multi_modal_projector.",
                                                   "model.visual.",
                                                   "model.audio_tower.",
                                                   "model.embed_vision.",
                                                   "model.embed_audio.",
                                                   "mtp.",
                                                   "model.mtp."};

bool IsOfOtherPart(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/tensor_names.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_
