// SPDX-License-Identifier: Apache-2.0

#include "server/api/encoders/written_rows.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skald/open/encoders/embeddings.h"

namespace skald::serve {
namespace {

// Base64 (RFC 4648) of bytes, as OpenAI's clients ask for it.
std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::optional<RowForm> RowFormNamed(std::string_view name) {
  constexpr std::pair<std::string_view, RowForm> kForms[] = {{"float", RowForm::kFloat},
                                                             {"base64", RowForm::kBase64},
                                                             {"int8", RowForm::kInt8},
                                                             {"ubinary", RowForm::kUnsignedBinary},
                                                             {"binary", RowForm::kSignedBinary}};
  for (const auto& [one, form] : kForms) {
    if (one == name) return form;
  }
  return std::nullopt;
}

Json WrittenRow(std::span<const float> row, RowForm form) {
  if (form == RowForm::kBase64) return Base64({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  if (form == RowForm::kInt8) return ToInt8(row).codes;
  if (form == RowForm::kFloat) return std::vector<float>(row.begin(), row.end());
  Json numbers = Json::array();
  for (const uint8_t byte : ToBinary(row)) numbers.push_back(form == RowForm::kSignedBinary ? byte - 128 : int{byte});
  return numbers;
}

Json WrittenRows(std::span<const float> rows, size_t dimension, RowForm form) {
  Json list = Json::array();
  for (size_t at = 0; at < rows.size(); at += dimension) {
    list.push_back(WrittenRow(rows.subspan(at, dimension), form));
  }
  return list;
}

}  // namespace skald::serve
