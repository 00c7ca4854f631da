// SPDX-License-Identifier: Apache-2.0

#include "conversation/state_identity.h"

#ifdef SKALD_HAS_STORE

#include <filesystem>
#include <system_error>

#include "skald/store/snapshots/cached_digest.h"
#include "skald/tokenizers/tokenizer_file.h"

namespace skald::program {

Result<Identity> IdentityOf(const Options& options, const OpenedModel& model, const Sha256Digest& adapter) {
  Identity identity = {.adapter = adapter};
  identity.weight_type = options.weight_type.value_or(DType::kBF16);
  SKALD_ASSIGN(const auto weights, CachedDigestOfWeights(model.path()));
  identity.weights = weights;
  // That of a GGUF or packed file is among its weights.
  std::error_code ignored;
  const bool is_file = options.tokenizer && !std::filesystem::is_directory(*options.tokenizer, ignored);
  const auto tokenizer = is_file ? *options.tokenizer : TokenizerFileIn(options.tokenizer.value_or(model.folder()));
  if (tokenizer) {
    SKALD_ASSIGN(const auto digest, DigestOfFile(*tokenizer));
    identity.tokenizer = digest;
  }
  return identity;
}

}  // namespace skald::program

#endif  // SKALD_HAS_STORE
