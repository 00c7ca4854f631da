// SPDX-License-Identifier: Apache-2.0
//
// The part of the hub's API that downloads need. Requests that meet a busy hub or a broken connection are made again a
// few times.

#ifndef SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_CLIENT_H_
#define SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_CLIENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hub/hub_settings.h"
#include "hub/transport/hub_events.h"
#include "hub/transport/transfer.h"
#include "skald/base/result.h"

namespace skald::program {

// A repository at one commit.
struct RepositoryFacts {
  std::string commit;
  std::vector<std::string> files;  // safe names, with folders
};

// One file of it.
struct FileFacts {
  std::string etag;  // 64 digits: SHA-256 of the content; 40: the id of a blob of git
  uint64_t size = 0;
};

// Errors of all requests, with the hub's own words where it has some: kNotFound for no such repository or file;
// kInvalidArgument if it needs a token, or another one; kFailedPrecondition if the hub cannot be reached or has no
// time; kDataLoss for an answer that makes no sense; those of Transfers.
class HubClient {
 public:
  HubClient(const HubSettings& settings, HubEvents events);

  // The repository as `main` is now.
  Result<RepositoryFacts> Describe(const std::string& repository);

  Result<FileFacts> DescribeFile(const std::string& repository, const std::string& commit, const std::string& file);

  // Receives the content of a file from the byte `from` on, which `receive` moves forward. `from` is 0 again if the hub
  // begins at the start.
  Result<void> Read(const std::string& repository, const std::string& commit, const std::string& file,
                    const FileFacts& facts, uint64_t& from, const Receive& receive);

  const HubEvents& events() const { return events_; }

 private:
  std::string UrlOf(const std::string& repository, const std::string& commit, const std::string& file) const;

  std::string endpoint_;
  HubEvents events_;
  Transfers transfers_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_CLIENT_H_
