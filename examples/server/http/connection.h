// SPDX-License-Identifier: Apache-2.0
//
// One connection of the HTTP server, as a coroutine. Internal to http/: the only places that know Boost.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_CONNECTION_H_
#define SKALD_EXAMPLES_SERVER_HTTP_CONNECTION_H_

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <memory>
#include <string>
#include <utility>

#include "server/http/exchange.h"
#include "server/http/http_server.h"
#include "server/http/limits/byte_budget.h"
#include "server/http/limits/places.h"

namespace skald::serve {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
template <class T>
using Awaitable = asio::awaitable<T>;

// Makes an asynchronous call report its failure in `error` instead of an exception.
inline auto Quiet(boost::system::error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// The state that a server's connections share.
struct ServerShared {
  ServerShared(const HttpOptions& http_options, Handler admit)
      : options(http_options),
        handler(std::move(admit)),
        places(options.connections, options.connections_of_client),
        bodies(std::make_shared<ByteBudget>(options.bodies_bytes, options.bodies_bytes / 2)) {}

  const HttpOptions options;
  const Handler handler;
  Places places;
  const std::shared_ptr<ByteBudget> bodies;
  std::atomic<bool> is_stopping = false;
};

// The other end of a connection, and the connection's place.
struct Peer {
  std::string address;
  std::string client;  // whose limits count; empty for a proxy
  std::unique_ptr<Places::Place> place;
};

// Serve a connection to its end, which needs `context` for as long.
Awaitable<void> ServePlain(ServerShared& shared, boost::beast::tcp_stream stream, Peer peer);
Awaitable<void> ServeTls(ServerShared& shared, boost::beast::tcp_stream stream, Peer peer,
                         std::shared_ptr<asio::ssl::context> context);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_CONNECTION_H_
