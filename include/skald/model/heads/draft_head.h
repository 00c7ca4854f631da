// SPDX-License-Identifier: Apache-2.0
//
// DraftHead: a few layers that guess the tokens after the next one from what a model computed of a text: from rows of
// its residual stream and the token that follows each. Here are heads for multi-token prediction (DeepSeek-V3,
// arXiv:2412.19437, section 2.2), which checkpoints of several families have after their last layer; eagle_head.h and
// assistant_head.h have those that are published by themselves.

#ifndef SKALD_MODEL_HEADS_DRAFT_HEAD_H_
#define SKALD_MODEL_HEADS_DRAFT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/workspace.h"
#include "skald/weights/load_options.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

class Operations;  // layers/run/operations.h

/// Groups of equal size of the tokens of an output head, one group after the other. Only the likeliest groups are
/// guessed from, and the others not multiplied. Move-only.
struct TokenGroups {
  Matrix centroids = {};  ///< [groups, model_dim], whose products with a row say how likely each group is
  size_t most = 0;        ///< groups that are guessed from
};

/// The parts of a head besides its layers. Move-only.
struct HeadParts {
  /// Numbers of the model's blocks whose input the head reads (Drafter::Watches).
  std::vector<size_t> watches;
  size_t entry = 0;  ///< the block of the layers that DraftHead::Inputs are for
  /// Of heads that read hidden states: [model_dim], of the token's embedding, and of the hidden state. Others may have
  /// the second one, of what `projection` gives.
  NormWeights embedding_norm, hidden_norm;
  NormWeights read_norm;  ///< of what is read of the model before it is projected; empty: none
  /// Of the two side by side, [model_dim, 2 * the model's width]; of other heads, [model_dim, watches * that width].
  Matrix projection;
  /// [the model's width, model_dim], of heads narrower than the model: of a row of their own, which then takes the
  /// place of the model's. Of no rows: there is none, and the two are equally wide.
  Matrix back = {};
  /// [vocab_size, the model's width], of the tokens whose embeddings are beside hidden states; the model's, or the
  /// head's own.
  Matrix embedding = {};
  bool hidden_first = false;               ///< of the two, the hidden state comes before the embedding
  std::optional<Matrix> output = {};       ///< [ids, model_dim], the output head; absent: the model's
  std::vector<int32_t> ids = {};           ///< the tokens that it is for
  std::optional<TokenGroups> groups = {};  ///< of `ids`; absent: any of them may be guessed
};

/// The parameters of a head. Move-only.
struct HeadWeights {
  /// Room for those of a head whose layers and final norm are those of `spec`. Embeddings and the output head refer to
  /// the model's, which must outlive this. It watches the model's last rows.
  HeadWeights(ModelSpec spec, const AnyModel& model);

  ModelWeights body;  ///< layers and final norm
  HeadParts parts;    ///< the rest
};

/// Const, safe for concurrent calls with a workspace each, and without any conversation state, as AnyModel is.
class DraftHead {
 public:
  /// Whose rows of the residual stream a head reads.
  enum class From : uint8_t { kModel, kHead };

  /// `model` must outlive this, and is the one that the weights were made for. `functions` as for AnyModel. Throws
  /// std::bad_alloc.
  DraftHead(const AnyModel& model, HeadWeights weights,
            const std::vector<LayerFunction>& functions = StandardLayers::Functions());

  /// The layers. Their caches have a token less than the text: the first is that of the second one. Those of a head
  /// that reads_cache() have none.
  const AnyModel& body() const { return body_; }
  /// Whether the layers read the model's own cache of the text (WholeText::beside), and keep nothing themselves.
  bool reads_cache() const { return SeesBothWays(body_.spec()); }
  /// The block of body() whose input is what Inputs computes.
  size_t entry() const { return parts_.entry; }
  /// Numbers of the model's blocks whose input the head reads (Drafter::Watches).
  std::span<const size_t> watches() const { return parts_.watches; }
  /// Floats of a row of the model's: watches, each as wide as the model's residual stream.
  size_t row_floats() const { return watches().size() * static_cast<size_t>(model_->spec().model_dim); }

  /// Computes the rows that the residual stream of body() has before block entry(), [tokens, model_dim], from the rows
  /// of the model before each token, [tokens, row_floats], or of body() itself after its last block, [tokens,
  /// model_dim]. Errors: kInvalidArgument for rows of another size, kResourceExhausted, kFailedPrecondition as Forward.
  Result<void> Inputs(std::span<const int32_t> tokens, std::span<const float> rows, From from, Workspace& workspace,
                      AlignedBuffer<float>& inputs) const;

  /// Computes the logits of all the model's tokens, [rows, vocab_size], from rows of body() after its last block,
  /// [rows, model_dim]. Tokens that the head has no output for, or that it does not guess from, have minus infinity.
  /// Errors as Inputs.
  Result<void> Logits(std::span<const float> rows, Workspace& workspace, std::vector<float>& logits) const;

 private:
  /// The rows of hidden states beside embeddings, projected.
  void FuseHidden(std::span<const int32_t> tokens, std::span<const float> rows, From from, Operations& ops,
                  float* inputs) const;

  /// Of the tokens of rows [begin, end) of the output head; `stream`, [rows, model_dim], is normalised.
  void SomeLogits(size_t begin, size_t end, Rows stream, size_t rows, Workspace& workspace, Operations& ops,
                  float* logits) const;

  /// Of the tokens of each row's likeliest groups.
  void LikelyLogits(Rows stream, size_t rows, Workspace& workspace, Operations& ops, float* logits) const;

  const AnyModel* model_;
  HeadParts parts_;
  AnyModel body_;
};

namespace internal {

/// The layers of a head for further tokens: those of the model's last layer with attention, as layer `number`. Nothing
/// for models without attention, or where that is of a type of a user's own.
std::optional<ModelSpec> PredictionSpec(const ModelSpec& model, uint32_t number);

}  // namespace internal

/// Loads the head for further tokens in the checkpoint of `model`, which must outlive it. Checkpoints with several have
/// their first one used. An embedding and an output head of its own are loaded unless they are copies of the model's,
/// byte by byte. Errors: kNotFound for a checkpoint without one, kUnsupported for a model that ranks compute, else
/// those of LoadWeights.
Result<DraftHead> LoadPredictionHead(const OpenedModel& checkpoint, const AnyModel& model,
                                     const LoadOptions& options = {});

/// Returns a head of random weights, as RandomWeights. Its guesses are no better than chance. Errors: kUnsupported for
/// a model without attention.
Result<DraftHead> RandomPredictionHead(const AnyModel& model, uint64_t seed, DType dtype = DType::kBF16);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/heads/detail/draft_head.h"
#endif

#endif  // SKALD_MODEL_HEADS_DRAFT_HEAD_H_
