// SPDX-License-Identifier: Apache-2.0
//
// From a Hugging Face checkpoint, a GGUF file or a packed file to ModelWeights, checked against a spec. Everything that a
// file can get wrong is found before the first parameter is packed.

#ifndef SKALD_MODEL_LOAD_H_
#define SKALD_MODEL_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "skald/base/executor.h"
#include "skald/base/no_throw.h"
#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/base/thread_pool.h"
#include "skald/configs/model_config.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/message.h"
#include "skald/weights/random_weights.h"
#include "skald/weights/tensor_names.h"

namespace skald {

struct LoadOptions {
  // Type of matrices in memory: kBF16, kF32 for exact comparison, or a group-quantised type, kQ8_0 at about half and
  // kQ4_0 at about a quarter of bf16's size (base/group_layout.h says what they are, benchmarks/README.md what they
  // cost in quality). F32 and F16 checkpoints lose bits as bf16 (rounded to nearest even, as activations are). What a
  // file holds quantised stays so, exactly, whatever this says. Vectors (norms, biases) are always float.
  DType dtype = DType::kBF16;
  unsigned threads = 1;  // that pack; 1 to kMaxThreads
  // Called from the loading thread every few dozen megabytes, in steps that end at bytes_done ==
  // bytes_total.
  std::function<void(const LoadProgress&)> progress = {};
  // Folder for packed files (packed_cache.h): the first load of a checkpoint writes one there, later loads map it, in
  // milliseconds. It is made if need be; empty for none. A file there takes as much of the disk as the weights do.
  std::filesystem::path cache_folder = {};
};

// Returns the weights of the model that `spec` describes, packed. The checkpoint is not needed afterwards.
// Errors name the tensor, what was expected and what was found.
//
// Tensors of the language model that the spec does not mention are an error; others (a vision
// tower) are left alone. With tied embeddings an output head in the checkpoint is accepted only if
// it is a copy of the embedding.
inline Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const ModelSpec& spec,
                                        const LoadOptions& options = {}) {
  if (options.dtype == DType::kF16) {
    return Fail(ErrorCode::kUnsupported,
                "LoadOptions::dtype: expected any type but kF16, which is a file format only");
  }
  if (options.threads == 0 || options.threads > kMaxThreads) {
    return Fail(ErrorCode::kInvalidArgument,
                "LoadOptions::threads: expected 1 to " + std::to_string(kMaxThreads));
  }
  return NoThrow(checkpoint.path().native(), [&]() -> Result<ModelWeights> {
    ModelWeights weights(spec);
    weights.dtype = options.dtype;
    const ParameterList list = ParametersOf(weights);
    internal::LoadPlan plan(checkpoint, DetectTensorNames(checkpoint));
    for (const Parameter& parameter : list.parameters()) plan.Add(parameter);
    for (const auto& [name, original] : list.copies()) plan.AllowCopy(name, original);
    if (auto complete = plan.Check(); !complete) return Failure(complete.error());
    ThreadPool pool(options.threads);
    plan.Execute(options.dtype, ExecutorRef(pool), options.progress);
    return weights;
  });
}

// The same for the Config C.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return LoadWeights(checkpoint, SpecOf<C>(), options);
}

template <ModelConfig C>
Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const LoadOptions& options = {}) {
  const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  if (!checkpoint) return Failure(checkpoint.error());
  return LoadWeights<C>(*checkpoint, options);
}

// Returns weights of a model that are a function of `seed`; those of other types are the rounded ones of F32.
inline ModelWeights RandomWeights(const ModelSpec& spec, uint64_t seed, DType dtype = DType::kBF16) {
  ModelWeights weights(spec);
  weights.dtype = dtype;
  FillWithRandom(ParametersOf(weights), seed, dtype);
  return weights;
}

template <ModelConfig C>
ModelWeights RandomWeights(uint64_t seed, DType dtype = DType::kBF16) {
  return RandomWeights(SpecOf<C>(), seed, dtype);
}

}  // namespace skald

#endif  // SKALD_MODEL_LOAD_H_
