// SPDX-License-Identifier: Apache-2.0
//
// OpenEncoder: a model that embeds or ranks texts, in one call. The same text has the same embedding, to the bit: alone
// or among others, in any order, with any number of threads, on every machine with fused multiply-add.

#ifndef SKALD_OPEN_OPEN_ENCODER_H_
#define SKALD_OPEN_OPEN_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/workspace.h"
#include "skald/open/encoders/embeddings.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/encoders/hybrid.h"
#include "skald/open/model_info.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/load_options.h"

namespace skald {

/// A text as token ids, special ones included.
struct TextIds {
  std::vector<int32_t> tokens;      ///< at least one
  std::vector<int32_t> types = {};  ///< [tokens], which of two texts each is of (0 or 1); empty: all are 0
  uint32_t prompt_tokens = 0;       ///< the first ones, which are of the prompt or special
  uint32_t prefix = 0;              ///< the first ones, which begin every window of a long text
  uint32_t suffix = 0;              ///< the last ones, which end every window
};

/// The treatment of a text that is longer than the model's longest.
enum class LongText : uint8_t {
  kRefuse,   ///< an error that names the text, its tokens and how many there may be
  kWindows,  ///< pieces of the longest length, one after the other; its embedding is the mean of theirs, weighted by
             ///< their tokens; its score as a document the best one
  kCut,      ///< its end is left out
};

/// How an encoder is opened.
struct EncoderOptions {
  std::optional<DType> weight_type = {};  ///< to load weights as; unset: ModelInfo::weight_type
  LoadOptions load = {};                  ///< of the weights; `weight_type` is used in place of its dtype
  std::optional<Pooling> pooling = {};    ///< in place of what the files say
  /// In place of what the files say. Decoders that rank by "yes" or "no" are often published without a word of it:
  /// kDecoderReranker takes these two tokens.
  std::optional<EncoderKind> kind = {};
  bool has_text = true;  ///< false: no tokenizer is opened, and texts are token ids
};

/// How texts are embedded.
struct EmbedOptions {
  /// Of EncoderFacts::tasks: texts are computed by its adapter, after the prompt of its name unless another is asked
  /// for. Empty: by none.
  std::string task = {};
  std::string prompt_name = {};            ///< of EncoderFacts::prompts; empty: the default one, if there is one
  std::optional<std::string> prompt = {};  ///< the text before each text itself, in place of a named one
  std::optional<size_t> dimension = {};    ///< so many first elements of each embedding (Matryoshka)
  std::optional<bool> normalise = {};      ///< whether embeddings have the length 1; unset: as the files say
  std::optional<Pooling> pooling = {};     ///< in place of the encoder's
  LongText long_text = LongText::kRefuse;  ///< what becomes of long ones
  uint32_t pass_tokens = 2048;  ///< tokens of texts that are computed together, bounding memory; a longer text is
                                ///< computed alone. Changes speed, never a result
  /// The ranks that compute with this one, where the weights are one rank's part (EncoderOptions::load): each makes the
  /// same calls, and each gets the whole result. Alive until the call returns.
  const CommunicatorRef* ranks = nullptr;
};

/// How documents are ranked.
struct RankOptions {
  std::string instruction = {};            ///< what makes a document fit, for rerankers that read one; empty: theirs
  bool raw = false;                        ///< scores of a head as it gives them, not between 0 and 1
  LongText long_text = LongText::kRefuse;  ///< of documents
  uint32_t pass_tokens = 2048;             ///< as EmbedOptions
  const CommunicatorRef* ranks = nullptr;  ///< likewise
};

/// A model that embeds or ranks texts. Immutable: const functions may be called at the same time, each call with a
/// workspace of its own.
class Encoder {
 public:
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

  /// The model on disk.
  const ModelInfo& info() const;
  /// Pooling, prompts and limits.
  const EncoderFacts& facts() const;
  /// The weights.
  const AnyModel& model() const;
  /// Null if it was opened without.
  const Tokenizer* tokenizer() const;

  /// Returns the ids of texts, each after the prompt that `options` say, with the special tokens of the model. They may
  /// be longer than the longest text. Errors: kFailedPrecondition without a tokenizer; kInvalidArgument for a prompt or
  /// a task that there is not, and for an empty text, naming its number.
  Result<std::vector<TextIds>> Tokenize(std::span<const std::string> texts, const EmbedOptions& options = {}) const;

  /// Returns the embeddings of texts, in their order. Errors: those of Tokenize and EmbedIds.
  Result<Embeddings> Embed(std::span<const std::string> texts, Workspace& workspace,
                           const EmbedOptions& options = {}) const;

  /// The same of token ids, which are computed as they are; prompts are not added. Errors, which name the text by its
  /// number: kInvalidArgument (no token, an id or a type outside of the model's, a dimension that is 0 or too large),
  /// kOutOfRange (a text that is too long), kUnsupported (a reranker), kResourceExhausted and kFailedPrecondition as
  /// AnyModel::Forward.
  Result<Embeddings> EmbedIds(std::span<const TextIds> texts, Workspace& workspace,
                              const EmbedOptions& options = {}) const;

  /// Returns embeddings of texts by every head that the model has (BGE-M3, arXiv:2402.03216): the pooled one, weights
  /// of tokens and a vector for each token but the first. Windows of long texts are refused. Errors: those of Tokenize
  /// and EmbedHybridIds.
  Result<HybridEmbeddings> EmbedHybrid(std::span<const std::string> texts, Workspace& workspace,
                                       const EmbedOptions& options = {}) const;

  /// The same of token ids. Errors: as EmbedIds; kUnsupported for a model without such heads, and for windows.
  Result<HybridEmbeddings> EmbedHybridIds(std::span<const TextIds> texts, Workspace& workspace,
                                          const EmbedOptions& options = {}) const;

  /// Returns a score for each document, the higher the better it fits the query: by the head of a reranker, by a
  /// decoder's yes or no, or as the cosine of embeddings, with the prompts named "query" and "document", or the tasks
  /// "retrieval.query" and "retrieval.passage", where the model has them. Errors: as Embed and RankIds.
  Result<std::vector<float>> Rank(std::string_view query, std::span<const std::string> documents, Workspace& workspace,
                                  const RankOptions& options = {}) const;

  /// Returns the scores of a reranker, for token ids of pairs: EncoderFacts::dimension for each, one after the other.
  /// Errors: as EmbedIds; kUnsupported for models that embed.
  Result<std::vector<float>> RankIds(std::span<const TextIds> pairs, Workspace& workspace,
                                     const RankOptions& options = {}) const;

 private:
  friend Result<Encoder> OpenEncoder(const ModelInfo& info, const EncoderOptions& options);
  struct Parts;  // open/encoders/detail
  explicit Encoder(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

/// Returns what the files of `info` say. Errors, which name the file and the field: kUnsupported for a module, pooling
/// or activation that Skald does not have, kDataLoss for files that cannot be read.
Result<EncoderFacts> ReadEncoderFacts(const ModelInfo& info);

/// Opens the encoder, decoder that embeds, or reranker at `path`: a folder of Hugging Face or a GGUF file. Errors,
/// which name the path: those of IdentifyModel, ReadEncoderFacts, Tokenizer::Load and LoadWeights.
Result<Encoder> OpenEncoder(const std::filesystem::path& path, const EncoderOptions& options = {});

/// The same of a model that IdentifyModel has opened.
Result<Encoder> OpenEncoder(const ModelInfo& info, const EncoderOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/open_encoder.h"
#endif

#endif  // SKALD_OPEN_OPEN_ENCODER_H_
