// SPDX-License-Identifier: Apache-2.0
//
// Loads an adapter for models of one spec. Needs libcrypto, for the digest that state goes by.

#ifndef SKALD_MODEL_LOAD_ADAPTER_H_
#define SKALD_MODEL_LOAD_ADAPTER_H_

#include <filesystem>

#include "skald/base/numbers/digest.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// Returns the digest of all that an adapter adds, whatever file it came from, and of the sizes of its model.
Result<Sha256Digest> DigestOfAdapter(const Adapter& adapter);

/// Returns the LoRA adapter at `path`, for models of `spec`, or for the part of them that `share` has: a folder of
/// Hugging Face's PEFT (adapter_config.json, adapter_model.safetensors) or a GGUF file of llama.cpp. Its products are
/// added where a layer multiplies all rows by a matrix: attention, feed-forward and recurrent projections, routers,
/// shared experts. Errors name the file and the tensor or field: kNotFound, kDataLoss for damaged files; kUnsupported
/// for other kinds of adapters (DoRA, modules to save, biases), for embeddings, output heads and experts;
/// kInvalidArgument for tensors of other sizes than the model's, and for a spec that no model can be.
Result<Adapter> LoadAdapter(const std::filesystem::path& path, const ModelSpec& spec, const RankShare& share = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/load_adapter.h"
#endif

#endif  // SKALD_MODEL_LOAD_ADAPTER_H_
