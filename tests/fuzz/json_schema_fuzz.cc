// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of JSON Schemas, and filters of what it accepts.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "skald/constraints/json_schema.h"
#include "tests/fuzz/grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  skald::Walk(skald::ParseJsonSchema(text), text);
  return 0;
}
