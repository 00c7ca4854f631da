// SPDX-License-Identifier: Apache-2.0

#include "hub/hub_name.h"

#include <algorithm>

#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"

namespace skald::program {
namespace {

constexpr size_t kMaxPart = 96;  // characters, as the hub has it

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// The owner, or the name of a repository. "--" separates the two in the names of the cache's folders.
bool IsHubPart(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPart && std::ranges::all_of(part, IsNameCharacter) &&
         part.find("--") == part.npos && part.find("..") == part.npos && part.front() != '.' && part.front() != '-' &&
         part.back() != '.' && part.back() != '-';
}

}  // namespace

Result<HubName> ParseHubName(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view repository = text.substr(0, colon);
  const std::string_view quantisation = text.substr(std::min(colon + 1, text.size()));
  const size_t slash = repository.find('/');
  const bool is_name = slash == repository.npos
                           ? IsHubPart(repository)
                           : IsHubPart(repository.substr(0, slash)) && IsHubPart(repository.substr(slash + 1));
  const bool is_tagged = colon == text.size() || IsSafeFileName(quantisation);
  if (is_name && is_tagged) return HubName{std::string(repository), std::string(quantisation)};
  return Fail(
      ErrorCode::kInvalidArgument,
      Concat({QuotedName(text), ": expected the name of a model on the hub, ORG/REPO or ORG/REPO:QUANTISATION"}));
}

bool IsSafeFileName(std::string_view name) {
  if (name.empty() || name.size() > 1000 || name.find('\\') != name.npos || Printable(name) != name) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part.size() > 250 || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace skald::program
