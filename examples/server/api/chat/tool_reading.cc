// SPDX-License-Identifier: Apache-2.0

#include "server/api/chat/tool_reading.h"

#include <algorithm>
#include <cctype>
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

// The tools of one request, as they are read.
class ToolReader {
 public:
  ToolReader(JsonReader& request, const ToolSpelling& spelling) : request_(request), spelling_(spelling) {}

  RequestTools Read() {
    if (const Json* const tools = request_.Array("tools")) ReadList(*tools, request_.PathOf("tools"), "");
    ReadChoice();
    return std::move(tools_);
  }

 private:
  void ReadList(const Json& tools, const std::string& path, const std::string& space) {
    for (size_t i = 0; i < tools.size(); ++i) ReadTool(tools[i], path + "[" + std::to_string(i) + "]", space);
  }

  void ReadTool(const Json& json, const std::string& path, const std::string& space) {
    JsonReader tool(json, path, spelling_.schemas, request_.notes());
    // Anthropic's own tools have types, those of clients need none.
    const auto type =
        spelling_.has_words ? tool.NeedString("type") : tool.String("type").value_or(std::string(spelling_.type));
    if (type == "namespace" && space.empty()) return ReadSpace(tool);
    if (type != spelling_.type) return LeaveOut(tool, type);
    WithFields(tool, spelling_, [&](JsonReader& fields) {
      const Json* const schema = fields.Any(spelling_.schema);
      std::string name = fields.NeedString("name");
      if (!space.empty()) name = Place({space, std::move(name)});
      AddTool(tools_.list, names_,
              {std::move(name), fields.String("description").value_or(""),
               schema == nullptr ? JsonValue() : JsonValueOf(*schema)},
              fields.PathOf("name"));
    });
    tool.Finish();
  }

  void ReadSpace(JsonReader& space) {
    const std::string name = space.NeedString("name");
    (void)space.String("description");  // each tool has its own
    ReadList(space.NeedArray("tools"), space.PathOf("tools"), name);
    space.Finish();
  }

  // The name in the list of a tool of a namespace: its own, if there is no other tool of that name.
  std::string Place(ToolPlace place) {
    std::string name = names_.contains(place.name) ? place.space + "." + place.name : place.name;
    tools_.names[place] = name;
    tools_.places[name] = std::move(place);
    return name;
  }

  void LeaveOut(const JsonReader& tool, const std::string& type) {
    if (request_.notes() == nullptr || request_.notes()->is_strict()) {
      tool.Fail("type", "'" + std::string(spelling_.type) + "': there are no other tools here");
    }
    request_.notes()->AddIgnored(tool.PathOf("type") + "=" + type);
  }

  void ReadChoice() {
    ToolList& list = tools_.list;
    if (spelling_.has_words) list.is_parallel = request_.Bool("parallel_tool_calls").value_or(true);
    const Json* const choice = request_.Any("tool_choice");
    if (choice == nullptr) return;
    std::string how;
    if (spelling_.has_words && choice->is_string()) {
      how = *request_.OneOf("tool_choice", {"auto", "none", spelling_.any});
    } else {
      JsonReader object = *request_.Object("tool_choice");
      how = spelling_.has_words
                ? object.OneOf("type", {spelling_.one, "allowed_tools"}).value_or(std::string(spelling_.one))
                : object.OneOf("type", {"auto", "none", spelling_.any, spelling_.one}).value_or("auto");
      if (how == spelling_.one) ReadOnly(object);
      if (how == "allowed_tools") how = ReadAllowed(object);
      if (!spelling_.has_words) list.is_parallel = !object.Bool("disable_parallel_tool_use").value_or(false);
      object.Finish();
    }
    list.choice = how == "auto" ? ToolChoice::kAuto : how == "none" ? ToolChoice::kNone : ToolChoice::kRequired;
    if (list.choice == ToolChoice::kRequired && list.tools.empty()) {
      request_.Fail("tools", "a tool, as tool_choice asks");
    }
  }

  std::string NeedTool(JsonReader& named) const {
    std::string name = tools_.NameOf({named.String("namespace").value_or(""), named.NeedString("name")});
    if (!names_.contains(name)) named.Fail("name", "the name of one of the tools");
    return name;
  }

  // Clients name the tool of a response as that of a chat completion too.
  void ReadOnly(JsonReader& choice) {
    auto nested = choice.Object(spelling_.type);
    if (!nested && spelling_.is_nested) choice.Fail(spelling_.type, "an object with the name of a tool");
    tools_.list.only = NeedTool(nested ? *nested : choice);
    if (nested) nested->Finish();
  }

  // The tools that may be called are all that the model is shown. Returns whether one must be.
  std::string ReadAllowed(JsonReader& choice) {
    auto nested = choice.Object("allowed_tools");  // in chat completions
    JsonReader& holder = nested ? *nested : choice;
    const std::string mode = holder.OneOf("mode", {"auto", spelling_.any}).value_or("auto");
    const Json& allowed = holder.NeedArray("tools");
    ToolNames names;
    for (size_t i = 0; i < allowed.size(); ++i) {
      JsonReader tool(allowed[i], holder.PathOf("tools") + "[" + std::to_string(i) + "]", spelling_.schemas,
                      request_.notes());
      const std::string type = tool.NeedString("type");
      if (type != spelling_.type) {
        LeaveOut(tool, type);
        continue;
      }
      WithFields(tool, spelling_, [&](JsonReader& fields) { names.insert(NeedTool(fields)); });
    }
    if (nested) nested->Finish();
    std::erase_if(tools_.list.tools, [&](const Tool& tool) { return !names.contains(tool.name); });
    return mode;
  }

  JsonReader& request_;
  const ToolSpelling& spelling_;
  RequestTools tools_;
  ToolNames names_;
};

}  // namespace

std::string RequestTools::NameOf(const ToolPlace& place) const {
  const auto found = names.find(place);
  return found == names.end() ? place.name : found->second;
}

RequestTools ReadTools(JsonReader& request, const ToolSpelling& spelling) {
  return ToolReader(request, spelling).Read();
}

}  // namespace skald::serve
