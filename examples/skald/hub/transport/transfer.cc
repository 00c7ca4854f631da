// SPDX-License-Identifier: Apache-2.0

#include "hub/transport/transfer.h"

#include <utility>

#if defined(SKALD_HAS_CURL)
#include <curl/curl.h>

#include <algorithm>
#include <optional>

#include "hub/transport/lower_case.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#endif

namespace skald::program {

std::string_view Reply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

#if defined(SKALD_HAS_CURL)
namespace {

constexpr int kMaxRedirects = 8;
constexpr long kConnectSeconds = 30, kStallSeconds = 60;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// A URL taken apart.
class Url {
 public:
  // Nothing for a text that is no URL with http or https.
  static std::optional<Url> Parse(const std::string& text) {
    Url url;
    const bool good = url.Set(text);
    return good ? std::optional(std::move(url)) : std::nullopt;
  }
  // The URL that a redirect to `location` leads to.
  std::optional<Url> Redirected(const std::string& location) const {
    auto target = Parse(Text());
    const bool good = target && target->Set(location);
    return good ? std::move(target) : std::nullopt;
  }

  std::string Text() const { return Part(CURLUPART_URL, 0); }
  bool is_secure() const { return Part(CURLUPART_SCHEME, 0) == "https"; }
  // Scheme, host and port.
  std::string Origin() const {
    return LowerCase(Part(CURLUPART_SCHEME, 0) + "://" + Part(CURLUPART_HOST, 0) + ":" +
                     Part(CURLUPART_PORT, CURLU_DEFAULT_PORT));
  }

 private:
  struct Free {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
  };

  bool Set(const std::string& text) {
    if (parts_ == nullptr || curl_url_set(parts_.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return false;
    const std::string scheme = Part(CURLUPART_SCHEME, 0);
    return scheme == "http" || scheme == "https";
  }
  std::string Part(CURLUPart part, unsigned flags) const {
    char* text = nullptr;
    if (curl_url_get(parts_.get(), part, &text, flags) != CURLUE_OK) return "";
    std::string copy(text);
    curl_free(text);
    return copy;
  }

  std::unique_ptr<CURLU, Free> parts_{curl_url()};
};

// A list of headers to send.
class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_slist_free_all(list_); }

  void Add(const std::string& line) {
    if (curl_slist* const longer = curl_slist_append(list_, line.c_str()); longer != nullptr) list_ = longer;
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// One request at one address, while libcurl calls back. Exceptions must not pass through libcurl.
struct Exchange {
  Reply& reply;
  const Receive& receive;
  CURL* curl;
  Result<void> received = {};

  static size_t OnHeader(const char* text, size_t size, size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    const std::string_view line(text, size * count);
    const auto noted = NoThrow("a reply of the hub", [&]() -> Result<void> {
      const size_t colon = line.find(':');
      if (colon == line.npos) return {};
      exchange.reply.headers[LowerCase(line.substr(0, colon))] = std::string(Trimmed(line.substr(colon + 1)));
      return {};
    });
    if (!noted) exchange.received = noted;
    return noted ? size * count : 0;
  }

  static size_t OnBody(const char* bytes, size_t size, size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &exchange.reply.status);
    if (!exchange.reply.good()) return size * count;  // a page for people
    exchange.received = NoThrow("a reply of the hub", [&] {
      return exchange.receive(exchange.reply, std::as_bytes(std::span(bytes, size * count)));
    });
    return exchange.received ? size * count : 0;
  }
};

}  // namespace

// The connections that are kept.
struct Transfers::Connection {
  struct Free {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };

  // Asks one address, and follows nothing. Errors: those of the exchange's receiver.
  Result<void> Ask(const Url& url, const HeaderList& headers, const HubSettings& settings, bool head,
                   Exchange& exchange) const;

  std::unique_ptr<CURL, Free> curl;
};

Result<void> Transfers::Connection::Ask(const Url& url, const HeaderList& headers, const HubSettings& settings,
                                        bool head, Exchange& exchange) const {
  CURL* const easy = curl.get();
  const std::string address = url.Text();
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, address.c_str());
  curl_easy_setopt(easy, CURLOPT_NOBODY, head ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "skald");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (!settings.certificate_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, settings.certificate_file.c_str());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Exchange::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  const CURLcode code = curl_easy_perform(easy);
  if (!exchange.received) return exchange.received;
  Reply& reply = exchange.reply;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  reply.retry_after = static_cast<uint64_t>(std::max<curl_off_t>(seconds, 0));
  if (code != CURLE_OK) reply.trouble = Concat({url.Origin(), ": ", curl_easy_strerror(code)});
  return {};
}

Transfers::Transfers(HubSettings settings)
    : settings_(std::move(settings)), connection_(std::make_unique<Connection>()) {
  static const bool initialised = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (initialised) connection_->curl.reset(curl_easy_init());
}

bool Transfers::Exist() { return true; }

Result<Reply> Transfers::Perform(const Request& request, const Receive& receive) {
  if (connection_->curl == nullptr) return Fail(ErrorCode::kResourceExhausted, "libcurl cannot be used");
  const auto hub = Url::Parse(settings_.endpoint);
  auto url = Url::Parse(request.url);
  if (!hub || !url) return Fail(ErrorCode::kInvalidArgument, QuotedName(request.url) + " is no URL");
  Reply reply;
  for (int redirects = 0;; ++redirects) {
    const bool at_hub = url->Origin() == hub->Origin();
    HeaderList headers;
    headers.Add("Accept-Encoding: identity");
    if (at_hub && !settings_.token.empty()) headers.Add("Authorization: Bearer " + settings_.token);
    if (request.from > 0) headers.Add("Range: bytes=" + std::to_string(request.from) + "-");
    if (request.from > 0 && at_hub) headers.Add("If-Range: \"" + request.etag + "\"");
    std::erase_if(reply.headers, [&](const auto& header) { return !at_hub || !header.first.starts_with("x-"); });
    Exchange exchange = {reply, receive, connection_->curl.get()};
    SKALD_TRY(connection_->Ask(*url, headers, settings_, request.head, exchange));
    const std::string location(reply.Header("location"));
    if (!reply.trouble.empty() || reply.status < 300 || reply.status >= 400 || location.empty()) return reply;

    auto target = url->Redirected(location);
    if (!target) {
      return Fail(ErrorCode::kDataLoss, "the hub redirects to " + QuotedName(location) + ", expected HTTP or HTTPS");
    }
    if (url->is_secure() && !target->is_secure()) {
      return Fail(ErrorCode::kDataLoss, "the hub redirects from HTTPS to " + QuotedName(target->Text()));
    }
    if (request.head && target->Origin() != hub->Origin()) return reply;
    if (redirects == kMaxRedirects) {
      return Fail(ErrorCode::kDataLoss, QuotedName(request.url) + " is redirected too often");
    }
    url = std::move(target);
  }
}

#else  // without libcurl

struct Transfers::Connection {};

Transfers::Transfers(HubSettings settings) : settings_(std::move(settings)) {}

bool Transfers::Exist() { return false; }

Result<Reply> Transfers::Perform(const Request&, const Receive&) {
  return Fail(ErrorCode::kUnsupported, "this build has no libcurl, which downloads need");
}

#endif

Transfers::~Transfers() = default;

}  // namespace skald::program
