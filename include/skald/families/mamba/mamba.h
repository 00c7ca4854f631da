// SPDX-License-Identifier: Apache-2.0
//
// The Mamba family (arXiv:2312.00752): every layer is a selective state space, without attention and without
// feed-forward blocks; and Falcon Mamba (arXiv:2410.05355), which normalises what is selected. The numbers of each size
// are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_MAMBA_MAMBA_H_
#define SKALD_FAMILIES_MAMBA_MAMBA_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct MambaFamily {
  static constexpr std::string_view kModelType = "mamba";
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr int kConvWidth = 4, kStateDim = 16;
  static constexpr bool kTiedEmbeddings = true;
};

/// Mamba with norms, which have no weights, of the time step's bottleneck, B and C.
struct FalconMambaFamily : MambaFamily {
  static constexpr std::string_view kModelType = "falcon_mamba";
};

/// https://huggingface.co/state-spaces/mamba-130m-hf
struct Mamba_130M : MambaFamily {
  static constexpr std::string_view kName = "mamba-130m";
  static constexpr int kModelDim = 768, kInnerDim = 1536, kTimeStepRank = 48, kVocabSize = 50280;
  static constexpr auto kLayers = RepeatLayers<24>({LayerKind::kMamba});
};

/// https://huggingface.co/state-spaces/mamba-370m-hf
struct Mamba_370M : MambaFamily {
  static constexpr std::string_view kName = "mamba-370m";
  static constexpr int kModelDim = 1024, kInnerDim = 2048, kTimeStepRank = 64, kVocabSize = 50280;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba});
};

/// https://huggingface.co/state-spaces/mamba-790m-hf
struct Mamba_790M : MambaFamily {
  static constexpr std::string_view kName = "mamba-790m";
  static constexpr int kModelDim = 1536, kInnerDim = 3072, kTimeStepRank = 96, kVocabSize = 50280;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba});
};

/// https://huggingface.co/state-spaces/mamba-1.4b-hf
struct Mamba_1_4B : MambaFamily {
  static constexpr std::string_view kName = "mamba-1.4b";
  static constexpr int kModelDim = 2048, kInnerDim = 4096, kTimeStepRank = 128, kVocabSize = 50280;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kMamba});
};

/// https://huggingface.co/state-spaces/mamba-2.8b-hf
struct Mamba_2_8B : MambaFamily {
  static constexpr std::string_view kName = "mamba-2.8b";
  static constexpr int kModelDim = 2560, kInnerDim = 5120, kTimeStepRank = 160, kVocabSize = 50280;
  static constexpr auto kLayers = RepeatLayers<64>({LayerKind::kMamba});
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MAMBA_MAMBA_H_
