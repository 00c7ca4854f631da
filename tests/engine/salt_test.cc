// SPDX-License-Identifier: Apache-2.0
//
// Requests whose state may not be shared with the rest of their tenant: by salt, also once they were written down.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/detail/shared_beginnings.h"
#include "skald/engine/suspension/suspended.h"

namespace skald::testing {
namespace salt_test {

Request From(const std::string& tenant, std::optional<std::string> salt = {}) {
  Request request;
  request.prompt = {1, 2, 3};
  request.tenant = tenant;
  request.salt = std::move(salt);
  return request;
}

TEST_CASE("a request's state goes by its salt, else by its tenant") {
  CHECK(SaltOf(From("")) == std::nullopt);
  CHECK(SaltOf(From("a")) == "a");
  CHECK(SaltOf(From("a", "b")) == "b");
  CHECK(SaltOf(From("", "b")) == "b");
  CHECK(internal::MayShare(From("a"), From("a")));
  CHECK(internal::MayShare(From("a", "b"), From("a", "b")));
  CHECK_FALSE(internal::MayShare(From("a", "b"), From("a")));
  CHECK_FALSE(internal::MayShare(From("a", "b"), From("a", "c")));
  CHECK_FALSE(internal::MayShare(From("a"), From("b")));
}

TEST_CASE("a salt outlives a suspended request") {
  Suspended suspended = {.next_id = 7, .requests = std::vector<SuspendedRequest>(3)};
  for (SuspendedRequest& one : suspended.requests) one.request = From("a");
  suspended.requests[0].request.salt = "mine";
  suspended.requests[2].request.salt = "";
  const std::vector<std::byte> bytes = *EncodeSuspended(suspended, 0.0);
  const auto decoded = DecodeSuspended(bytes, 0.0);
  REQUIRE(decoded);
  CHECK(decoded->next_id == 7);
  REQUIRE(decoded->requests.size() == 3);
  CHECK(decoded->requests[0].request.salt == "mine");
  CHECK(decoded->requests[1].request.salt == std::nullopt);
  CHECK(decoded->requests[2].request.salt == "");
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodeSuspended(std::span(bytes).first(size), 0.0));
  }
}

TEST_CASE("suspended requests of version 2 are read, which have neither a next id nor salts") {
  Suspended suspended = {.next_id = 7, .requests = std::vector<SuspendedRequest>(1)};
  suspended.requests[0].id = 5;
  suspended.requests[0].request = From("a");
  std::vector<std::byte> bytes = *EncodeSuspended(suspended, 0.0);
  constexpr size_t kVersionAt = sizeof(uint64_t), kNextIdAt = kVersionAt + sizeof(uint32_t);
  const uint32_t version = 2;
  std::memcpy(bytes.data() + kVersionAt, &version, sizeof version);
  const auto salt = bytes.end() - sizeof(uint64_t) - sizeof(uint32_t);  // whether there is one; no samples follow
  bytes.erase(salt, salt + sizeof(uint32_t));
  const auto next_id = bytes.begin() + kNextIdAt;
  bytes.erase(next_id, next_id + sizeof(RequestId));
  const auto decoded = DecodeSuspended(bytes, 0.0);
  REQUIRE(decoded);
  CHECK(decoded->next_id == 0);
  REQUIRE(decoded->requests.size() == 1);
  CHECK(decoded->requests[0].id == 5);
  CHECK(decoded->requests[0].request.tenant == "a");
  CHECK(decoded->requests[0].request.salt == std::nullopt);
}

}  // namespace salt_test
}  // namespace skald::testing
