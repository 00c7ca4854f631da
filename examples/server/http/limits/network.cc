// SPDX-License-Identifier: Apache-2.0

#include "server/http/limits/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace skald::serve {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

bool NetworkAddress::is_v4() const { return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes.begin()); }

bool NetworkAddress::is_loopback() const {
  if (is_v4()) return bytes[12] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t byte) { return byte == 0; });
}

bool NetworkAddress::is_unspecified() const {
  return std::all_of(bytes.begin() + (is_v4() ? 12 : 0), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

std::string NetworkAddress::Text() const {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes.data() + (is_v4() ? 12 : 0), text, sizeof(text));
  return text;
}

std::optional<NetworkAddress> ParseAddress(std::string_view text) {
  const std::string copy(text.substr(0, text.find('%')));
  NetworkAddress address;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
  std::ranges::copy(kV4Prefix, address.bytes.begin());
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data() + kV4Prefix.size()) == 1) return address;
  return std::nullopt;
}

std::string ClientOf(const NetworkAddress& address) {
  if (address.is_v4()) return address.Text();
  NetworkAddress network = address;
  std::fill(network.bytes.begin() + 8, network.bytes.end(), uint8_t{0});
  return network.Text();
}

bool Network::Has(const NetworkAddress& other) const {
  const auto whole = static_cast<size_t>(bits / 8);
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  other.bytes.begin())) {
    return false;
  }
  const int rest = bits % 8;
  return rest == 0 || ((address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest)) == 0;
}

std::optional<Network> ParseNetwork(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = ParseAddress(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network = {*address};
  if (slash == text.npos) return network;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + slash + 1, end, network.bits);
  const int most = address->is_v4() ? 32 : 128;
  if (error != std::errc() || parsed != end || network.bits < 0 || network.bits > most) return std::nullopt;
  network.bits += 128 - most;
  return network;
}

}  // namespace skald::serve
