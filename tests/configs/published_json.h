// SPDX-License-Identifier: Apache-2.0
//
// The files of tests/configs/published, in the rooms of configs/families: what the published config.json files say
// about the architecture, in the spelling of the version of transformers that wrote each. Some leave out the head size,
// some the RoPE base, Gemma names its activation in three ways, and multimodal Gemma 3 leaves out all defaults. Fields
// of other kinds are left out. granite-4.0-1b says what the metadata of its GGUF file say; rwkv7-0.1b and rwkv7-2.9b
// are written down from the numbers of the paper (configs/families/recurrent/rwkv7.h). Those in "described" are of
// families without a Config, or of other sizes. Their numbers of parameters are compared with those of the models
// (parameter_count_test.cc), as few are copies: most are put together from sizes that other projects, papers and model
// cards quote, and the defaults of transformers 5.24. Where no source quotes a number, it was chosen so that the count
// is right, and nothing else holds it. minimax-text-01-456b has the fields of MiniMax-M1, which was trained from it;
// phi-3.5-moe's factors of LongRoPE are 1; command-r-plus-08-2024 has the RoPE base of the first Command R, as no
// source quotes its own; of plamo2-8b llama.cpp shows the width of the feed-forward layers, and the bytes of two files
// the rest; of ling-plus sources quote the layers, the experts and the size of heads, ling-lite's head_dim is that of
// Ling-lite-base; of smallthinker-21b the layers without RoPE are taken from the pattern of the paper, one of four.

#ifndef SKALD_TESTS_CONFIGS_PUBLISHED_JSON_H_
#define SKALD_TESTS_CONFIGS_PUBLISHED_JSON_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace skald::testing {

struct PublishedJson {
  std::string config;  // the file's name: the kName of its Config, if it has one
  std::string text;    // without the end of its last line
  bool has_config = true;
};

// Returns all of them in the order of their names.
inline std::vector<PublishedJson> ReadPublishedJson() {
  std::vector<PublishedJson> found;
  const std::filesystem::path folder = std::filesystem::path(SKALD_REPOSITORY) / "tests/configs/published";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.erase(text.find_last_not_of('\n') + 1);
    const bool has_config = entry.path().parent_path().filename() != "described";
    found.push_back({entry.path().stem().string(), std::move(text), has_config});
  }
  std::ranges::sort(found, {}, &PublishedJson::config);
  return found;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONFIGS_PUBLISHED_JSON_H_
