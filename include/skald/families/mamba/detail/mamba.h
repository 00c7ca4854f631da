// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Mamba and Falcon Mamba. Settings of their configuration
// classes that no published checkpoint uses (other biases, activations, norms) are refused.

#ifndef SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_
#define SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_

#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald::internal {

inline ShortForm ReadMambaOf(const JsonFields& fields, ShortForm a) {
  ReadMambaFields(fields, LayerKind::kMamba, a);
  const nlohmann::json* rank = fields.Find("time_step_rank");
  const bool automatic = rank == nullptr || *rank == nlohmann::json("auto");
  a.mamba = {.inner_dim = fields.Size("intermediate_size", ExpandedSize(fields, "expand", a.model_dim)),
             .state_dim = fields.Size("state_size", 16),
             .time_step_rank = automatic ? (a.model_dim + 15) / 16 : fields.Size("time_step_rank"),
             .conv_width = fields.Size("conv_kernel", 4)};
  fields.Expect("d_inner", a.mamba.inner_dim);
  return a;
}

inline ShortForm ReadMamba(const JsonFields& fields) {
  (void)fields.Object("ssm_cfg");  // of the first publication; nothing in it is read
  return ReadMambaOf(fields, ShortFormOf<MambaFamily>());
}

inline constexpr float kFalconMambaEpsilon = 1e-6f;

inline ShortForm ReadFalconMamba(const JsonFields& fields) {
  ShortForm a = ReadMambaOf(fields, ShortFormOf<FalconMambaFamily>());
  const double epsilon = fields.Positive("mixer_rms_eps", double{kFalconMambaEpsilon});
  a.mamba.selection_norm = RmsNorm{.epsilon = static_cast<float>(epsilon), .weight = false};
  return a;
}

// Reads the layers that the metadata of a GGUF file describe.
inline Mamba ReadGgufMamba(const JsonFields& fields) {
  return {.inner_dim = fields.Size("ssm.inner_size"),
          .state_dim = fields.Size("ssm.state_size"),
          .time_step_rank = fields.Size("ssm.time_step_rank"),
          .conv_width = fields.Size("ssm.conv_kernel")};
}

// One architecture for both. Files do not say the epsilon of Falcon Mamba's inner norms, which is that of all published
// models. (llama.cpp takes the other norms' there.)
inline DescribedModel ReadMambaGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const bool is_falcon = fields.Flag("ssm.dt_b_c_rms", false);
  ShortForm a = is_falcon ? ShortFormOf<FalconMambaFamily>() : ShortFormOf<MambaFamily>();
  ReadGgufMixers(fields, facts, LayerKind::kMamba, a);
  a.mamba = ReadGgufMamba(fields);
  if (is_falcon) a.mamba.selection_norm = RmsNorm{.epsilon = kFalconMambaEpsilon, .weight = false};
  return {a.model_type, Expand(a)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_
