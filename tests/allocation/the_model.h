// SPDX-License-Identifier: Apache-2.0
//
// The models and caches of these tests' conversations: one model of each kind, and caches with everything that a cache
// can keep.

#ifndef SKALD_TESTS_ALLOCATION_THE_MODEL_H_
#define SKALD_TESTS_ALLOCATION_THE_MODEL_H_

#include <map>
#include <string>

#include "skald/cache/layout/runtime_config.h"
#include "tests/support/small_models.h"

namespace skald::testing {

inline constexpr RuntimeConfig kRuntime = {
    .max_tokens = 400, .block_tokens = 32, .resume_point_every = 20, .max_resume_points = 3, .rewind_tokens = 2};

inline const RandomModel& TheModel(const SmallModel& small) {
  static std::map<std::string, RandomModel> models;
  return models.try_emplace(small.name, small, 3).first->second;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_ALLOCATION_THE_MODEL_H_
