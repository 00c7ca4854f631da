// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "doctest/doctest.h"
#include "tests/sampling/reference_sampler.h"

namespace skald {
namespace logprobs_test {

TEST_CASE("the log-sum-exp of random logits agrees with a sum in long double") {
  for (const size_t size : {1, 2, 100, 10000}) {
    const std::vector<float> logits = RandomLogits(size, size, 10.0);
    long double sum = 0.0L;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    const double expected = static_cast<double>(std::log(sum));
    // n - 1 additions of n terms in double, and the error of the exponential; the logarithm turns
    // the relative error of the sum into an absolute one. Then the rounding of the result.
    const double error = (static_cast<double>(size) + 4) * 0x1.0p-53 + std::abs(expected) * 0x1.0p-52;
    CHECK(std::abs(LogSumExp(logits) - expected) <= error);
  }
}

TEST_CASE("the log-sum-exp does not overflow and takes impossible tokens") {
  CHECK(LogSumExp(std::vector<float>{1e38f, -1e38f}) == doctest::Approx(1e38));
  CHECK(LogSumExp(std::vector<float>{-1e38f, -INFINITY}) == doctest::Approx(-1e38));
  CHECK(LogSumExp(std::vector<float>{-INFINITY, 0.0f, 0.0f}) == std::log(2.0));
}

TEST_CASE("the probabilities of all tokens sum to one") {
  const std::vector<float> logits = RandomLogits(1000, 1);
  std::vector<Candidate> candidates;
  double sum = 0.0;
  for (const TokenLogprob& token : TopLogprobs(logits, LogSumExp(logits), logits.size(), candidates)) {
    sum += std::exp(token.logprob);
  }
  // Each logprob, at most 16 in size here, is rounded to float: a relative error of 16 * 2^-24 in
  // its share.
  CHECK(std::abs(sum - 1.0) <= 16 * 0x1.0p-24);
}

TEST_CASE("the top logprobs are those of the most likely tokens in order, ties by id") {
  const std::vector<float> logits = {1.0f, 3.0f, -INFINITY, 3.0f, 2.0f};
  std::vector<Candidate> candidates;
  const double log_sum_exp = LogSumExp(logits);
  const std::vector<TokenLogprob> top = TopLogprobs(logits, log_sum_exp, 3, candidates);
  REQUIRE(top.size() == 3);
  CHECK(top[0].id == 1);
  CHECK(top[1].id == 3);
  CHECK(top[2].id == 4);
  CHECK(top[0].logprob == static_cast<float>(3.0 - log_sum_exp));
  CHECK(top[1].logprob == top[0].logprob);
  CHECK(TopLogprobs(logits, log_sum_exp, 100, candidates).size() == 4);
  CHECK(TopLogprobs(logits, log_sum_exp, 0, candidates).empty());
}

}  // namespace logprobs_test
}  // namespace skald
