// SPDX-License-Identifier: Apache-2.0
//
// ModelSpec: what a model is, as one plain value: an embedding, residual blocks, a final norm and a head. It is the
// only description of a model that code works with; cache layout, parameters and fingerprints follow from it.

#ifndef SKALD_LAYERS_MODEL_SPEC_H_
#define SKALD_LAYERS_MODEL_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/fingerprint.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/fixed_text.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/field_visitor.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"

namespace skald {

/// The factor of embeddings (not of the output head).
enum class EmbeddingScale : uint8_t {
  kNone,
  kSqrt,         ///< sqrt(model_dim)
  kRoundedSqrt,  ///< that, rounded to bfloat16 first (RecurrentGemma)
};

constexpr std::string_view NameOf(EmbeddingScale scale) {
  switch (scale) {
    case EmbeddingScale::kNone:
      return "none";
    case EmbeddingScale::kSqrt:
      return "sqrt";
    case EmbeddingScale::kRoundedSqrt:
      return "rounded sqrt";
  }
  return "unknown";
}

/// The addend of attention's scores by the distance between two positions.
struct DistanceBias {
  int heads = 0;  ///< of queries, in every layer; 0: nothing is added
  /// Learned numbers for so many groups of distances, as T5 has them (arXiv:1910.10683, section 2.1); 0: minus the
  /// distance, times a slope of each head (ALiBi, arXiv:2108.12409).
  int buckets = 0;
  int max_distance = 0;  ///< beyond which distances are of one group

  friend constexpr bool operator==(const DistanceBias&, const DistanceBias&) = default;
};

/// Reads the residual stream, normalises it, computes its layers from that, and adds what they give; with a
/// normed_multiplier, to the normalised rows times that instead of the stream.
struct Block {
  uint32_t number = 0;                       ///< of the layer that checkpoints count it to
  std::optional<NormSpec> norm = RmsNorm();  ///< none: layers read the residual stream as it is
  FixedText norm_name = "input_layernorm";  ///< of the norm's tensors in checkpoints, within the layer (tensor_names.h)
  std::vector<LayerSpec> layers = {};       ///< side by side: what they give is added up
  std::optional<NormSpec> post_norm = {};   ///< of what they give
  FixedText post_norm_name = "post_attention_layernorm";  ///< likewise
  float residual_multiplier = 1.0f;                       ///< of what is added to the residual stream
  bool learned_scale = false;    ///< whether the residual stream after it is multiplied by a learned number
  bool beside_previous = false;  ///< it reads the residual stream that the block before it read
  bool norms_sum = false;        ///< post_norm is of the sum of the residual stream and what they give
  /// Not 0: the residual stream continues with what `norm` gives, times this, and what is added.
  float normed_multiplier = 0.0f;
  std::optional<NormSpec> stream_norm = {};  ///< of the residual stream after it, which continues with that
  /// Likewise. Where the last block has this name and no such norm, it is that of the final norm.
  FixedText stream_norm_name = "";

  friend constexpr bool operator==(const Block& a, const Block& b) {
    return a.norm == b.norm && a.layers == b.layers && a.post_norm == b.post_norm &&
           a.residual_multiplier == b.residual_multiplier && a.learned_scale == b.learned_scale &&
           a.beside_previous == b.beside_previous && a.norms_sum == b.norms_sum &&
           a.normed_multiplier == b.normed_multiplier && a.stream_norm == b.stream_norm;
  }
};

struct ModelSpec {
  int model_dim = 0;                                       ///< width of the residual stream
  int vocab_size = 0;                                      ///< rows of the embedding
  bool tied_embeddings = false;                            ///< output head = embedding matrix
  EmbeddingScale embedding_scale = EmbeddingScale::kNone;  ///< of embeddings on the way in
  std::vector<Block> blocks = {};                          ///< in the order in which they are computed
  NormSpec final_norm = RmsNorm();                         ///< before the head
  float final_softcap = 0.0f;         ///< logits s become cap * tanh(s / cap); 0: they stay as they are
  float embedding_multiplier = 1.0f;  ///< of embeddings, besides embedding_scale
  float logits_scaling = 1.0f;        ///< logits are divided by it, before the softcap
  int per_layer_dim = 0;    ///< width of what embeddings give each layer besides (per_layer_inputs.h); 0: nothing
  int per_layer_vocab = 0;  ///< tokens that have inputs of their own for each layer, others those of the first; 0: all
  std::optional<NormSpec> embedding_norm = {};  ///< of embeddings on the way in
  bool head_bias = false;                       ///< logits have a bias, before they are divided
  bool normed_head = false;  ///< the output head's matrix has columns of norm 1 (Part::normed_columns)
  /// Rows of learned embeddings of positions, added to those of tokens: no text is longer. 0: there are none.
  int positions = 0;
  int first_position = 0;           ///< the row of a text's first token
  int token_types = 0;              ///< rows of learned embeddings of the types of tokens, likewise
  DistanceBias distance_bias = {};  ///< of all attention layers
  /// Tokens of the longest text of which the layers compute what the model's authors do; 0: any number. It changes no
  /// number of what is computed.
  int longest_text = 0;

  friend constexpr bool operator==(const ModelSpec&, const ModelSpec&) = default;

  /// Everything that changes a number, and nothing else.
  constexpr void VisitFields(FieldVisitor& visit) const {
    visit("model_dim", model_dim);
    visit("vocab_size", vocab_size);
    visit("tied_embeddings", tied_embeddings);
    visit("embedding_scale", embedding_scale);
    for (const Block& block : blocks) {
      if (block.norm) visit("norm", *block.norm);  // models always had one
      for (const LayerSpec& layer : block.layers) {
        visit("layer", layer.name());
        layer.VisitFields(visit);
      }
      visit("post_norm", block.post_norm);
      VisitUnless(1.0f, "residual_multiplier", block.residual_multiplier, visit);
      VisitUnless(false, "learned_scale", block.learned_scale, visit);
      VisitUnless(false, "beside_previous", block.beside_previous, visit);
      VisitUnless(false, "norms_sum", block.norms_sum, visit);
      VisitUnless(0.0f, "normed_multiplier", block.normed_multiplier, visit);
      if (block.stream_norm) visit("stream_norm", *block.stream_norm);
    }
    visit("final_norm", final_norm);
    visit("final_softcap", final_softcap);
    VisitUnless(1.0f, "embedding_multiplier", embedding_multiplier, visit);
    VisitUnless(1.0f, "logits_scaling", logits_scaling, visit);
    VisitUnless(0, "per_layer_dim", per_layer_dim, visit);
    VisitUnless(0, "per_layer_vocab", per_layer_vocab, visit);
    if (embedding_norm) visit("embedding_norm", *embedding_norm);
    VisitUnless(false, "head_bias", head_bias, visit);
    VisitUnless(false, "normed_head", normed_head, visit);
    VisitUnless(0, "positions", positions, visit);
    VisitUnless(0, "first_position", first_position, visit);
    VisitUnless(0, "token_types", token_types, visit);
    VisitUnless(0, "bias_heads", distance_bias.heads, visit);
    VisitUnless(0, "bias_buckets", distance_bias.buckets, visit);
    VisitUnless(0, "bias_max_distance", distance_bias.max_distance, visit);
  }
};

namespace internal {

class FingerprintVisitor final : public FieldVisitor {
 public:
  constexpr FingerprintVisitor() = default;
  constexpr ~FingerprintVisitor() override {}  // NOLINT: g++ 12 needs it spelled out to run it while compiling

  constexpr void Integer(std::string_view name, int64_t value) override { Name(name).Add(value); }
  constexpr void Real(std::string_view name, double value) override { Name(name).Add(value); }
  constexpr void Text(std::string_view name, std::string_view value) override { AddText(value, Name(name)); }
  constexpr uint64_t value() const { return print_.value(); }

 private:
  static constexpr Fingerprint64& AddText(std::string_view text, Fingerprint64& print) {
    print.Add(text.size());
    for (const char c : text) print.Add(c);
    return print;
  }
  constexpr Fingerprint64& Name(std::string_view name) { return AddText(name, print_); }

  Fingerprint64 print_;
};

}  // namespace internal

/// Returns a number that no model has that computes anything else, the same on every machine. It names saved state and
/// packed files.
constexpr uint64_t Fingerprint(const ModelSpec& spec) {
  internal::FingerprintVisitor visitor;
  spec.VisitFields(visitor);
  return visitor.value();
}

/// Returns how many layers checkpoints count.
constexpr size_t NumLayers(const ModelSpec& spec) {
  return spec.blocks.empty() ? 0 : size_t{spec.blocks.back().number} + 1;
}

namespace internal {

/// Whether `shared` is kept by a block before number `before`.
constexpr bool IsKeptBefore(const ModelSpec& spec, size_t before, const SharedState& shared) {
  for (size_t b = 0; b < before; ++b) {
    if (spec.blocks[b].number != shared.layer) continue;
    for (const LayerSpec& layer : spec.blocks[b].layers) {
      if (layer.State() == shared.state) return true;
    }
  }
  return false;
}

/// Returns why `layer`, of block number `b`, cannot be in the model, or null. `carried` is the width of the rows that
/// earlier layers have given; it is updated for later ones.
constexpr const char* WhyImpossibleIn(const ModelSpec& spec, size_t b, const LayerSpec& layer, int& carried) {
  if (const char* why = layer.WhyImpossible()) return why;
  const std::optional<SharedState> shared = layer.StateOfOther();
  if (shared && !IsKeptBefore(spec, b, *shared)) {
    return "A layer shares keys and values with one that is not in front of it, or keeps others.";
  }
  if (layer.PerLayerDim() != 0 && layer.PerLayerDim() != spec.per_layer_dim) {
    return "A layer reads per-layer inputs of another width than the embeddings give.";
  }
  if (layer.InputDim() != 0 && layer.InputDim() != spec.model_dim) {
    return "A layer keeps rows of its input, and was made for a model of another width.";
  }
  const std::optional<CarriedRows> rows = layer.Carried();
  if (rows && rows->gives) carried = rows->width;
  if (rows && rows->width != carried) {
    return "A layer reads rows that no layer in front of it gives, or gives in another width.";
  }
  return nullptr;
}

}  // namespace internal

/// Returns whether layers of the model see whole sequences at once: it is computed by AnyModel::Encode, and keeps no
/// state.
constexpr bool SeesBothWays(const ModelSpec& spec) {
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (layer.StateOfPass()) return true;
    }
  }
  return false;
}

/// Returns how many tokens a text may have: by `longest_text`, and by the rows of positions; 0: any number.
constexpr uint32_t LongestText(const ModelSpec& spec) {
  const int rows = spec.positions - spec.first_position;
  const bool by_rows = rows > 0 && (spec.longest_text == 0 || rows < spec.longest_text);
  return static_cast<uint32_t>(by_rows ? rows : spec.longest_text);
}

namespace internal {

/// Returns why no model embeds positions and types of tokens as `spec` says, or null.
constexpr const char* WhyImpossibleEncoder(const ModelSpec& spec) {
  if (spec.positions < 0 || spec.first_position < 0 || spec.token_types < 0) {
    return "Rows of embeddings of positions and types must not be negative.";
  }
  if (spec.first_position > 0 && spec.first_position >= spec.positions) return "A text's first position has no row.";
  const DistanceBias& bias = spec.distance_bias;
  if (bias.heads < 0 || bias.buckets < 0) return "The heads of a bias of distances must not be negative.";
  if (bias.buckets > 0 && (bias.buckets % 4 != 0 || bias.max_distance <= bias.buckets / 4)) {
    return "Groups of distances must be a multiple of four, and reach further than half of those of one side.";
  }
  if (!SeesBothWays(spec)) {
    const bool is_plain = spec.token_types == 0 && bias.heads == 0;
    return is_plain ? nullptr : "Types of tokens and biases of distances need attention both ways.";
  }
  for (const Block& block : spec.blocks) {
    if (block.stream_norm && block.beside_previous) return "A block beside another does not normalise the stream.";
    for (const LayerSpec& layer : block.layers) {
      if (layer.State() || layer.StateOfOther()) return "A model that sees both ways must keep no state.";
    }
  }
  return nullptr;
}

}  // namespace internal

/// Returns why no model can be as `spec` says, in a sentence, or null. The sentence calls sizes as Configs do.
constexpr const char* WhyImpossible(const ModelSpec& spec) {
  if (spec.model_dim <= 0 || spec.vocab_size <= 0) return "kModelDim and kVocabSize must be positive.";
  if (spec.blocks.empty()) return "kLayers must name at least one layer.";
  if (spec.longest_text < 0) return "The longest text must not have a negative number of tokens.";
  if (!(spec.final_softcap >= 0.0f)) return "Softcaps must not be negative.";
  const auto is_multiplier = [](float value) { return value > 0.0f && value <= 1e30f; };
  if (!is_multiplier(spec.embedding_multiplier)) return "kEmbeddingMultiplier must be positive.";
  if (!is_multiplier(spec.logits_scaling)) return "kLogitsScaling must be positive: logits are divided by it.";
  if (spec.normed_head && spec.tied_embeddings) return "An output head with normed columns is not the embedding.";
  if (const char* why = spec.final_norm.WhyImpossible()) return why;
  if (spec.per_layer_dim < 0) return "The width of per-layer inputs must not be negative.";
  if (spec.per_layer_vocab < 0 || spec.per_layer_vocab > spec.vocab_size) {
    return "Tokens with per-layer inputs must be none to all.";
  }
  if (spec.embedding_norm) {
    if (const char* why = spec.embedding_norm->WhyImpossible()) return why;
  }
  if (const char* why = internal::WhyImpossibleEncoder(spec)) return why;
  int carried = 0;
  for (size_t b = 0; b < spec.blocks.size(); ++b) {
    const Block& block = spec.blocks[b];
    if (block.layers.empty()) return "A block must have at least one layer.";
    if (block.norms_sum && !block.post_norm) return "The sum with the stream needs a norm after the block.";
    if (!is_multiplier(block.residual_multiplier)) return "kResidualMultiplier must be positive.";
    if (block.beside_previous && (b == 0 || spec.blocks[b - 1].beside_previous || spec.blocks[b - 1].learned_scale)) {
      return "A block beside the one before it needs one that is beside no other and does not scale the stream.";
    }
    if (block.normed_multiplier != 0.0f && (!block.norm || !is_multiplier(block.normed_multiplier))) {
      return "A residual stream that continues with normalised rows needs a norm, and a positive multiplier.";
    }
    const bool has_neighbour =
        block.beside_previous || (b + 1 < spec.blocks.size() && spec.blocks[b + 1].beside_previous);
    if (block.normed_multiplier != 0.0f && has_neighbour) {
      return "A block whose residual stream continues with normalised rows is beside no other.";
    }
    for (const auto* norm : {&block.norm, &block.post_norm, &block.stream_norm}) {
      if (!*norm) continue;
      if (const char* why = (*norm)->WhyImpossible()) return why;
    }
    for (const LayerSpec& layer : block.layers) {
      if (const char* why = internal::WhyImpossibleIn(spec, b, layer, carried)) return why;
    }
  }
  return nullptr;
}

/// Returns the largest width of the rows that layers give to later ones; 0: none do.
size_t CarriedDim(const ModelSpec& spec);

/// Returns what a rank keeps of the state of a layer that has some. Whether states are replayed is for whole layers to
/// say.
constexpr CacheGroup PartOfState(const LayerSpec& layer, const RankShare& share) {
  CacheGroup part = *layer.State();
  const StateAxes axes = layer.AxesOfState();
  part.kv_heads = layer.OfRank(share).State()->kv_heads;
  part.state_floats = static_cast<uint32_t>(PartitionedSize(axes.state, share));
  if (part.input_floats > 0) part.input_floats = static_cast<uint32_t>(PartitionedSize(axes.inputs, share));
  return part;
}

/// Returns what a cache must hold, or one rank's part of it. Its layers are those layers of the spec that keep state,
/// in order.
constexpr CacheLayout LayoutOf(const ModelSpec& spec, const RankShare& share = {}) {
  CacheLayout layout(Fingerprint(spec), share);
  layout.SetLongestText(LongestText(spec));
  layout.SetLearnedPositions(!SeesBothWays(spec) && spec.positions > 0);
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const auto state = layer.State()) layout.AddLayer(*state);
    }
  }
  if (share.ranks == 1) return layout;
  size_t stateful = 0;  // parts come in once all are there, so that groups are the same on all ranks
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (layer.State()) layout.SetPart(layout.layers()[stateful++].group, PartOfState(layer, share));
    }
  }
  return layout;
}

/// Returns where each layer of each block, in order, has or reads its state; nothing for layers without.
std::vector<std::optional<LayerSlot>> SlotsOf(const ModelSpec& spec, const CacheLayout& layout);

/// Returns why ranks cannot divide the model, in a sentence, or null.
const char* WhyNotForRanks(const ModelSpec& spec, const RankShare& share);

/// Returns the factor on embeddings.
float EmbeddingFactor(const ModelSpec& spec);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/detail/model_spec.h"
#endif

#endif  // SKALD_LAYERS_MODEL_SPEC_H_
