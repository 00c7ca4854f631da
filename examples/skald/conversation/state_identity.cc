// SPDX-License-Identifier: Apache-2.0

#include "conversation/state_identity.h"

#ifdef SKALD_HAS_STORE

#include "conversation/steering.h"
#include "skald/open/saved_conversation.h"

namespace skald::program {

Result<Identity> IdentityOf(const Options& options, const OpenedModel& model, const Sha256Digest& adapter) {
  // State names the type that was asked for; without one, the weights say all.
  SKALD_ASSIGN(auto identity,
               IdentityOfModel(model, options.weight_type.value_or(DType::kBF16), options.tokenizer, adapter));
  SKALD_ASSIGN(identity.weights, DigestOfSteered(identity.weights, options.steering));
  return identity;
}

}  // namespace skald::program

#endif  // SKALD_HAS_STORE
