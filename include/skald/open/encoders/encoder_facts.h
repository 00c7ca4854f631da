// SPDX-License-Identifier: Apache-2.0
//
// The facts of an encoder beside its model: how rows become one embedding, which layers follow the pooling, which
// prompts go before texts. Sources: modules.json and the files that it names, of sentence-transformers
// (https://github.com/UKPLab/sentence-transformers), and config.json of rerankers.

#ifndef SKALD_OPEN_ENCODERS_ENCODER_FACTS_H_
#define SKALD_OPEN_ENCODERS_ENCODER_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/open/encoders/pooling.h"

namespace skald {

/// The use of a model for texts.
enum class EncoderKind : uint8_t {
  kEncoder,          ///< embeds; its attention sees both ways
  kDecoder,          ///< embeds; a decoder, whose attention looks back
  kReranker,         ///< scores pairs of texts by a head after an encoder
  kDecoderReranker,  ///< scores pairs by the logits of "yes" and "no"
};

/// Returns "encoder", "decoder", "reranker" or "decoder reranker".
std::string_view NameOf(EncoderKind kind);

/// A layer after the pooling: output = activation(weight * input + bias).
struct DenseFacts {
  std::string folder;    ///< within the model's folder; of model.safetensors. In GGUF files the name of its tensors
  int inputs = 0;        ///< elements of a row before it
  int outputs = 0;       ///< elements of a row after it
  bool bias = true;      ///< whether it has one
  bool is_tanh = false;  ///< tanh, else nothing
};

struct EncoderFacts {
  EncoderKind kind = EncoderKind::kEncoder;  ///< its use
  Pooling pooling = Pooling::kMean;          ///< of embeddings
  std::vector<DenseFacts> dense = {};        ///< after the pooling, in order
  bool bounded_scores = true;                ///< a reranker's single score is put between 0 and 1 by a sigmoid
  int32_t yes_id = -1, no_id = -1;           ///< of decoders that rank: the tokens whose logits are compared
  bool normalises = false;                   ///< embeddings have the length 1 in the end
  bool leaves_out_prompt = false;            ///< tokens of the prompt are not pooled
  int dimension = 0;                         ///< of an embedding; of rerankers the number of scores of a pair
  uint32_t longest_text = 0;                 ///< tokens that it computes, special ones included
  std::vector<std::pair<std::string, std::string>> prompts = {};  ///< name and text
  std::string default_prompt = {};  ///< the name of the one for texts of which nothing is said; or empty
  /// Tasks for which the weights have an adapter each, in the checkpoint's order (JinaBERT v3). A prompt of a task's
  /// name goes before its texts.
  std::vector<std::string> tasks = {};
  double task_scale = 1.0;              ///< of what adapters of tasks add
  bool has_sparse = false;              ///< weights of tokens (BGE-M3): Encoder::EmbedHybrid
  int token_dimension = 0;              ///< of embeddings of tokens after a layer of their own; 0: there is none
  std::vector<int32_t> unweighed = {};  ///< tokens that have no weight of their own, such as special ones
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/encoders/detail/encoder_facts.h"
#endif

#endif  // SKALD_OPEN_ENCODERS_ENCODER_FACTS_H_
