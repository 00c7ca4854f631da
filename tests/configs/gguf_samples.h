// SPDX-License-Identifier: Apache-2.0
//
// GGUF metadata of small models of every architecture, in the form that llama.cpp's converters write: those of
// tests/golden/data (gguf.json), and those of tests/configs/gguf for architectures that have none there, or more than
// one form.

#ifndef SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_
#define SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/readers/detail/model_fields.h"
#include "tests/support/golden_folders.h"
#include "tests/support/test_data.h"

namespace skald::testing {

struct GgufSample {
  std::string architecture;
  nlohmann::json metadata;
  GgufTensorFacts facts = {.vocab_size = 100, .has_head = true};
};

inline GgufSample ReadGgufSample(const std::filesystem::path& path) {
  std::ifstream stream(path);
  const nlohmann::json file = nlohmann::json::parse(stream);
  GgufSample sample = {file["metadata"]["general.architecture"], file["metadata"]};
  sample.facts.value_projections = file.value("value_projections", sample.facts.value_projections);
  sample.facts.laurel_rank = file.value("laurel_rank", sample.facts.laurel_rank);
  for (const nlohmann::json& layer : file.value("expert_layers", nlohmann::json::array())) {
    sample.facts.expert_layers.insert(layer.get<uint32_t>());
  }
  return sample;
}

inline std::vector<GgufSample> GgufSamplesIn(const std::string& room) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(RepositoryPath("tests/configs/gguf/" + room))) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<GgufSample> samples;
  for (const std::filesystem::path& path : paths) samples.push_back(ReadGgufSample(path));
  return samples;
}

// One or more for each architecture of decoders that Skald reads.
inline std::vector<GgufSample> GgufSamples() {
  std::vector<GgufSample> samples = GgufSamplesIn("attention");
  for (const GgufSample& sample : GgufSamplesIn("recurrent")) samples.push_back(sample);
  for (const std::string& folder : GoldenFolders()) {
    const auto path = GoldenPath(folder + "/gguf.json");
    if (std::filesystem::exists(path)) samples.push_back(ReadGgufSample(path));
  }
  return samples;
}

// The first one of an architecture.
inline GgufSample GgufSampleOf(const std::string& architecture) {
  const std::vector<GgufSample> samples = GgufSamples();
  const auto found = std::ranges::find(samples, architecture, &GgufSample::architecture);
  REQUIRE(found != samples.end());
  return *found;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_
