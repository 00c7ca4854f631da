// SPDX-License-Identifier: Apache-2.0
//
// Reads what the metadata and the tensors of a GGUF file say of its model.

#ifndef SKALD_FAMILIES_GGUF_CONFIG_H_
#define SKALD_FAMILIES_GGUF_CONFIG_H_

#include <vector>

#include "skald/base/result.h"
#include "skald/families/config/described_model.h"
#include "skald/weights/files/gguf.h"

namespace skald {

/// Returns the models that the one in `file` can be, the likeliest first. Errors: kDataLoss
/// when a value of its metadata cannot be right, kNotFound when one is missing, and kUnsupported for an architecture or
/// value that is none that Skald runs. The sentence names the value.
Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/gguf_config.h"
#endif

#endif  // SKALD_FAMILIES_GGUF_CONFIG_H_
