// SPDX-License-Identifier: Apache-2.0
//
// The handles of the C interface, and how results become what its functions return.

#ifndef SKALD_C_DETAIL_HANDLES_H_
#define SKALD_C_DETAIL_HANDLES_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/c/skald.h"
#include "skald/cache/kv_cache.h"
#include "skald/model/workspace.h"
#include "skald/open/conversation.h"
#include "skald/open/open_model.h"

struct skald_model {
  skald::LanguageModel value;
};
struct skald_workspace {
  skald::Workspace value;
};
struct skald_cache {
  skald::KVCache value;
};
struct skald_conversation {
  skald::Conversation value;
};

namespace skald::internal {

// Describes a failure, as far as the caller's struct has room for it.
inline void Describe(const Error& failure, skald_error* error) {
  if (error == nullptr) return;
  skald_error full = {};
  full.size = error->size;
  full.code = static_cast<int32_t>(failure.code) + 1;
  const ErrorFacts& facts = failure.facts;
  const auto needed = facts.needed_tokens ? facts.needed_tokens : facts.needed_bytes;
  const auto available = facts.needed_tokens ? facts.available_tokens : facts.available_bytes;
  full.has_facts = needed && available ? 1 : 0;
  full.needed = needed.value_or(0);
  full.available = available.value_or(0);
  failure.message.copy(full.message, sizeof(full.message) - 1);
  std::memcpy(error, &full, std::min(error->size, sizeof(full)));
  if (error->size < sizeof(full) && error->size > offsetof(skald_error, message)) {
    reinterpret_cast<char*>(error)[error->size - 1] = 0;
  }
}

// Returns function(), a Result<T>; `failed` after a failure, which it describes.
template <class T, class Function>
T OrFailed(const char* call, T failed, skald_error* error, Function function) {
  const auto result = NoThrow(call, [&]() -> Result<T> { return function(); });
  if (result) return *result;
  Describe(result.error(), error);
  return failed;
}

// A copy of a struct that the caller may know an earlier or a later form of.
template <class T>
T Known(const T* given) {
  T known = {};
  if (given != nullptr) std::memcpy(&known, given, std::min(given->size, sizeof(known)));
  return known;
}

inline Failure IsNull(const char* what) { return Fail(ErrorCode::kInvalidArgument, std::string(what) + " is null"); }

inline SamplerSettings SettingsOf(const skald_sampler& given) {
  return {.temperature = given.temperature,
          .top_k = given.top_k,
          .top_p = given.top_p == 0.0f ? 1.0f : given.top_p,
          .min_p = given.min_p,
          .random = {.seed = given.seed, .stream = given.stream}};
}

}  // namespace skald::internal

#endif  // SKALD_C_DETAIL_HANDLES_H_
