// SPDX-License-Identifier: Apache-2.0
//
// A model by its name on the hub: what is missing of it is downloaded.

#ifndef SKALD_EXAMPLES_SKALD_HUB_FETCH_MODEL_H_
#define SKALD_EXAMPLES_SKALD_HUB_FETCH_MODEL_H_

#include <filesystem>

#include "hub/hub_name.h"
#include "hub/hub_settings.h"
#include "hub/transport/hub_events.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the path of the model in the cache: a snapshot's folder, or its GGUF file. Every file of it is there.
// Offline, in builds without libcurl, and with a notice when the hub cannot be reached, it is the commit that the cache
// has. Errors: those of ChooseFiles, HubClient and DownloadFile; kResourceExhausted, before anything large is received,
// if the disk has too little room; kNotFound if the hub may not be asked and the cache lacks a file.
Result<std::filesystem::path> FetchModel(const HubName& name, const HubSettings& settings, const HubEvents& events);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_FETCH_MODEL_H_
