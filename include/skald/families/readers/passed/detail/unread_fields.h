// SPDX-License-Identifier: Apache-2.0
//
// Handles the fields of a file that its family's reader did not request. Fields that cannot change a number are in a
// list with the reason; any other is refused by its name. So no reader can forget a field.

#ifndef SKALD_FAMILIES_READERS_PASSED_DETAIL_UNREAD_FIELDS_H_
#define SKALD_FAMILIES_READERS_PASSED_DETAIL_UNREAD_FIELDS_H_

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"

namespace skald::internal {

using FieldValue = std::variant<bool, double, std::string_view>;

/// Fields that are passed over where no reader asks for them.
struct PassedFields {
  std::string_view why;    ///< for those who read the list
  std::string_view of;     ///< the models, between spaces; empty: all
  std::string_view names;  ///< between spaces, with a dot after that of an object; "name*": all that begin so
  std::optional<FieldValue> only = {};  ///< the one value that means as much as no field; none: whatever it is
};

/// Returns whether `test` holds for one of the words of a text.
template <class Test>
bool AnyWord(std::string_view text, Test test) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0 && test(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

inline bool ListsWord(std::string_view words, std::string_view word) {
  return AnyWord(words, [&](std::string_view one) {
    return one.ends_with('*') ? word.starts_with(one.substr(0, one.size() - 1)) : one == word;
  });
}

inline bool IsValue(const nlohmann::json& found, const FieldValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return found.is_boolean() && found.get<bool>() == *flag;
  if (const auto* number = std::get_if<double>(&value)) return found.is_number() && found.get<double>() == *number;
  const auto* const text = found.get_ptr<const std::string*>();
  return text != nullptr && *text == std::get<std::string_view>(value);
}

inline std::string TextOf(const FieldValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return nlohmann::json(*number).dump();
  return '"' + std::string(std::get<std::string_view>(value)) + '"';
}

/// A name from a file as an error may show it: as it is where it is one of a field, else in quotes and printable.
inline std::string ShownField(std::string_view name) {
  constexpr std::string_view kUsual = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr size_t kMaxShown = 100;
  const bool is_usual = name.size() <= kMaxShown && name.find_first_not_of(kUsual) == name.npos;
  return is_usual ? std::string(name) : QuotedName(name);
}

/// Of one file. Everything that it refers to must outlive it.
class UnreadFields {
 public:
  // `passed` is for all models, `of_family` for those of the model's family; `model` is what lists call the model; in
  // front of the names in `read` stands `prefix`.
  UnreadFields(std::span<const PassedFields> passed, std::span<const PassedFields> of_family, std::string_view model,
               const FieldsRead& read, std::string_view prefix)
      : lists_{passed, of_family}, model_(model), read_(read), prefix_(prefix) {}

  /// Reports the first field of `object`, which is in the file after `path`, that was not read and may not be ignored.
  /// Null is no value: files use it for absent fields.
  void Refuse(const nlohmann::json& object, const std::string& path, std::optional<Error>* error) const {
    const JsonFields fields(&object, nullptr, path, error);
    for (const auto& [name, value] : object.items()) {
      const std::string whole = path + name;
      if (value.is_null() || *error) continue;
      if (read_.objects.contains(whole)) {
        Refuse(value, whole + ".", error);
      } else if (!read_.names.contains(whole)) {
        RefuseUnlessPassed(fields, name, value, whole);
      }
    }
  }

 private:
  void RefuseUnlessPassed(const JsonFields& fields, const std::string& name, const nlohmann::json& value,
                          std::string_view whole) const {
    if (whole.starts_with(prefix_)) whole.remove_prefix(prefix_.size());
    const PassedFields* other = nullptr;
    for (const std::span<const PassedFields> list : lists_) {
      for (const PassedFields& row : list) {
        if (!ListsWord(row.names, whole) || (!row.of.empty() && !ListsWord(row.of, model_))) continue;
        if (!row.only || IsValue(value, *row.only)) return;
        other = &row;
      }
    }
    const std::string shown = ShownField(name);
    if (other != nullptr) return fields.Unsupported(shown.c_str(), value, TextOf(*other->only));
    fields.Unknown(shown.c_str(), value, model_);
  }

  std::array<std::span<const PassedFields>, 2> lists_;
  std::string_view model_;
  const FieldsRead& read_;
  std::string_view prefix_;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_PASSED_DETAIL_UNREAD_FIELDS_H_
