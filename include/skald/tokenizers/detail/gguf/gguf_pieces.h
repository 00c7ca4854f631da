// SPDX-License-Identifier: Apache-2.0
//
// Reads what the metadata of a GGUF file say of its tokenizer: all names that begin with "tokenizer.ggml.". The names
// are those of llama.cpp (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp and convert_hf_to_gguf.py). Like
// JsonFields, a reader notes the first thing that is wrong, and is asked for it at the end.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PIECES_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PIECES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/weights/files/gguf_json.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

// How all those names begin.
inline constexpr std::string_view kGgufTokenizer = "tokenizer.ggml.";

// The kinds of pieces in token_type.
enum class GgufTokenType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

class GgufTokenizerReader {
 public:
  // `metadata` must outlive the reader.
  explicit GgufTokenizerReader(const GgufMetadata& metadata)
      : metadata_(metadata), fields_(&values_, nullptr, std::string(kGgufTokenizer), &error_) {
    for (const auto& [name, value] : metadata.values) {
      if (name.starts_with(kGgufTokenizer)) values_[name.substr(kGgufTokenizer.size())] = JsonOf(value);
    }
    for (const auto& [name, array] : metadata.arrays) {
      if (name.starts_with(kGgufTokenizer)) values_[name.substr(kGgufTokenizer.size())] = nlohmann::json::array();
    }
  }
  GgufTokenizerReader(const GgufTokenizerReader&) = delete;
  GgufTokenizerReader& operator=(const GgufTokenizerReader&) = delete;

  const JsonFields& fields() const { return fields_; }

  // Whether nothing was wrong so far.
  bool ok() const { return !error_; }
  Failure failure() const { return Fail(error_->code, "metadata: " + error_->message); }

  // The number of elements of an array; 0 for none.
  size_t SizeOf(const char* name) const {
    const GgufArray* const array = Find(name);
    return array == nullptr ? 0 : static_cast<size_t>(array->size());
  }

  // Calls take(i, value) with each of `count` elements, as JSON. Notes an error for any other number of them, and where
  // `take` returns false.
  template <class Take>
  void Read(const char* name, size_t count, const char* expected, Take take) const {
    const std::string all = "an array of " + std::to_string(count) + " " + expected;
    const GgufArray* const array = Find(name);
    if (array == nullptr) {
      const nlohmann::json* const value = fields_.Find(name);
      return value == nullptr ? fields_.Missing(name) : fields_.WrongValue(name, *value, all);
    }
    size_t taken = 0;
    if (array->size() == count) {
      array->ForEach([&](const GgufValue& element) {
        const auto* const value = std::get_if<GgufScalar>(&element);
        const bool is_right = value != nullptr && take(taken, JsonOf(*value));
        taken += is_right;
        return is_right;
      });
    }
    if (taken != count || array->size() != count) {
      fields_.WrongValue(name, "an array of " + std::to_string(array->size()), all);
    }
  }

  // All elements of an array of strings, of which there must be `count`: take(i, text).
  template <class Take>
  void ReadStrings(const char* name, size_t count, Take take) const {
    Read(name, count, "strings", [&](size_t i, const nlohmann::json& text) {
      if (text.is_string()) take(i, text.get_ref<const std::string&>());
      return text.is_string();
    });
  }

  // The type of each of `count` pieces.
  std::vector<GgufTokenType> ReadTypes(size_t count) const {
    std::vector<GgufTokenType> types(count, GgufTokenType::kNormal);
    Read("token_type", count, "numbers from 1 to 6, one for each token", [&](size_t i, const nlohmann::json& type) {
      const bool is_type = type.is_number_integer() && type >= static_cast<int>(GgufTokenType::kNormal) &&
                           type <= static_cast<int>(GgufTokenType::kByte);
      if (is_type) types[i] = static_cast<GgufTokenType>(type.get<int>());
      return is_type;
    });
    return types;
  }

  // The id of one of `count` pieces, if the metadata name it.
  std::optional<int32_t> TokenId(const char* name, size_t count) const {
    if (fields_.Find(name) == nullptr || count == 0) return std::nullopt;
    return fields_.Integer(name, 0, static_cast<int>(count) - 1);
  }

 private:
  const GgufArray* Find(const char* name) const { return metadata_.Array(std::string(kGgufTokenizer) + name); }

  const GgufMetadata& metadata_;
  nlohmann::json values_ = nlohmann::json::object();
  JsonGuard guard_{values_};
  std::optional<Error> error_;
  JsonFields fields_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PIECES_H_
