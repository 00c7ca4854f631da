// SPDX-License-Identifier: Apache-2.0
//
// The name of a model on the hub: ORG/REPO, and after a colon which of its GGUF files.

#ifndef SKALD_EXAMPLES_SKALD_HUB_HUB_NAME_H_
#define SKALD_EXAMPLES_SKALD_HUB_HUB_NAME_H_

#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald::program {

struct HubName {
  std::string repository;    // "Qwen/Qwen3-0.6B", safe as a part of a path and of a URL
  std::string quantisation;  // "Q4_K_M", or the name of a GGUF file; empty: none was asked for
};

// Reads ORG/REPO or ORG/REPO:QUANTISATION. Error: kInvalidArgument for a text that is none.
Result<HubName> ParseHubName(std::string_view text);

// Whether a name of a file from the hub is safe as a path in a folder: relative, no "..", no control characters.
bool IsSafeFileName(std::string_view name);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_HUB_NAME_H_
