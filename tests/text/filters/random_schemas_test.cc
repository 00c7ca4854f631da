// SPDX-License-Identifier: Apache-2.0
//
// Every text of a random model under a random schema is JSON; text/reference/validate_samples.py checks the texts
// against their schemas.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "doctest/doctest.h"
#include "skald/constraints/grammar_filter.h"
#include "tests/text/filters/random_schemas.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace random_schemas_test {

using namespace filter_tests;  // NOLINT: of this file only

// validate_samples.py runs this with more schemas, and asks another program about each text.
TEST_CASE("Random schemas: whatever a random model writes is JSON") {
  const char* const count = std::getenv("SKALD_SCHEMAS");
  const char* const path = std::getenv("SKALD_SAMPLES");
  const uint32_t schemas = count == nullptr ? 200 : static_cast<uint32_t>(std::atoi(count));
  std::ofstream samples;
  if (path != nullptr) samples.open(path);
  for (uint32_t seed = 0; seed < schemas; ++seed) {
    const std::string schema = RandomSchemas(seed).Make().dump();
    CAPTURE(seed);
    CAPTURE(schema);
    const GrammarFilter filter = OfSchema(schema);
    for (uint32_t i = 0; i < 3; ++i) {
      const std::string text = RandomModel(seed * 3 + i).Write(filter);
      CAPTURE(std::string(text));
      CHECK(nlohmann::json::accept(text));
      if (path != nullptr) samples << nlohmann::json{{"schema", schema}, {"text", text}}.dump() << '\n';
    }
  }
  if (path != nullptr) CHECK(samples.flush());
}

}  // namespace random_schemas_test
}  // namespace skald
