// SPDX-License-Identifier: Apache-2.0

#include "hub/transport/hub_client.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "hub/hub_name.h"
#include "hub/transport/patience.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/text/message.h"

namespace skald::program {
namespace {

constexpr size_t kMaxAnswer = size_t{32} << 20;
constexpr internal::JsonLimits kAnswerLimits = {.bytes = kMaxAnswer, .depth = 32, .values = 2'000'000, .names = 10'000};
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of(kHexDigits) == text.npos;
}

// A safe name of a file as a part of a URL.
std::string Escaped(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~' || c == '/';
    if (plain) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped.append({'%', "0123456789ABCDEF"[byte / 16], "0123456789ABCDEF"[byte % 16]});
    }
  }
  return escaped;
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                   : std::nullopt;
}

// The hub's words about an error, in brackets.
std::string OwnWords(const Reply& reply) {
  const std::string_view words = reply.Header("x-error-message");
  return words.empty() ? "" : Concat({" (", words.substr(0, 300), ")"});
}

// The error of a reply that is not good, to a request for `what`.
Failure ErrorOf(const std::string& what, const Reply& reply, const std::string& endpoint) {
  if (!reply.trouble.empty()) {
    return Fail(ErrorCode::kFailedPrecondition, Concat({what, ": the hub cannot be reached: ", reply.trouble}));
  }
  const std::string status = "HTTP " + std::to_string(reply.status);
  if (reply.status == 401 || reply.status == 403) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({what, ": the hub refuses access (", status, ")", OwnWords(reply),
                        ": it does not exist, or it needs a token (HF_TOKEN) of an account that has accepted its terms"
                        " at ",
                        endpoint}));
  }
  if (reply.status == 404) {
    return Fail(ErrorCode::kNotFound, Concat({what, ": the hub has no such thing", OwnWords(reply)}));
  }
  if (reply.status == 429 || reply.status >= 500) {
    const std::string wait = reply.retry_after == 0 ? "later" : "in " + std::to_string(reply.retry_after) + " s";
    return Fail(ErrorCode::kFailedPrecondition,
                Concat({what, ": the hub has no time (", status, ")", OwnWords(reply), "; try again ", wait}));
  }
  return Fail(ErrorCode::kDataLoss, Concat({what, ": the hub answers with ", status, OwnWords(reply)}));
}

Result<RepositoryFacts> ReadRepository(const std::string& repository, const std::string& text) {
  const auto odd = [&](std::string_view why) {
    return Fail(ErrorCode::kDataLoss, Concat({repository, ": the hub's answer ", why}));
  };
  nlohmann::json root;
  const internal::JsonGuard guard(root);
  if (const std::string complaint = internal::ParseJson(text, root, kAnswerLimits); !complaint.empty()) {
    return odd("is no JSON: it " + complaint);
  }
  const auto commit = root.is_object() ? root.find("sha") : root.end();
  const auto files = root.is_object() ? root.find("siblings") : root.end();
  if (commit == root.end() || !commit->is_string() || files == root.end() || !files->is_array()) {
    return odd("has no commit and list of files");
  }
  RepositoryFacts facts = {*commit->get_ptr<const std::string*>(), {}};
  if (!IsHex(facts.commit, 40)) return odd("has the commit " + QuotedName(facts.commit));
  for (const auto& file : *files) {
    const auto name = file.is_object() ? file.find("rfilename") : file.end();
    if (name == file.end() || !name->is_string()) return odd("has a file without a name");
    const auto& safe = *name->get_ptr<const std::string*>();
    if (!IsSafeFileName(safe)) return odd("has a file of the name " + QuotedName(safe) + ", which is not safe");
    facts.files.push_back(safe);
  }
  return facts;
}

// The facts that the headers of a file say, without the quotes and the W/ that some servers put around an ETag.
Result<FileFacts> ReadFileFacts(const std::string& file, const Reply& reply) {
  const bool linked = !reply.Header("x-linked-etag").empty();
  std::string_view etag = reply.Header(linked ? "x-linked-etag" : "etag");
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  if (!IsHex(etag, 64) && !IsHex(etag, 40)) {
    return Fail(ErrorCode::kDataLoss, Concat({file, ": the hub's ETag ", QuotedName(etag),
                                              " is neither a SHA-256 nor the id of a blob of git"}));
  }
  const std::string_view linked_size = reply.Header("x-linked-size");
  const auto size = ParseSize(linked_size.empty() && reply.good() ? reply.Header("content-length") : linked_size);
  if (!size) return Fail(ErrorCode::kDataLoss, file + ": the hub does not say its size");
  return FileFacts{std::string(etag), *size};
}

// Whether a partial reply begins at this byte: "bytes 100-199/200".
bool BeginsAt(const Reply& reply, uint64_t from) {
  std::string_view range = reply.Header("content-range");
  if (reply.status != 206 || !range.starts_with("bytes ")) return false;
  range.remove_prefix(6);
  return ParseSize(range.substr(0, range.find('-'))) == from;
}

}  // namespace

HubClient::HubClient(const HubSettings& settings, HubEvents events)
    : endpoint_(settings.endpoint), events_(std::move(events)), transfers_(settings) {}

std::string HubClient::UrlOf(const std::string& repository, const std::string& commit, const std::string& file) const {
  return Concat({endpoint_, "/", repository, "/resolve/", commit, "/", Escaped(file)});
}

Result<RepositoryFacts> HubClient::Describe(const std::string& repository) {
  const Request request = {.url = Concat({endpoint_, "/api/models/", repository, "/revision/main"})};
  for (Patience patience(events_);;) {
    std::string text;
    SKALD_ASSIGN(const auto reply,
                 transfers_.Perform(request, [&](const Reply&, std::span<const std::byte> bytes) -> Result<void> {
                   if (bytes.size() > kMaxAnswer - text.size()) {
                     return Fail(ErrorCode::kDataLoss, repository + ": the hub's answer is too long");
                   }
                   text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                   return {};
                 }));
    if (reply.good()) return ReadRepository(repository, text);
    if (!patience.TryAgain(reply)) return ErrorOf(repository, reply, endpoint_);
  }
}

Result<FileFacts> HubClient::DescribeFile(const std::string& repository, const std::string& commit,
                                          const std::string& file) {
  const Request request = {.url = UrlOf(repository, commit, file), .head = true};
  for (Patience patience(events_);;) {
    SKALD_ASSIGN(const auto reply, transfers_.Perform(request, nullptr));
    const bool is_redirect = reply.status >= 300 && reply.status < 400 && reply.trouble.empty();
    if (reply.good() || is_redirect) return ReadFileFacts(file, reply);
    if (!patience.TryAgain(reply)) return ErrorOf(repository + "/" + file, reply, endpoint_);
  }
}

Result<void> HubClient::Read(const std::string& repository, const std::string& commit, const std::string& file,
                             const FileFacts& facts, uint64_t& from, const Receive& receive) {
  uint64_t most = from;
  for (Patience patience(events_);;) {
    const uint64_t asked = from;
    bool first = true;
    const auto checked = [&](const Reply& reply, std::span<const std::byte> bytes) -> Result<void> {
      if (first && asked > 0 && !BeginsAt(reply, asked)) from = 0;
      first = false;
      SKALD_TRY(receive(reply, bytes));
      if (from > most) patience.Renew();
      most = std::max(most, from);
      return {};
    };
    const Request request = {.url = UrlOf(repository, commit, file), .from = asked, .etag = facts.etag};
    SKALD_ASSIGN(auto reply, transfers_.Perform(request, checked));
    if (reply.good() && from >= facts.size) return {};
    if (reply.status == 416 && from > 0) {
      from = 0;  // the hub's file is shorter than what is here
      continue;
    }
    if (reply.good()) reply.trouble = "the file ended early";
    if (!patience.TryAgain(reply)) return ErrorOf(repository + "/" + file, reply, endpoint_);
  }
}

}  // namespace skald::program
