// SPDX-License-Identifier: Apache-2.0
//
// What a model is, whatever holds it: a folder as Hugging Face publishes it, a safetensors file
// in one (or the index of its shards), a GGUF file or a packed file.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_IDENTIFY_MODEL_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_IDENTIFY_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::program {

// Returns the content of a small file that goes with the weights, by its name in the folders of Hugging Face. Errors:
// kNotFound where there is none, kUnsupported or kDataLoss where metadata do not make one.
using ReadModelFile = std::function<Result<std::string>(std::string_view name)>;

// The name under which packed files keep the model's tokenizer, in the form that opens at once.
inline constexpr std::string_view kTokenizerFile = "tokenizer.skald";

// What goes with a model's weights, and how they lie there.
struct ModelFiles {
  DType weight_type;  // to load the weights as, unless the user wants others: of a packed file, the only one
  ReadModelFile read_file;
  std::function<Result<Tokenizer>()> load_tokenizer;  // the one that comes with the model
};

// Errors: there is nothing at `path`, or a file that cannot be opened.
Result<ModelFiles> OpenModelFiles(const std::filesystem::path& path);

// What is known of a model before any weights are read.
struct ModelInfo : ModelFiles {
  ModelSpec spec;
  std::string family;        // as config.json names it; empty where a packed file does not say
  std::string name;          // of the known Config that has this spec, else of its family
  uint32_t trained_context;  // tokens; 0 if no file says
};

// Errors: nothing at `path` says what the model is, or it is none that Skald runs.
Result<ModelInfo> IdentifyModel(const std::filesystem::path& path);

// Returns the folder with the files that go with the weights at `path`, or `path` itself if they are within it.
std::filesystem::path FolderOfModel(const std::filesystem::path& path);

// Returns what the model at `path` has no known Config for, the nearest one with what differs; nothing if there is one.
std::optional<std::string> WhyNoConfig(const std::filesystem::path& path);

// Returns the Config of the model at `path` as C++, to paste into a program that is to compile this model alone.
Result<std::string> ConfigOf(const std::filesystem::path& path);

// Returns the spec of the known Config of this name. Error: there is none.
Result<ModelSpec> FindModelByName(std::string_view name);

// The names of all known Configs.
std::vector<std::string_view> KnownModels();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_IDENTIFY_MODEL_H_
