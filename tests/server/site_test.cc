// SPDX-License-Identifier: Apache-2.0
//
// Which names, pages and proxies a server believes, and how often a client may guess a key.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "server/api/request/api_error.h"
#include "server/api/site.h"
#include "server/http/request_head.h"
#include "server/service/failed_keys.h"

namespace skald::testing {
namespace site_test {

using serve::ApiError;
using serve::Caller;
using serve::FailedKeys;
using serve::HeaderList;
using serve::HttpRequest;
using serve::Site;
using serve::SiteOptions;

HttpRequest RequestWith(HeaderList headers, std::string peer = "127.0.0.1") {
  HttpRequest head;
  head.method = "GET";
  head.path = "/v1/models";
  head.headers = std::move(headers);
  head.peer = std::move(peer);
  return head;
}

Site SiteWith(const SiteOptions& options) {
  auto site = Site::Make(options);
  REQUIRE(site);
  return *std::move(site);
}

// The status that a Host is refused with, 200 where it is served.
int StatusOf(const Site& site, const std::string& host) {
  try {
    (void)site.Look(RequestWith({{"host", host}}));
    return 200;
  } catch (const ApiError& error) {
    return error.status;
  }
}

TEST_CASE("only names that are served are answered") {
  const Site site = SiteWith({});
  for (const char* const host : {"localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1:1", "127.9.9.9", "[::1]:80"}) {
    CHECK_MESSAGE(StatusOf(site, host) == 200, host);
  }
  for (const char* const host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "192.168.1.1", "[fe80::1]"}) {
    CHECK_MESSAGE(StatusOf(site, host) == 421, host);
  }
  for (const char* const host :
       {"", ":80", "a b", "a/b", "[::1", "[x]", "localhost:x", "localhost:123456", "a@localhost"}) {
    CHECK_MESSAGE(StatusOf(site, host) == 400, host);
  }
  CHECK(StatusOf(SiteWith({.hosts = {"Skald.example"}}), "skald.example:99") == 200);
  CHECK(StatusOf(SiteWith({.hosts = {"*"}}), "any.example") == 200);
  CHECK(StatusOf(SiteWith({.address = "192.168.1.1"}), "192.168.1.1:8080") == 200);
  CHECK(StatusOf(SiteWith({.address = "192.168.1.1"}), "192.168.1.2") == 421);
  CHECK(StatusOf(SiteWith({.address = "0.0.0.0"}), "10.1.2.3:8080") == 200);
  CHECK(StatusOf(SiteWith({.address = "0.0.0.0"}), "evil.example") == 421);
  HttpRequest old = RequestWith({});
  old.is_http_1_0 = true;
  CHECK(site.Look(old).may_use);
}

TEST_CASE("pages are of this server where scheme, name and port are") {
  const Site site = SiteWith({.origins = {"https://friend.example"}});
  const auto may_use = [&](const std::string& origin) {
    return site.Look(RequestWith({{"host", "localhost:8080"}, {"origin", origin}})).may_use;
  };
  CHECK(may_use("http://localhost:8080"));
  CHECK(may_use("https://friend.example"));
  for (const char* const origin : {"http://localhost:3000", "https://localhost:8080", "http://evil.example", "null"}) {
    CHECK_FALSE(may_use(origin));
  }
}

TEST_CASE("behind a proxy the public address is the server's") {
  const Site site = SiteWith({.public_url = "https://Example.com/skald/"});
  HttpRequest head = RequestWith({{"host", "example.com"}, {"origin", "https://example.com"}});
  head.path = "/skald/v1/models";
  Caller caller = site.Look(head);
  CHECK(caller.may_use);
  CHECK(caller.path == "/v1/models");
  head.path = "/skaldic";
  CHECK(site.Look(head).path == "/skaldic");
  for (const char* const url : {"example.com", "ftp://example.com", "https://", "https://a b/", "https://a/?b"}) {
    CHECK_FALSE(Site::Make({.public_url = url}));
  }
}

TEST_CASE("only trusted proxies tell of others") {
  const HeaderList headers = {{"host", "127.0.0.1:8080"},
                              {"x-forwarded-host", "evil.example, chat.example"},
                              {"x-forwarded-proto", "https"},
                              {"x-forwarded-for", "1.1.1.1, 2.2.2.2, 10.0.0.9"},
                              {"origin", "https://chat.example"}};
  const Site site = SiteWith({.hosts = {"chat.example"}, .proxies = {"10.0.0.0/8", "fd00::1"}});
  Caller caller = site.Look(RequestWith(headers, "10.1.2.3"));
  CHECK(caller.may_use);
  CHECK(caller.client == "2.2.2.2");
  caller = site.Look(RequestWith(headers, "11.1.2.3"));
  CHECK_FALSE(caller.may_use);
  CHECK(caller.client == "11.1.2.3");
  CHECK(site.IsProxy("fd00::1"));
  CHECK_FALSE(site.IsProxy("fd00::2"));
  CHECK(site.Look(RequestWith({{"host", "localhost"}}, "2001:db8:1:2:3:4:5:6")).client == "2001:db8:1:2::");
  for (const char* const proxy : {"proxy", "10.0.0.0/33", "10.0.0.0/x", "::1/129", ""}) {
    CHECK_FALSE(Site::Make({.proxies = {proxy}}));
  }
}

TEST_CASE("a request whose end or host is in doubt is refused") {
  const auto status = [](HeaderList headers, bool is_http_1_0 = false) {
    HttpRequest head = RequestWith(std::move(headers));
    head.is_http_1_0 = is_http_1_0;
    const auto wrong = serve::CheckHead(head);
    return wrong ? wrong->status : 200;
  };
  const std::pair<std::string, std::string> host = {"host", "a"}, chunked = {"transfer-encoding", "chunked"};
  CHECK(status({host}) == 200);
  CHECK(status({host, {"transfer-encoding", "Chunked"}}) == 200);
  for (const char* const coding : {"xchunked", "chunked, identity", "gzip, chunked", "chunked;q=1", "identity", ""}) {
    CHECK_MESSAGE(status({host, {"transfer-encoding", coding}}) == 501, coding);
  }
  CHECK(status({host, chunked, chunked}) == 400);
  CHECK(status({host, chunked, {"content-length", "5"}}) == 400);
  CHECK(status({host, {"content-length", "5"}, {"content-length", "5"}}) == 400);
  CHECK(status({host, chunked}, true) == 400);
  CHECK(status({}) == 400);
  CHECK(status({}, true) == 200);
  CHECK(status({host, host}) == 400);
  CHECK(status({host, {"expect", "200-ok"}}) == 417);
  CHECK(status({host, {"content-encoding", "gzip"}}) == 415);
  CHECK(status({host, {"content-encoding", "identity"}}) == 200);
}

TEST_CASE("a client that guesses keys is not believed, but for those that were right before") {
  const std::string_view alice = "alice", bob = "bob";
  FailedKeys keys(3);
  auto now = FailedKeys::Clock::time_point() + std::chrono::hours(1);
  CHECK(keys.Admit("a", alice, now));
  for (int i = 0; i < 3; ++i) CHECK(keys.Admit("a", {}, now));
  CHECK_FALSE(keys.Admit("a", {}, now));
  CHECK_FALSE(keys.Admit("a", bob, now));
  CHECK(keys.Admit("a", alice, now));
  CHECK(keys.Admit("b", bob, now));
  now += std::chrono::seconds(keys.seconds_to_wait());
  CHECK(keys.Admit("a", bob, now));
  for (int i = 0; i < 20'000; ++i) CHECK(keys.Admit(std::to_string(i), {}, now));  // however many there are
}

}  // namespace site_test
}  // namespace skald::testing
