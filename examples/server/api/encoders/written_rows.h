// SPDX-License-Identifier: Apache-2.0
//
// Embeddings as answers write them: numbers, bytes in base64, or codes.

#ifndef SKALD_EXAMPLES_SERVER_API_ENCODERS_WRITTEN_ROWS_H_
#define SKALD_EXAMPLES_SERVER_API_ENCODERS_WRITTEN_ROWS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "server/api/request/json_reader.h"

namespace skald::serve {

enum class RowForm {
  kFloat,
  kBase64,          // the bytes of floats
  kInt8,            // codes with the largest magnitude at 127
  kUnsignedBinary,  // a bit for each element, eight in a number from 0 to 255
  kSignedBinary,    // the same minus 128
};

// The form of a name that Jina's and Cohere's APIs have: "float", "base64", "int8", "ubinary" or "binary".
std::optional<RowForm> RowFormNamed(std::string_view name);

Json WrittenRow(std::span<const float> row, RowForm form);

// A list of the rows of all tokens of a text, each of `dimension` floats.
Json WrittenRows(std::span<const float> rows, size_t dimension, RowForm form);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ENCODERS_WRITTEN_ROWS_H_
