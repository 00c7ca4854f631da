// SPDX-License-Identifier: Apache-2.0
//
// ServedModel: all that the server knows of a model. The functions that make a model and render chats are handed in, so
// that the server does not compile them.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_SERVED_MODEL_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_SERVED_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/open/chat.h"
#include "skald/sampling/settings.h"
#include "skald/store/snapshots/identity.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/adapters/adapter.h"

namespace skald::serve {

// A name for the model alone, whatever its own name is.
inline constexpr std::string_view kDefaultModel = "default";

// A model that a client may ask for by name: the model alone, or with an adapter.
struct NamedModel {
  std::string name;
  Sha256Digest adapter = {};  // zeros: the model alone
};

struct ServedModel {
  std::string name;             // by which clients call it
  int64_t created = 0;          // Unix seconds
  std::shared_ptr<void> owner;  // of what the rest refers to
  ModelRef model;
  std::shared_ptr<BlockPool> pool;
  Identity identity;

  Tokenizer tokenizer;
  std::string template_source;  // of the chat template
  // See EncodeChat and EncodeNextTurn. Safe for concurrent calls.
  std::function<Result<std::vector<int32_t>>(const Chat&)> encode_chat;
  std::function<Result<NextTurn>(const Chat&, std::span<const int32_t>)> encode_next_turn;
  std::vector<int32_t> end_ids;  // that end the model's turn
  SamplerSettings sampler;       // where a request says nothing
  int64_t embedding_size = 0;    // numbers of a hidden state

  struct NamedAdapter {
    std::string name;
    Adapter adapter;
  };
  std::vector<NamedAdapter> adapters = {};  // different ones, under different names
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_SERVED_MODEL_H_
