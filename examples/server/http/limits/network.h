// SPDX-License-Identifier: Apache-2.0
//
// Addresses of IPv4 and IPv6 as text, and networks of them.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_LIMITS_NETWORK_H_
#define SKALD_EXAMPLES_SERVER_HTTP_LIMITS_NETWORK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skald::serve {

// An address of IPv6, or one of IPv4 as ::ffff:A.B.C.D.
struct NetworkAddress {
  std::array<uint8_t, 16> bytes = {};

  bool is_v4() const;
  bool is_loopback() const;
  bool is_unspecified() const;  // 0.0.0.0 and ::
  std::string Text() const;

  bool operator==(const NetworkAddress&) const = default;
};

// Nothing where `text` is no address. Of a link-local one the zone is left out.
std::optional<NetworkAddress> ParseAddress(std::string_view text);

// Whose limits count for an address: its own text, or of IPv6 that of its network of 64 bits, which one client has
// whole.
std::string ClientOf(const NetworkAddress& address);

// The addresses that begin with the same bits.
struct Network {
  NetworkAddress address;
  int bits = 128;

  bool Has(const NetworkAddress& other) const;
};

// Reads ADDRESS or ADDRESS/BITS. Nothing where `text` is neither.
std::optional<Network> ParseNetwork(std::string_view text);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_LIMITS_NETWORK_H_
