// SPDX-License-Identifier: Apache-2.0
//
// One file, from the hub into the cache: received once even by several programs at a time, gone on with after a break,
// and in place only when it is whole and its checksum is right.

#ifndef SKALD_EXAMPLES_SKALD_HUB_STORAGE_DOWNLOAD_H_
#define SKALD_EXAMPLES_SKALD_HUB_STORAGE_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "hub/storage/hub_cache.h"
#include "hub/transport/hub_client.h"
#include "skald/base/result.h"

namespace skald::program {

struct HubFile {
  std::string name;
  FileFacts facts;
};

// Bytes of a file's content that the cache has already, whole or in part.
uint64_t BytesThere(const HubCache& cache, const FileFacts& facts);

// Puts the content of `file` into the cache, and the file into the snapshot. `on_bytes` is told how much of it is
// there. Errors: those of HubClient; kDataLoss if what comes has another checksum or length; kResourceExhausted if the
// disk is full, with nothing of the file left on it; the system's. After other errors, and after signals, the next call
// goes on from what was received.
Result<void> DownloadFile(HubClient& client, const HubCache& cache, const std::string& repository,
                          const std::string& commit, const HubFile& file,
                          const std::function<void(uint64_t)>& on_bytes);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_STORAGE_DOWNLOAD_H_
