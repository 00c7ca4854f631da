// SPDX-License-Identifier: Apache-2.0

#include "texts/perplexity.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skald::program {

Result<std::optional<Perplexity>> MeasurePerplexity(TextEngine& engine, std::span<const int32_t> tokens,
                                                    uint32_t window, const int32_t* bos) {
  if (tokens.size() < 2) return Fail(ErrorCode::kInvalidArgument, "the text has less than two tokens");
  const size_t size = std::min<size_t>(window, tokens.size());
  const size_t first = tokens.size() < window ? 0 : size / 2;
  std::vector<Request> requests;
  for (size_t begin = 0; begin + size <= tokens.size(); begin += size) {
    Request request;
    request.prompt.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                          tokens.begin() + static_cast<std::ptrdiff_t>(begin + size));
    if (bos != nullptr) request.prompt[0] = *bos;
    request.prompt_logprobs = 0;
    request.sampler.temperature = 0.0f;
    request.max_tokens = 1;
    requests.push_back(std::move(request));
  }
  double sum = 0.0, squares = 0.0;
  size_t count = 0;
  std::vector<size_t> seen(requests.size());  // of each window
  std::optional<Error> error;
  const auto take = [&](const Event& event) {
    if (event.error) error = event.error;
    for (const SampledToken& token : event.prompt_tokens) {
      if (seen[event.request]++ < first) continue;
      const double loss = -static_cast<double>(*token.logprob);
      sum += loss;
      squares += loss * loss;
      ++count;
    }
    return !error;
  };
  SKALD_ASSIGN(const bool is_whole, engine.Run(std::move(requests), take));
  if (error) return Failure(*error);
  if (!is_whole) return std::nullopt;
  const double mean = sum / static_cast<double>(count);
  const double variance = std::max(0.0, squares / static_cast<double>(count) - mean * mean);
  const double spread = count > 1 ? std::sqrt(variance / static_cast<double>(count - 1)) : 0.0;
  return Perplexity{std::exp(mean), spread * std::exp(mean), count};
}

}  // namespace skald::program
