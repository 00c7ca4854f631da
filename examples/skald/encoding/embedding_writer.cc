// SPDX-License-Identifier: Apache-2.0

#include "encoding/embedding_writer.h"

#include <charconv>
#include <iostream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::program {
namespace {

// The shortest text that reads as the same number.
template <class Number>
void AppendNumber(Number value, std::string& text) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text.append(digits, end);
}

template <class Number>
void AppendNumbers(std::span<const Number> values, std::string& text) {
  text += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    if constexpr (sizeof(Number) == 1) {
      AppendNumber(static_cast<int>(values[i]), text);
    } else {
      AppendNumber(values[i], text);
    }
  }
  text += ']';
}

// Appends a row as one JSON value, and the scale of int8 after it.
void AppendRow(std::span<const float> row, EmbeddingForm form, std::string& text) {
  if (form == EmbeddingForm::kInt8) {
    const Int8Row codes = ToInt8(row);
    AppendNumbers(std::span<const int8_t>(codes.codes), text);
    text += ",\"scale\":";
    AppendNumber(codes.scale, text);
  } else if (form == EmbeddingForm::kBinary) {
    AppendNumbers(std::span<const uint8_t>(ToBinary(row)), text);
  } else {
    AppendNumbers(row, text);
  }
}

// The head of an array (numpy.lib.format, version 1.0), whose length is a multiple of 64.
std::string ArrayHead(std::string_view type, size_t rows, size_t columns) {
  std::string head = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  constexpr size_t kBefore = 10, kMultiple = 64;
  head.append(kMultiple - (kBefore + head.size() + 1) % kMultiple, ' ') += '\n';
  std::string whole("\x93NUMPY\x01\x00", 8);
  whole += static_cast<char>(head.size() & 0xFF);
  whole += static_cast<char>(head.size() >> 8);
  return whole + head;
}

}  // namespace

Result<EmbeddingWriter> EmbeddingWriter::Create(const EncodingOptions& encoding, size_t texts) {
  EmbeddingWriter writer(encoding, texts);
  if (writer.is_array_ && encoding.form == EmbeddingForm::kInt8) {
    return Fail(ErrorCode::kUnsupported, "--form int8 has a scale for each embedding, for which .npy has no place");
  }
  if (!encoding.output.empty()) {
    SKALD_ASSIGN(auto file, FileSink::Create(encoding.output));
    writer.file_.emplace(std::move(file));
  }
  return writer;
}

Result<void> EmbeddingWriter::Write(const Embeddings& embeddings) {
  for (size_t i = 0; i < embeddings.size(); ++i) {
    SKALD_TRY(is_array_ ? WriteRow(embeddings[i]) : WriteLine(embeddings, i));
    ++written_;
  }
  if (!file_) std::cout << std::flush;  // its reader may wait for what came
  return {};
}

Result<void> EmbeddingWriter::WriteLine(const Embeddings& embeddings, size_t i) {
  line_ = "{\"index\":";
  AppendNumber(written_, line_);
  line_ += ",\"tokens\":";
  AppendNumber(embeddings.num_tokens[i], line_);
  const std::span<const float> rows = embeddings[i];
  const size_t dimension = embeddings.dimension;
  if (rows.size() == dimension) {
    line_ += ",\"embedding\":";
    AppendRow(rows, form_, line_);
  } else {  // one for each token
    line_ += ",\"embeddings\":[";
    for (size_t at = 0; at < rows.size(); at += dimension) {
      if (at > 0) line_ += ',';
      if (form_ == EmbeddingForm::kInt8) line_ += "{\"embedding\":";
      AppendRow(rows.subspan(at, dimension), form_, line_);
      if (form_ == EmbeddingForm::kInt8) line_ += '}';
    }
    line_ += ']';
  }
  line_ += "}\n";
  return Put(line_);
}

Result<void> EmbeddingWriter::WriteRow(std::span<const float> row) {
  const bool is_binary = form_ == EmbeddingForm::kBinary;
  if (written_ == 0) {
    const size_t columns = is_binary ? (row.size() + 7) / 8 : row.size();
    SKALD_TRY(Put(ArrayHead(is_binary ? "|u1" : "<f4", texts_, columns)));
  }
  if (!is_binary) return Put({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  const std::vector<uint8_t> bits = ToBinary(row);
  return Put({reinterpret_cast<const char*>(bits.data()), bits.size()});
}

Result<void> EmbeddingWriter::Put(std::string_view bytes) {
  if (file_) return file_->Write(std::as_bytes(std::span(bytes)));
  std::cout << bytes;
  if (std::cout.good()) return {};
  return Fail(ErrorCode::kFailedPrecondition, "standard output cannot be written to");
}

Result<void> EmbeddingWriter::Finish() {
  if (!file_) return {};
  return file_->Commit();
}

}  // namespace skald::program
