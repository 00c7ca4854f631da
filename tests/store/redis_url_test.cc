// SPDX-License-Identifier: Apache-2.0
//
// Addresses of Redis servers: what each says, and that no error repeats a password.

#include "skald/store/backends/redis_url.h"

#include <string>

#include "doctest/doctest.h"

namespace skald::testing {
namespace redis_url_test {

TEST_CASE("an address of Redis says host, port, user, password, database and TLS") {
  struct Case {
    const char *address, *host, *user, *password;
    int port = 6379, database = 0;
    bool is_tls = false;
  };
  for (const Case& one : {
           Case{"localhost", "localhost", "", ""},
           Case{"10.0.0.1:7000", "10.0.0.1", "", "", 7000},
           Case{"[::1]:7000", "::1", "", "", 7000},
           Case{"[::1]", "::1", "", ""},
           Case{"redis://host", "host", "", ""},
           Case{"redis://host/", "host", "", ""},
           Case{"redis://host:1/15", "host", "", "", 1, 15},
           Case{"redis://:secret@host", "host", "", "secret"},
           Case{"rediss://anna:p%40s%3As%2f@host:6380/2", "host", "anna", "p@s:s/", 6380, 2, true},
           Case{"rediss://anna@[fe80::1]:6380", "fe80::1", "anna", "", 6380, 0, true},
           Case{"redis://a:b/c@d@host/3", "host", "a", "b/c@d", 6379, 3},
       }) {
    CAPTURE(one.address);
    const auto read = ParseRedisAddress(one.address);
    REQUIRE(read);
    CHECK(read->host == one.host);
    CHECK(read->port == one.port);
    CHECK(read->user == one.user);
    CHECK(read->password == one.password);
    CHECK(read->database == one.database);
    CHECK(read->tls.is_used == one.is_tls);
  }
  const auto based = ParseRedisAddress("host", {.key_prefix = "mine:"});
  CHECK(based->key_prefix == "mine:");
}

TEST_CASE("what is no address of Redis is refused without being repeated") {
  for (const char* const address :
       {"", ":1", "host:", "host:0", "host:65536", "host:x", "redis://", "http://a:secret@host", "a:secret@host",
        "redis://a:secret@", "redis://a:secret%4@host", "redis://a:secret%zz@host", "redis://a:secret@host:x",
        "redis://a:secret@host/x", "redis://a:secret@host/-1", "redis://a:secret@[::1", "redis://secret:host:1:2:x"}) {
    CAPTURE(address);
    const auto read = ParseRedisAddress(address);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::kInvalidArgument);
    CHECK(read.error().message.find("secret") == std::string::npos);
    CHECK(read.error().message.find("expected HOST") != std::string::npos);
  }
}

}  // namespace redis_url_test
}  // namespace skald::testing
