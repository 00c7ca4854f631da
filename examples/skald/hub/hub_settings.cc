// SPDX-License-Identifier: Apache-2.0

#include "hub/hub_settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/files/small_file.h"
#include "skald/base/text/message.h"
#include "user_folders.h"

namespace skald::program {
namespace {

// The first of these variables that has a value, or "".
std::string Variable(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return "";
}

bool IsTrue(std::string value) {
  for (char& c : value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

Result<std::string> ReadEndpoint() {
  std::string endpoint = Variable({"HF_ENDPOINT"});
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.starts_with("https://") || endpoint.starts_with("http://")) return endpoint;
  return Fail(ErrorCode::kInvalidArgument,
              Concat({"HF_ENDPOINT is ", QuotedName(endpoint), ", expected a URL with http:// or https://"}));
}

// `home` is the folder that has the file if nothing else is said.
Result<std::string> ReadToken(const std::filesystem::path& home) {
  std::string token = Variable({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (token.empty()) {
    const std::string chosen = Variable({"HF_TOKEN_PATH"});
    if (chosen.empty() && home.empty()) return "";
    auto text = ReadSmallFile(chosen.empty() ? home / "token" : std::filesystem::path(chosen), 10'000);
    if (!text && text.error().code == ErrorCode::kNotFound) return "";
    if (!text) return Failure(text.error());
    token = *std::move(text);
  }
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  token.erase(std::find_if_not(token.rbegin(), token.rend(), is_space).base(), token.end());
  token.erase(token.begin(), std::ranges::find_if_not(token, is_space));
  if (std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; })) return token;
  return Fail(ErrorCode::kInvalidArgument, "the token for the hub has characters that a token cannot have");
}

}  // namespace

Result<HubSettings> ReadHubSettings() {
  HubSettings settings;
  SKALD_ASSIGN(settings.endpoint, ReadEndpoint());
  std::filesystem::path home = Variable({"HF_HOME"});
  if (const auto folder = UserCacheFolder(); home.empty() && !folder.empty()) home = folder / "huggingface";
  SKALD_ASSIGN(settings.token, ReadToken(home));
  settings.offline = IsTrue(Variable({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  std::filesystem::path cache = Variable({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  if (cache.empty() && !home.empty()) cache = home / "hub";
  if (cache.empty()) {
    return Fail(ErrorCode::kNotFound, "there is no folder for models of the hub: set HF_HUB_CACHE or HOME");
  }
  std::error_code failed;
  settings.cache = std::filesystem::absolute(cache, failed);
  if (failed) return Fail(ErrorCode::kFailedPrecondition, Concat({cache.native(), ": ", failed.message()}));
  settings.certificate_file = Variable({"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  return settings;
}

}  // namespace skald::program
