// SPDX-License-Identifier: Apache-2.0
//
// How checkpoints name their tensors. Layers list their parameters by the names of the Llama lineage
// ("self_attn.q_proj.weight"); a TensorNames translates them to one convention of checkpoints. The caller provides the
// known conventions (families/registry.h has those of all families), and the names in a checkpoint show which one it
// follows, so any model can be loaded from any of them. A name that no convention changes, such as that of a user's own
// layer, is the same everywhere.

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

/// The layout of the rows of a part in its tensor.
struct RowLayout {
  bool by_turns = false;     ///< one row of each part with this name in turn, not all rows of one part after the other
  bool transposed = false;   ///< the rows are columns of the tensor; with `interleaved`, columns of the part's rows
  bool mxfp4 = false;        ///< as blocks of MXFP4 [rows, cols / 32, 16], with the scales in another tensor
  bool interleaved = false;  ///< with those of other kinds of parts, one head after the other (Interleaved)
  bool joined = false;       ///< stacked matrices without an axis of their own, one after the other
  bool by_units =
      false;  ///< the units of the axis of rows, heads say, one after the other, each with its rows of all parts
  bool pairs_adjacent = false;  ///< rows that RoPE rotates together are neighbours (TensorView::rope_pairs_adjacent)
};

/// The beginning of a name, and its replacement. In `theirs`, "#" is the number of an expert; without it the tensors of
/// all experts are stacked in one. A name with two renamings has two spellings. Parts of one matrix with one name are
/// in one tensor, one after the other.
///
/// Within a layer, "input_layernorm" is the norm before the mixer; "feed_forward_norm" is the one before the
/// feed-forward layer, if there are no other norms. In models with a norm after each too, these are
/// "post_attention_layernorm", "pre_feedforward_layernorm" and "post_feedforward_layernorm". (Checkpoints call two of
/// them post_attention_layernorm.) "mlp.gate" is the router of a mixture of experts and "mlp.experts.gate_proj" the
/// gate projection of one of them.
struct Renaming {
  /// As described above; constants.
  std::string_view ours, theirs;
  RowLayout layout = {};  ///< of tensors with the name `theirs`
};

/// A tensor's name, and the layout of its rows.
struct Spelling {
  std::string name;       ///< as a file may spell it
  RowLayout layout = {};  ///< of tensors of that name
};

/// How a family names the tensors of its language models. Multimodal checkpoints put them under a prefix, which changed
/// over time, beside a vision part that Skald does not read.
struct TensorNames {
  std::string_view body;                               ///< before the embedding, the layers and the final norm
  std::string_view head;                               ///< before the output head's "weight" and "bias"
  std::string_view embedding = "embed_tokens.weight";  ///< after `body`
  std::string_view final_norm = "norm.";               ///< of the final norm, before "weight" and the like
  std::string_view layers = "layers.";                 ///< after `body`; a layer's number and a point follow
  std::span<const Renaming> renamings = {};            ///< of names within a layer

  /// Norms that multiply by one plus their parameter, or another offset, are stored with that added, decays as the
  /// factor itself.
  bool stores_converted = false;

  std::string_view mark = {};  ///< a tensor of the first layer that only checkpoints with these names have
  /// The beginnings of the names of tensors for other tasks, such as heads of encoders, which no model reads.
  std::span<const std::string_view> other_parts = {};

  /// Returns this family's name for `name`, of a layer or of none, with "#" for the number of an expert.
  std::string NameOf(std::string_view name, std::optional<size_t> layer) const;

  /// Returns all names that members of this family use for `name` within a layer, at least one.
  std::vector<Spelling> SpellingsOf(std::string_view name) const;

  /// Returns the tensor's name for a name within a layer.
  std::string OfLayer(size_t layer, std::string_view name) const;
  /// The inverse; nothing for tensors of no layer.
  std::string_view WithinLayer(std::string_view tensor) const;
};

/// Returns which of the names in `known`, at least one, the checkpoint follows: those that match most of the three
/// tensors that every model has, so that the error about a missing tensor uses the right name. If several match
/// equally, the earliest.
const TensorNames& DetectTensorNames(const Checkpoint& checkpoint, std::span<const TensorNames> known);

/// Name parts that only layers for predicting further tokens have, in Hugging Face folders and GGUF files.
inline constexpr std::string_view kPredictionParts[] = {"eh_proj.", "enorm.", "hnorm.", "shared_head.", "nextn."};

/// True for tensors that hold no parameters: older exporters saved the RoPE frequencies and masks, and GGUF files hold
/// their scaling factors, which a Config computes; and for adapters (kTaskPairs).
bool IsDerivedTensor(std::string_view name);

/// The beginnings of the names of tensors outside the language model: vision, audio, and layers that predict further
/// tokens. Every other tensor that no layer needs is refused.
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
                                                   "model.mtp.",
                                                   "model.mtp_"};

bool IsOfOtherPart(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/tensor_names.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_
