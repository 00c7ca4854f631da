// SPDX-License-Identifier: Apache-2.0
//
// Writes a source file with the Config that ConfigText gives for each reference checkpoint, and for a model that has no
// short form. The file asserts that each Config equals the model that it was made from, and that no check refuses it.
//   config_texts FOLDER_OF_CHECKPOINTS > texts.cc

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "skald/families/config/config_text.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config_json.h"
#include "skald/families/gemma2/gemma2.h"

namespace {

using namespace skald;  // NOLINT: a program of one file

template <class T>
T OrExit(Result<T> result, std::string_view what) {
  if (result) return std::move(*result);
  std::cerr << what << ": " << result.error().message << '\n';
  std::exit(1);
}

void Write(const DescribedModel& model, const std::string& name) {
  const std::string type = internal::StructName(name);
  std::cout << OrExit(ConfigText(model, name), name) << "static_assert(skald::CheckConfig<" << type << ">());\n"
            << "static_assert(skald::Fingerprint(skald::SpecOf<" << type << ">()) == " << Fingerprint(model.spec)
            << "u);\n";
}

// A short form with a norm and feed-forward layers of other types than usual.
ModelSpec OtherTypes() {
  ShortForm form = ShortFormOf<Gemma2_2B>();
  form.layers.resize(4);
  form.norm = LayerNorm{.epsilon = 1e-6f, .bias = false};
  form.feed_forward_dim = 0;
  form.feed_forward = FeedForward{.width = 100, .activation = Activation::kReluSquared, .bias = true};
  return Expand(form);
}

// Blocks of different sizes, one with two layers side by side, and parameters under names of their own.
ModelSpec Irregular() {
  ModelSpec spec = {.model_dim = 48, .vocab_size = 99, .embedding_scale = EmbeddingScale::kSqrt, .final_softcap = 7.5f};
  const Attention attention = {.heads = 4,
                               .kv_heads = 2,
                               .head_dim = 12,
                               .rotary_dim = 6,
                               .window = 5,
                               .rope = {.base = 1e6, .scaling = RopeScaling::kLinear, .factor = 2.5},
                               .query_pre_scale = 12.0,
                               .output_bias = true,
                               .head_norm = RmsNorm{.epsilon = 1e-7f}};
  const Mamba2 mamba2 = {
      .heads = 4, .head_dim = 8, .state_dim = 3, .groups = 2, .conv_width = 4, .time_step_max = 0.1f};
  spec.blocks.push_back({.layers = {attention, mamba2}, .post_norm = RmsNorm{.unit_offset = true}});
  spec.blocks.push_back({.norm_name = "a_norm", .layers = {GatedFeedForward{.width = 20, .bias = true}}});
  spec.blocks.push_back({.number = 1, .layers = {RgLru{.width = 48, .blocks = 4, .conv_width = 3}}});
  spec.blocks.push_back({.number = 1,
                         .layers = {GatedFeedForward{.width = 28, .activation = Activation::kGeluErf}},
                         .post_norm = LayerNorm{},
                         .post_norm_name = "b_norm"});
  return spec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (std::filesystem::exists(entry.path() / "config.json")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  for (const std::filesystem::path& folder : folders) {
    std::ifstream file(folder / "config.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Write(OrExit(ParseConfigJson(text), folder.string()), folder.filename().string());
  }
  Write({"", OtherTypes()}, "other types");
  Write({"", Irregular()}, "2 irregular \"blocks\"");
  return folders.empty() ? 1 : 0;
}
