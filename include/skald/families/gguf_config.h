// SPDX-License-Identifier: Apache-2.0
//
// Reads what the metadata and the tensors of a GGUF file say of its model.

#ifndef SKALD_FAMILIES_GGUF_CONFIG_H_
#define SKALD_FAMILIES_GGUF_CONFIG_H_

#include <span>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/families/config/described_model.h"
#include "skald/weights/files/gguf.h"

namespace skald {

/// Returns the models that the one in `file` can be, the likeliest first. Errors: kDataLoss
/// when a value of its metadata cannot be right, kNotFound when one is missing, and kUnsupported for an architecture or
/// value that is none that Skald runs. The sentence names the value.
Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file);

/// Metadata of another architecture, whose names mean what those of one that is read mean.
struct GgufAlias {
  std::string_view name;                        ///< of the architecture, as the file has it
  std::string_view meant;                       ///< the one that is read
  std::span<const std::string_view> own_names;  ///< of values that the caller reads, after the architecture's
  int vocab_size = 0;                           ///< where the file has no embedding
};

/// The same of a file whose metadata are named so, which may be a part of a model without embedding and head.
Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file, const GgufAlias& alias);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/gguf_config.h"
#endif

#endif  // SKALD_FAMILIES_GGUF_CONFIG_H_
