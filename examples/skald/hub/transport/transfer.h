// SPDX-License-Identifier: Apache-2.0
//
// Single requests over HTTP and HTTPS, by libcurl. The token goes to the hub's own address alone: redirects are
// followed here, one request each, so that every address is looked at before something is sent to it.

#ifndef SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_TRANSFER_H_
#define SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hub/hub_settings.h"
#include "skald/base/result.h"

namespace skald::program {

struct Request {
  std::string url;
  bool head = false;      // headers alone; a redirect to another address is the reply then
  uint64_t from = 0;      // the first byte that is asked for
  std::string etag = {};  // of the bytes before it, for the hub's own address: If-Range
};

struct Reply {
  long status = 0;                             // of HTTP; 0: there is no whole reply, and `trouble` says why
  std::string trouble;                         // a connection that failed or was cut
  std::map<std::string, std::string> headers;  // by names in lower case; those of redirects at the hub's address too
  uint64_t retry_after = 0;                    // seconds

  bool good() const { return status >= 200 && status < 300 && trouble.empty(); }
  // The value of a header, or "".
  std::string_view Header(const std::string& name) const;
};

// Receives the bytes of a reply whose status is good; its headers are complete before. An error ends the transfer.
using Receive = std::function<Result<void>(const Reply& reply, std::span<const std::byte> bytes)>;

// Makes requests one after the other, over connections that are kept. Used by one thread.
class Transfers {
 public:
  explicit Transfers(HubSettings settings);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Whether this build can make requests at all.
  static bool Exist();

  // Returns the reply to `request`, also one of an error of HTTP. Errors: those of `receive`; kUnsupported if this
  // build has no libcurl; kDataLoss for redirects that are not followed: too many, from HTTPS to HTTP, or to anything
  // else.
  Result<Reply> Perform(const Request& request, const Receive& receive);

 private:
  struct Connection;

  HubSettings settings_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_TRANSFER_H_
