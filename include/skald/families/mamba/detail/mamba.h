// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of Mamba. Settings of its configuration class that no published checkpoint uses (other biases,
// activations, norms) are refused.

#ifndef SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_
#define SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_

#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/readers/detail/mamba_fields.h"

namespace skald::internal {

inline ShortForm ReadMamba(const JsonFields& fields) {
  ShortForm a = ShortFormOf<MambaFamily>();
  ReadMambaFields(fields, LayerKind::kMamba, a);
  const nlohmann::json* rank = fields.Find("time_step_rank");
  const bool automatic = rank == nullptr || *rank == nlohmann::json("auto");
  a.mamba = {.inner_dim = fields.Size("intermediate_size", ExpandedSize(fields, "expand", a.model_dim)),
             .state_dim = fields.Size("state_size", 16),
             .time_step_rank = automatic ? (a.model_dim + 15) / 16 : fields.Size("time_step_rank"),
             .conv_width = fields.Size("conv_kernel", 4)};
  fields.Expect("d_inner", a.mamba.inner_dim);
  (void)fields.Object("ssm_cfg");  // of the first publication; nothing in it is read
  return a;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MAMBA_DETAIL_MAMBA_H_
