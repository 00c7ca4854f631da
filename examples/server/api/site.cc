// SPDX-License-Identifier: Apache-2.0

#include "server/api/site.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "server/api/request/api_error.h"
#include "server/http/request_head.h"

namespace skald::serve {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The name or address in HOST[:PORT], in lower case and without brackets; nothing if there is none.
std::optional<std::string> NameIn(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  const size_t end = is_v6 ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == host.npos) return std::nullopt;
  std::string_view name = host.substr(is_v6 ? 1 : 0, is_v6 ? end - 1 : end);
  const std::string_view port = host.substr(is_v6 ? end + 1 : end);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!port.empty() && (port[0] != ':' || port.size() > 6 || !std::ranges::all_of(port.substr(1), is_digit))) {
    return std::nullopt;
  }
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  if (is_v6 ? !ParseAddress(name) : !std::ranges::all_of(name, is_of_name)) return std::nullopt;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return std::nullopt;
  return LowerCase(name);
}

// The elements of all headers of a name.
std::vector<std::string_view> ElementsOf(const HttpRequest& head, std::string_view name) {
  std::vector<std::string_view> elements;
  for (const auto& [key, value] : head.headers) {
    if (key != name) continue;
    for (std::string_view rest = value; !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      std::string_view one = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (one.starts_with(' ')) one.remove_prefix(1);
      while (one.ends_with(' ')) one.remove_suffix(1);
      if (!one.empty()) elements.push_back(one);
    }
  }
  return elements;
}

// The value that the nearest proxy gave in the header `name`, or `usual` if there is none.
std::string_view Forwarded(const HttpRequest& head, std::string_view name, std::string_view usual) {
  const auto elements = ElementsOf(head, name);
  return elements.empty() ? usual : elements.back();
}

// The name by which other machines know this one, if it has one.
std::string OwnHostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? LowerCase(name) : std::string();
}

}  // namespace

Result<Site> Site::Make(const SiteOptions& options) {
  Site site;
  const auto address = ParseAddress(options.address);
  site.listens_ = address.value_or(NetworkAddress{});  // what is no address cannot be listened at, and is refused there
  site.origins_ = options.origins;
  if (site.listens_.is_unspecified()) site.hosts_.push_back(OwnHostName());
  for (const std::string& host : options.hosts) {
    if (host == "*") {
      site.serves_all_ = true;
      continue;
    }
    const auto name = NameIn(host);
    if (!name || host.find(':') != host.npos) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--allowed-host: '" + host + "' is no name of a host; leave out any port");
    }
    site.hosts_.push_back(*name);
  }
  for (const std::string& proxy : options.proxies) {
    const auto network = ParseNetwork(proxy);
    if (!network) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--trusted-proxy: '" + proxy + "' is no address; expected one such as 10.0.0.5 or 10.0.0.0/8");
    }
    site.proxies_.push_back(*network);
  }
  SKALD_TRY(site.ReadPublicUrl(options.public_url));
  return site;
}

Result<void> Site::ReadPublicUrl(const std::string& url) {
  if (url.empty()) return {};
  const size_t scheme_end = url.find("://");
  const std::string scheme = LowerCase(std::string_view(url).substr(0, scheme_end));
  const std::string_view rest =
      scheme_end == url.npos ? std::string_view() : std::string_view(url).substr(scheme_end + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  const auto name = NameIn(rest.substr(0, slash));
  if ((scheme != "http" && scheme != "https") || !name || rest.find_first_of("?#") != rest.npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "--public-url: '" + url + "' is no address; expected one such as https://example.com/skald");
  }
  hosts_.push_back(*name);
  public_origin_ = scheme + "://" + LowerCase(rest.substr(0, slash));
  prefix_ = rest.substr(slash);
  while (prefix_.ends_with('/')) prefix_.pop_back();
  return {};
}

bool Site::IsProxy(std::string_view address) const {
  const auto parsed = ParseAddress(address);
  return parsed && std::ranges::any_of(proxies_, [&](const Network& network) { return network.Has(*parsed); });
}

bool Site::Serves(std::string_view host) const {
  if (serves_all_ || host == "localhost" || std::ranges::find(hosts_, host) != hosts_.end()) return true;
  // An address is safe: unlike a name, another site cannot lead it here.
  const auto address = ParseAddress(host);
  return address && (address->is_loopback() || *address == listens_ || listens_.is_unspecified());
}

std::string Site::ClientFor(const HttpRequest& head, bool is_forwarded) const {
  std::string_view client = head.peer;
  if (is_forwarded) {
    const auto hops = ElementsOf(head, "x-forwarded-for");
    const auto hop = std::find_if(hops.rbegin(), hops.rend(), [&](std::string_view one) { return !IsProxy(one); });
    if (hop != hops.rend() && ParseAddress(*hop)) client = *hop;
  }
  const auto address = ParseAddress(client);
  return address ? ClientOf(*address) : std::string(client);
}

Caller Site::Look(const HttpRequest& head) const {
  const bool is_forwarded = IsProxy(head.peer);
  std::string_view host = head.Header("host"), scheme = head.is_tls ? "https" : "http";
  if (is_forwarded) {
    host = Forwarded(head, "x-forwarded-host", host);
    scheme = Forwarded(head, "x-forwarded-proto", scheme);
  }
  if (!host.empty() || !head.is_http_1_0) {
    const auto name = NameIn(host);
    if (!name)
      throw ApiError{400, "the request's Host is '" + std::string(host.substr(0, 64)) + "', expected HOST:PORT"};
    if (!Serves(*name)) {
      throw ApiError{421, "this server is not '" + name->substr(0, 128) + "'; 'skald serve --allowed-host " +
                              name->substr(0, 128) + "' lets it be called so"};
    }
  }
  Caller caller = {.client = ClientFor(head, is_forwarded), .path = head.path};
  if (!prefix_.empty() && head.path.starts_with(prefix_)) {
    const std::string_view rest = std::string_view(head.path).substr(prefix_.size());
    if (rest.empty() || rest.starts_with('/')) caller.path = rest;
  }
  const std::string_view origin = head.Header("origin");
  const std::string own = std::string(scheme) + "://" + std::string(host);
  if (origin.empty() || SameButCase(origin, own) || SameButCase(origin, public_origin_)) return caller;
  caller.origin = origin;
  caller.may_use = std::ranges::any_of(origins_, [&](const std::string& one) { return one == "*" || one == origin; });
  return caller;
}

}  // namespace skald::serve
