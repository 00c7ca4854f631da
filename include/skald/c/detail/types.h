// SPDX-License-Identifier: Apache-2.0
//
// The names that the C interface has for types, and its options as those of C++.

#ifndef SKALD_C_DETAIL_TYPES_H_
#define SKALD_C_DETAIL_TYPES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/c/detail/handles.h"
#include "skald/c/skald.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/sampling/settings.h"

namespace skald::internal {

inline constexpr std::pair<std::string_view, DType> kWeightTypes[] = {
    {"bf16", DType::kBF16}, {"f32", DType::kF32}, {"q8_0", DType::kQ8_0}, {"q4_0", DType::kQ4_0}};
inline constexpr std::pair<std::string_view, DType> kCacheTypes[] = {
    {"bf16", DType::kBF16}, {"f32", DType::kF32}, {"i8", DType::kI8}};

template <class Types>
Result<DType> TypeNamed(const char* what, std::string_view name, const Types& types) {
  std::string known;
  for (const auto& [one, type] : types) {
    if (one == name) return type;
    known += Concat({known.empty() ? "" : ", ", one});
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({what, " is \"", name, "\", expected one of ", known}));
}

inline uint32_t ThreadsOf(uint32_t wanted) {
  return wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

inline skald_runtime RuntimeDefaults() {
  const RuntimeConfig runtime;
  return {.size = sizeof(skald_runtime),
          .max_tokens = runtime.max_tokens,
          .cache_bytes = runtime.cache_bytes,
          .kv_type = "bf16",
          .block_tokens = runtime.block_tokens,
          .resume_point_every = runtime.resume_point_every,
          .max_resume_points = runtime.max_resume_points,
          .rewind_tokens = runtime.rewind_tokens};
}

inline Result<RuntimeConfig> RuntimeOf(const skald_runtime* given) {
  SKALD_ASSIGN(const skald_runtime known, Known("skald_runtime", RuntimeDefaults(), given));
  SKALD_TRY(Need("skald_runtime::kv_type", known.kv_type));
  SKALD_ASSIGN(const DType type, TypeNamed("skald_runtime::kv_type", known.kv_type, kCacheTypes));
  return RuntimeConfig{.max_tokens = known.max_tokens,
                       .cache_bytes = known.cache_bytes,
                       .kv_type = type,
                       .block_tokens = known.block_tokens,
                       .resume_point_every = known.resume_point_every,
                       .max_resume_points = known.max_resume_points,
                       .rewind_tokens = known.rewind_tokens};
}

inline skald_sampling SamplingOf(const SamplerSettings& settings) {
  return {.size = sizeof(skald_sampling),
          .temperature = settings.temperature,
          .top_k = settings.top_k,
          .top_p = settings.top_p,
          .min_p = settings.min_p,
          .penalty_window = settings.penalty_window,
          .repetition_penalty = settings.repetition_penalty,
          .presence_penalty = settings.presence_penalty,
          .frequency_penalty = settings.frequency_penalty,
          .seed = settings.random.seed,
          .stream = settings.random.stream};
}

inline Result<SamplerSettings> SettingsOf(const skald_sampling* given) {
  SKALD_ASSIGN(const skald_sampling known, Known("skald_sampling", SamplingOf({}), given));
  return SamplerSettings{.temperature = known.temperature,
                         .top_k = known.top_k,
                         .top_p = known.top_p,
                         .min_p = known.min_p,
                         .penalty_window = known.penalty_window,
                         .repetition_penalty = known.repetition_penalty,
                         .presence_penalty = known.presence_penalty,
                         .frequency_penalty = known.frequency_penalty,
                         .random = {known.seed, known.stream}};
}

}  // namespace skald::internal

#endif  // SKALD_C_DETAIL_TYPES_H_
