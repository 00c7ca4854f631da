// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/tool_reading.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "skald/base/json/json_value_tree.h"

namespace skald::serve {
namespace {

// Names of tools so far: a search through the tools for each new one would grow with the square of their number.
using ToolNames = std::set<std::string>;

void AddTool(ToolList& list, ToolNames& names, Tool tool, const std::string& path) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (tool.name.empty() || tool.name.size() > 128 || !std::ranges::all_of(tool.name, is_letter)) {
    throw ApiError{400, "'" + path + "' is no name for a tool: expected up to 128 letters, digits, '_', '-' and '.'",
                   path};
  }
  if (!names.insert(tool.name).second) throw ApiError{400, "there are two tools named '" + tool.name + "'", path};
  if (tool.parameters.is_null()) tool.parameters = JsonValue::Object();
  if (!TreeOf(tool.parameters).is_object())
    throw ApiError{400, "the parameters of '" + tool.name + "' are no JSON Schema", path};
  list.tools.push_back(std::move(tool));
}

// Calls `read` with the object that has the fields of a tool or of a choice.
template <class Read>
void WithFields(JsonReader& outer, const ToolSpelling& spelling, const Read& read) {
  if (!spelling.is_nested) return read(outer);
  auto inner = outer.Object(spelling.type);
  if (!inner) outer.Fail(spelling.type, "an object with the name of a tool");
  read(*inner);
  inner->Finish();
}

void ReadTool(const Json& json, const std::string& path, const ToolSpelling& spelling, ToolList& list,
              ToolNames& names) {
  JsonReader tool(json, path);
  // Anthropic's own tools have types, those of clients need none.
  const auto type =
      spelling.has_words ? tool.NeedString("type") : tool.String("type").value_or(std::string(spelling.type));
  if (type != spelling.type) {
    tool.Fail("type", "'" + std::string(spelling.type) + "': there are no other tools here");
  }
  WithFields(tool, spelling, [&](JsonReader& fields) {
    fields.Ignore({"strict", "cache_control"});
    const Json* const schema = fields.Any(spelling.schema);
    AddTool(list, names,
            {fields.NeedString("name"), fields.String("description").value_or(""),
             schema == nullptr ? JsonValue() : JsonValueOf(*schema)},
            fields.PathOf("name"));
  });
  tool.Finish();
}

void ReadOnly(JsonReader& choice, const ToolSpelling& spelling, ToolList& list) {
  WithFields(choice, spelling, [&](JsonReader& fields) {
    list.only = fields.NeedString("name");
    if (list.Find(list.only) == nullptr) fields.Fail("name", "the name of one of the tools");
  });
}

void ReadChoice(JsonReader& request, const ToolSpelling& spelling, ToolList& list) {
  if (spelling.has_words) list.is_parallel = request.Bool("parallel_tool_calls").value_or(true);
  const Json* const choice = request.Any("tool_choice");
  if (choice == nullptr) return;
  std::string how;
  if (spelling.has_words && choice->is_string()) {
    how = *request.OneOf("tool_choice", {"auto", "none", spelling.any});
  } else {
    JsonReader object(*choice, request.PathOf("tool_choice"));
    how = spelling.has_words ? object.OneOf("type", {spelling.one}).value_or(std::string(spelling.one))
                             : object.OneOf("type", {"auto", "none", spelling.any, spelling.one}).value_or("auto");
    if (how == spelling.one) ReadOnly(object, spelling, list);
    if (!spelling.has_words) list.is_parallel = !object.Bool("disable_parallel_tool_use").value_or(false);
    object.Finish();
  }
  list.choice = how == "auto" ? ToolChoice::kAuto : how == "none" ? ToolChoice::kNone : ToolChoice::kRequired;
  if (list.choice == ToolChoice::kRequired && list.tools.empty()) request.Fail("tools", "a tool, as tool_choice asks");
}

}  // namespace

ToolList ReadTools(JsonReader& request, const ToolSpelling& spelling) {
  ToolList list;
  ToolNames names;
  if (const Json* const tools = request.Array("tools")) {
    for (size_t i = 0; i < tools->size(); ++i) {
      ReadTool((*tools)[i], request.PathOf("tools") + "[" + std::to_string(i) + "]", spelling, list, names);
    }
  }
  ReadChoice(request, spelling, list);
  return list;
}

}  // namespace skald::serve
