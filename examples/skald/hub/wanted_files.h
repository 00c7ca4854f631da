// SPDX-License-Identifier: Apache-2.0
//
// The files of a repository that running its model needs.

#ifndef SKALD_EXAMPLES_SKALD_HUB_WANTED_FILES_H_
#define SKALD_EXAMPLES_SKALD_HUB_WANTED_FILES_H_

#include <span>
#include <string>
#include <vector>

#include "hub/hub_name.h"
#include "skald/base/result.h"

namespace skald::program {

struct WantedFiles {
  std::string gguf;                   // the file that is the model, or its first part; empty: the folder is
  std::vector<std::string> settings;  // small files: of the model, its text, and the index of its shards
  std::vector<std::string> weights;   // empty if the index says which
};

// Chooses among the names of a repository's files: a GGUF file, with all its parts, if a quantisation is asked for or
// there are no safetensors, else config.json and what belongs to it. Errors: kNotFound for a repository without a
// model, without that quantisation or without one of its parts; kUnsupported for pickled weights.
Result<WantedFiles> ChooseFiles(const HubName& name, std::span<const std::string> files);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_WANTED_FILES_H_
