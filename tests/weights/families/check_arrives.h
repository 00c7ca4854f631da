// SPDX-License-Identifier: Apache-2.0
//
// Whether a model arrives from a GGUF file as from its folder.

#ifndef SKALD_TESTS_WEIGHTS_FAMILIES_CHECK_ARRIVES_H_
#define SKALD_TESTS_WEIGHTS_FAMILIES_CHECK_ARRIVES_H_

#include <string>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {

// Checks that a file with these bytes describes the model of a golden folder and has its weights.
inline void CheckArrives(const std::string& folder, const std::string& image) {
  CAPTURE(folder);
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, Kept(folder, image));
  const auto described = DescribeModel(path), expected = DescribeModel(GoldenPath(folder));
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  REQUIRE(expected);
  CHECK(described->model_type == expected->model_type);
  CHECK(described->spec == expected->spec);
  const auto weights = LoadWeights(path, described->spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadWeights(GoldenPath(folder), expected->spec, "", {.dtype = DType::kF32})));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_WEIGHTS_FAMILIES_CHECK_ARRIVES_H_
