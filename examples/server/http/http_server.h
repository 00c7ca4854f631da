// SPDX-License-Identifier: Apache-2.0
//
// HttpServer: HTTP/1.1 (RFC 9112) with and without TLS on Boost.Beast. A coroutine for each connection on a few
// threads, so that many open streams cost little; limits on everything that a client may send, and on how long it may
// take.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_HTTP_SERVER_H_
#define SKALD_EXAMPLES_SERVER_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "skald/base/result.h"

namespace skald::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  uint16_t port = 8080;            // 0: any that is free
  // Certificate chain and key as PEM; both or none.
  std::filesystem::path certificate = {}, private_key = {};
  int threads = 4;

  size_t header_bytes = 16 << 10;
  uint64_t bodies_bytes = uint64_t{256} << 20;  // of all requests in memory; half of it those of one client
  size_t connections = 1024;
  size_t connections_of_client = 256;  // of one address, of IPv6 of one network of 64 bits
  std::chrono::milliseconds header_timeout = std::chrono::seconds(15);  // from a request's first byte, or the greeting
  std::chrono::milliseconds body_timeout = std::chrono::seconds(60);    // and a second more for each 64 KiB that came
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);    // between requests
  std::chrono::milliseconds scarce_timeout =
      std::chrono::seconds(5);  // for both when three quarters of places are taken
  std::chrono::milliseconds write_timeout = std::chrono::seconds(120);  // of 64 KiB that a client does not take
  std::chrono::milliseconds keep_alive = std::chrono::seconds(10);      // between comments of a stream that is silent

  // Where large bodies lie; must outlive the server. Null: there are none.
  Spool* spool = nullptr;
  // Whether an address is a proxy's, which has no limits of a client. None: no address is.
  std::function<bool(std::string_view address)> is_proxy = {};
  // Told what an operator should know.
  std::function<void(const std::string& message)> warn = {};
  // Answers of the server's own, to what is no request: the body for a status and a sentence.
  std::function<std::string(int status, std::string_view message)> error_body = {};
};

class HttpServer {
 public:
  // Listens, and answers what `handler` admits until it is stopped or destroyed. Errors: kInvalidArgument for an
  // address, a certificate or a key that cannot be; kFailedPrecondition for one that cannot be listened at.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, Handler handler);

  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;

  // Reads the certificate and its key again, for connections from now on. Errors: those of Start for them; then
  // connections go on with what was read before.
  virtual Result<void> ReloadCertificate() = 0;

  // Takes no more connections nor requests, waits until the answers that are being sent are at their ends, `grace` at
  // most, and closes all.
  virtual void Stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_HTTP_SERVER_H_
