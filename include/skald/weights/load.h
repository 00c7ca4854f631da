// SPDX-License-Identifier: Apache-2.0
//
// From a Hugging Face checkpoint, a GGUF file or a packed file to ModelWeights, checked against a Config. Everything
// that a file can get wrong is found before the first parameter is packed. Only reading the Config's facts
// (weight_shapes.h) is a template; the rest compiles once.

#ifndef SKALD_WEIGHTS_LOAD_H_
#define SKALD_WEIGHTS_LOAD_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "skald/base/executor.h"
#include "skald/base/float_environment.h"
#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/base/thread_pool.h"
#include "skald/configs/model_config.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/load_options.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/packed_cache.h"
#include "skald/weights/packed_check.h"
#include "skald/weights/packed_file.h"
#include "skald/weights/plan_layer.h"
#include "skald/weights/tensor_names.h"
#include "skald/weights/weight_shapes.h"

namespace skald {

namespace internal {

// Plans every tensor and checks that they are there, fit, and are all there are.
inline Result<void> PlanModel(const WeightShapes& shapes, const TensorNames& names, LoadPlan& plan,
                              ModelWeights& weights) {
  const size_t vocab = shapes.vocab_size, model = shapes.model_dim;
  plan.AddMatrix(weights.embedding, model, {{names.Embedding(), vocab}});
  weights.layers.resize(shapes.layers.size());
  for (size_t i = 0; i < shapes.layers.size(); ++i) PlanLayer(shapes, names, i, plan, weights.layers[i]);
  plan.AddVector(weights.final_norm, {{names.FinalNorm(), model}}, NormOffset(shapes, names));
  if (shapes.tied_embeddings) {
    plan.AllowCopy(names.Head(), names.Embedding());
  } else {
    plan.AddMatrix(weights.head.emplace(), model, {{names.Head(), vocab}});
  }
  return plan.Check(names);
}

}  // namespace internal

// Returns the weights that `shapes` describes, packed. The checkpoint is not needed afterwards.
// Errors name the tensor, what was expected and what was found.
//
// Tensors of the language model that `shapes` does not mention are an error; others (a vision
// tower) are left alone. With tied embeddings an output head in the checkpoint is accepted only if
// it is a copy of the embedding.
inline Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const WeightShapes& shapes,
                                        const LoadOptions& options = {}) {
  return NoThrow(checkpoint.path().native(), [&]() -> Result<ModelWeights> {
    if (auto valid = internal::CheckLoadOptions(options); !valid) return Failure(std::move(valid.error()));
    const FloatEnvironment plain(Denormals::kKept);  // the threads that pack inherit it
    ModelWeights weights;
    weights.dtype = options.dtype;
    internal::LoadPlan plan(checkpoint);
    Result<void> planned =
        internal::PlanModel(shapes, DetectTensorNames(checkpoint), plan, weights);
    if (!planned) return Failure(std::move(planned.error()));
    ThreadPool pool(options.threads);
    plan.Execute(options.dtype, ExecutorRef(pool), options.progress);
    return weights;
  });
}

// The same for the Config C.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return NoThrow(checkpoint.path().native(), [&] { return LoadWeights(checkpoint, WeightShapesOf<C>(), options); });
}

namespace internal {

// LoadWeights of a packed file.
inline Result<ModelWeights> LoadPacked(const std::filesystem::path& path, const WeightShapes& shapes,
                                       const LoadOptions& options) {
  if (auto valid = CheckLoadOptions(options); !valid) return Failure(std::move(valid.error()));
  const auto file = PackedFile::Open(path, UseOfPacked(options));
  if (!file) return Failure(file.error());
  if ((*file)->table().dtype != options.dtype) {
    return Fail(ErrorCode::kInvalidArgument, Concat({path.string(), ": packed as ", NameOf((*file)->table().dtype),
                                                     ", but LoadOptions::dtype is ", NameOf(options.dtype)}));
  }
  auto weights = MapWeights(*file, shapes);
  if (!weights) return weights;
  if (auto whole = CheckPackedWeights(**file, options); !whole) return Failure(std::move(whole.error()));
  return weights;
}

// LoadWeights of any path.
inline Result<ModelWeights> LoadPath(const CachedCheckpoint& source, const LoadOptions& options) {
  const auto load = [&]() -> Result<ModelWeights> {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(source.path);
    if (!checkpoint) return Failure(checkpoint.error());
    return LoadWeights(*checkpoint, source.shapes, options);
  };
  if (PackedFile::Recognises(source.path)) return LoadPacked(source.path, source.shapes, options);
  return options.cache_folder.empty() ? load() : LoadThroughCache(source, options, load);
}

}  // namespace internal

// The same from a folder or file, as Checkpoint::Open takes it; or from a packed file, which is mapped, checked as
// LoadOptions::packed_check says, and must have been packed with the same LoadOptions::dtype.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const std::filesystem::path& path,
                                 const LoadOptions& options = {}) {
  return NoThrow(path.native(), [&] { return internal::LoadPath({path, WeightShapesOf<C>(), C::kName}, options); });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_LOAD_H_
