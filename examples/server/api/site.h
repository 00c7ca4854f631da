// SPDX-License-Identifier: Apache-2.0
//
// Site: the names under which a server is reached, the proxies before it, and the sites whose pages may use it.
//
// A page of another site can send requests here, with a name of its own that leads to this machine too (DNS rebinding).
// The name that the browser was given, in the Host header, tells such requests apart. So requests for names that are
// not served are refused; the Origin header of the others can be relied on.

#ifndef SKALD_EXAMPLES_SERVER_API_SITE_H_
#define SKALD_EXAMPLES_SERVER_API_SITE_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/http/limits/network.h"
#include "skald/base/result.h"

namespace skald::serve {

struct SiteOptions {
  std::string address = "127.0.0.1";      // that is listened at
  std::vector<std::string> hosts = {};    // names that are served beside those of the machine; "*" for all
  std::string public_url = {};            // SCHEME://HOST[:PORT][/PREFIX] that clients know; empty: none
  std::vector<std::string> proxies = {};  // addresses or networks whose X-Forwarded headers are believed
  std::vector<std::string> origins = {};  // of pages of other servers that may use this one; "*" for all
};

// The sender of a request, as the request's head describes it.
struct Caller {
  std::string client;   // whose limits count: an address, or a network of IPv6
  std::string origin;   // of the page that asks, if it is not one of ours; else empty
  bool may_use = true;  // the origin may use this server
  std::string path;     // without the prefix of the public URL
};

// Immutable; safe for concurrent calls.
class Site {
 public:
  // Errors: kInvalidArgument for an option that is none.
  static Result<Site> Make(const SiteOptions& options);

  // Thrown: ApiError 400 for a Host that is none, 421 for one that is not served.
  Caller Look(const HttpRequest& head) const;

  bool IsProxy(std::string_view address) const;

 private:
  Result<void> ReadPublicUrl(const std::string& url);
  bool Serves(std::string_view host) const;
  std::string ClientFor(const HttpRequest& head, bool is_forwarded) const;

  NetworkAddress listens_;
  std::vector<std::string> hosts_, origins_;
  std::vector<Network> proxies_;
  std::string public_origin_, prefix_;  // in lower case; "/PREFIX"
  bool serves_all_ = false;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_SITE_H_
