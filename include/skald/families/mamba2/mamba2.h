// SPDX-License-Identifier: Apache-2.0
//
// The Mamba-2 family (arXiv:2405.21060): every layer is a state space whose heads share one decay each, without
// attention and without feed-forward blocks. Its authors publish the sizes in a config.json of their own, on the page
// named above each ("d_model", "n_layer"); what that leaves out are the defaults of Mamba2 in
// https://github.com/state-spaces/mamba: a state of 128, heads of 64, twice as many channels as the model is wide.
// There the vocabulary of 50277 is rounded up to a multiple of 16.

#ifndef SKALD_FAMILIES_MAMBA2_MAMBA2_H_
#define SKALD_FAMILIES_MAMBA2_MAMBA2_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Mamba2Family {
  static constexpr std::string_view kModelType = "mamba2";
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr int kConvWidth = 4;
};

/// Common to the published sizes.
struct PublishedMamba2 : Mamba2Family {
  static constexpr int kVocabSize = 50288;
  static constexpr int kSsmHeadDim = 64, kStateDim = 128, kSsmGroups = 1;
  static constexpr bool kTiedEmbeddings = true;
};

/// https://huggingface.co/state-spaces/mamba2-130m
struct Mamba2_130M : PublishedMamba2 {
  static constexpr std::string_view kName = "mamba2-130m";
  static constexpr int kModelDim = 768, kSsmHeads = 24;
  static constexpr auto kLayers = RepeatLayers<24>({LayerKind::kMamba2});
};

/// https://huggingface.co/state-spaces/mamba2-370m
struct Mamba2_370M : PublishedMamba2 {
  static constexpr std::string_view kName = "mamba2-370m";
  static constexpr int kModelDim = 1024, kSsmHeads = 32;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba2});
};

/// https://huggingface.co/state-spaces/mamba2-780m
struct Mamba2_780M : PublishedMamba2 {
  static constexpr std::string_view kName = "mamba2-780m";
  static constexpr int kModelDim = 1536, kSsmHeads = 48;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba2});
};

/// https://huggingface.co/state-spaces/mamba2-1.3b
struct Mamba2_1_3B : PublishedMamba2 {
  static constexpr std::string_view kName = "mamba2-1.3b";
  static constexpr int kModelDim = 2048, kSsmHeads = 64;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba2});
};

/// https://huggingface.co/state-spaces/mamba2-2.7b
struct Mamba2_2_7B : PublishedMamba2 {
  static constexpr std::string_view kName = "mamba2-2.7b";
  static constexpr int kModelDim = 2560, kSsmHeads = 80;
  static constexpr auto kLayers = RepeatLayers<64>({LayerKind::kMamba2});
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MAMBA2_MAMBA2_H_
