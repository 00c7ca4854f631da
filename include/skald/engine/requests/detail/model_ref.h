// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/requests/model_ref.h.

#ifndef SKALD_ENGINE_REQUESTS_DETAIL_MODEL_REF_H_
#define SKALD_ENGINE_REQUESTS_DETAIL_MODEL_REF_H_

#include "skald/engine/requests/model_ref.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Result<Outputs> ModelRef::Forward(const Batch& batch, Workspace& workspace,
                                               const ForwardOptions& options) const {
  auto outputs = forward_(model_, batch, workspace, options);
  if (outputs && outputs->stopped()) {
    return Fail(ErrorCode::kFailedPrecondition, "a hook of the model ended a step that others wait for");
  }
  return outputs;
}

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DETAIL_MODEL_REF_H_
