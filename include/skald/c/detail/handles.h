// SPDX-License-Identifier: Apache-2.0
//
// The handles of the C interface, and the way that failures leave it.

#ifndef SKALD_C_DETAIL_HANDLES_H_
#define SKALD_C_DETAIL_HANDLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/c/skald.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/model/workspace.h"
#include "skald/open/conversation.h"
#include "skald/open/open_model.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "skald/store/snapshots/identity.h"

namespace skald::internal {

// A model, and the identity of its files once it was asked for.
struct SharedModel {
  explicit SharedModel(LanguageModel opened) : model(std::move(opened)) {}

  LanguageModel model;
  std::mutex mutex;
  std::optional<Identity> identity;  // guarded by mutex
};

}  // namespace skald::internal

struct skald_model {
  std::shared_ptr<skald::internal::SharedModel> shared;
  const skald::LanguageModel& model() const { return shared->model; }
};

struct skald_pool {
  std::shared_ptr<skald::BlockPool> pool;
};

struct skald_cache {
  skald::KVCache cache;
};

struct skald_workspace {
  skald::Workspace workspace;
  std::vector<const float*> rows = {};  // of the last step
  std::vector<size_t> floats = {};
};

struct skald_sampler {
  skald::SamplerSettings settings;
  skald::SamplerState state = {};
  skald::SamplerScratch scratch = {};
};

struct skald_conversation {
  std::shared_ptr<skald::internal::SharedModel> model;  // which the conversation refers to
  skald::Conversation conversation;
  std::string answer = {};
};

namespace skald::internal {

inline skald_code CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return SKALD_INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return SKALD_NOT_FOUND;
    case ErrorCode::kDataLoss:
      return SKALD_DATA_LOSS;
    case ErrorCode::kOutOfRange:
      return SKALD_OUT_OF_RANGE;
    case ErrorCode::kResourceExhausted:
      return SKALD_RESOURCE_EXHAUSTED;
    case ErrorCode::kUnsupported:
      return SKALD_UNSUPPORTED;
    case ErrorCode::kFailedPrecondition:
      break;
  }
  return SKALD_FAILED_PRECONDITION;
}

inline skald_code Tell(const Error& failure, skald_error* error) noexcept {
  const skald_code code = CodeOf(failure.code);
  if (error == nullptr) return code;
  *error = {};
  error->code = code;
  size_t bytes = std::min(failure.message.size(), sizeof(error->message) - 1);
  // Not within a character.
  const auto continues = [&] { return (static_cast<unsigned char>(failure.message[bytes]) & 0xC0) == 0x80; };
  while (bytes > 0 && bytes < failure.message.size() && continues()) --bytes;
  std::memcpy(error->message, failure.message.data(), bytes);
  const ErrorFacts& facts = failure.facts;
  error->sequence = facts.sequence.value_or(SKALD_UNKNOWN);
  error->needed_tokens = facts.needed_tokens.value_or(SKALD_UNKNOWN);
  error->available_tokens = facts.available_tokens.value_or(SKALD_UNKNOWN);
  error->needed_bytes = facts.needed_bytes.value_or(SKALD_UNKNOWN);
  error->available_bytes = facts.available_bytes.value_or(SKALD_UNKNOWN);
  error->resume_point = facts.resume_point.value_or(SKALD_UNKNOWN);
  return code;
}

// Runs a function of the interface, `call` by name.
template <class Function>
skald_code Call(const char* call, skald_error* error, Function function) noexcept {
  const Result<void> done = NoThrow(call, function);
  return done ? SKALD_OK : Tell(done.error(), error);
}

// Refuses null pointers that a call needs.
template <class... Pointers>
Result<void> Need(const char* call, Pointers... pointers) {
  if (((pointers != nullptr) && ...)) return {};
  return Fail(ErrorCode::kInvalidArgument, Concat({call, ": a handle, an input or a result is NULL"}));
}

// Options whose size an init function of some version set: those that this library knows, with the others' defaults.
template <class Options>
Result<Options> Known(const char* what, const Options& defaults, const Options* given) {
  Options options = defaults;
  if (given == nullptr) return options;
  if (given->size < sizeof(given->size) || given->size > sizeof(Options)) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({what, "::size is ", std::to_string(given->size), ", expected what ", what, "_init sets"}));
  }
  std::memcpy(&options, given, given->size);
  options.size = sizeof(Options);
  return options;
}

inline std::string_view TextOf(const char* text, size_t bytes) {
  return text == nullptr ? std::string_view() : std::string_view(text, bytes);
}

}  // namespace skald::internal

#endif  // SKALD_C_DETAIL_HANDLES_H_
