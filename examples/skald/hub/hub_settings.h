// SPDX-License-Identifier: Apache-2.0
//
// Everything that the environment says about the hub, by the variables of Hugging Face's own tools.

#ifndef SKALD_EXAMPLES_SKALD_HUB_HUB_SETTINGS_H_
#define SKALD_EXAMPLES_SKALD_HUB_HUB_SETTINGS_H_

#include <filesystem>
#include <string>

#include "skald/base/result.h"

namespace skald::program {

struct HubSettings {
  std::string endpoint;          // a URL without a slash at its end
  std::string token;             // empty: none
  bool offline = false;          // use the cache alone
  std::filesystem::path cache;   // absolute
  std::string certificate_file;  // of authorities to trust; empty: the system's
};

// Reads HF_ENDPOINT; HF_TOKEN, or the file that HF_TOKEN_PATH or HF_HOME says; HF_HUB_OFFLINE; HF_HUB_CACHE or HF_HOME;
// CURL_CA_BUNDLE or SSL_CERT_FILE. Errors: kInvalidArgument for a value that cannot be; kNotFound if there is no folder
// for a cache; those of ReadSmallFile for a token's file that is there.
Result<HubSettings> ReadHubSettings();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_HUB_SETTINGS_H_
