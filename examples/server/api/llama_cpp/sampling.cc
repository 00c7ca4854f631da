// SPDX-License-Identifier: Apache-2.0

#include "server/api/llama_cpp/sampling.h"

#include <limits>
#include <optional>
#include <random>

#include "server/api/request/sampling.h"

namespace skald::serve {

uint32_t ReadLlamaSampling(JsonReader& reader, const Call& call, Request& request, std::string_view most) {
  const uint32_t least_tokens = ReadSampling(reader, call, request);
  if (request.samples != 1) reader.Fail("n", "1: each prompt has one answer");
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  if (const auto seed = reader.Integer("seed", kLeast, kMost); seed && *seed < 0) {
    request.sampler.random.seed = std::random_device{}();
  }
  request.penalize_prompt = true;
  MostTokens tokens;
  if (const auto wanted = reader.Integer(most, -2, kMostRequestTokens); wanted && *wanted >= 0) {
    tokens.tokens = static_cast<uint32_t>(*wanted);
  }
  SetMostTokens(tokens, call, request);
  return least_tokens;
}

}  // namespace skald::serve
