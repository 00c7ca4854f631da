// SPDX-License-Identifier: Apache-2.0

#include "server/api/fields/api_description.h"

#include <algorithm>

#include "server/page/page_files.h"
#include "skald/base/json/json_tree.h"

namespace skald::serve {
namespace {

// The file is a part of the program.
const Json& Schemas() {
  static const Json document = [] {
    Json json;
    (void)internal::ParseJson(FindPageFile("/openapi.json")->bytes, json);
    return json;
  }();
  return document.at("components").at("schemas");
}

const Json* Member(const Json* object, std::string_view name) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &*found;
}

// The schema that a reference leads to.
const Json* Resolve(const Json* schema) {
  constexpr std::string_view kPrefix = "#/components/schemas/";
  while (const Json* const reference = Member(schema, "$ref")) {
    schema = FindSchema(std::string_view(reference->get_ref<const std::string&>()).substr(kPrefix.size()));
  }
  return schema;
}

const Json* Property(const Json* schema, std::string_view field) { return Member(Member(schema, "properties"), field); }

}  // namespace

bool FieldRule::Allows(const Json& value) const {
  const Json* const harmless = Member(property, "enum");
  return harmless != nullptr && std::ranges::find(*harmless, value) != harmless->end();
}

const Json* FindSchema(std::string_view name) { return Member(&Schemas(), name); }

const Json* FindObjectSchema(const Json* schema, std::string_view field) {
  const Json* const found = Resolve(Property(schema, field));
  const Json* const ways = Member(found, "anyOf");
  if (ways == nullptr) return found;
  for (const Json& way : *ways) {
    if (const Json* const one = Resolve(&way); Member(one, "properties") != nullptr) return one;
  }
  return nullptr;
}

FieldRule FindFieldRule(const Json* schema, std::string_view field) {
  const Json* const property = Property(schema, field);
  const Json* const mark = Member(property, "x-skald");
  if (mark == nullptr) return {};
  return {*mark == "ignored" ? FieldRule::Treatment::kIgnored : FieldRule::Treatment::kRefused, property};
}

}  // namespace skald::serve
