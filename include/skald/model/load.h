// SPDX-License-Identifier: Apache-2.0
//
// From a Hugging Face checkpoint, a GGUF file or a packed file to ModelWeights, checked against a spec. Everything that
// a file can get wrong is found before the first parameter is packed.

#ifndef SKALD_MODEL_LOAD_H_
#define SKALD_MODEL_LOAD_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/families/config/model_config.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/load_options.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/planned_matrix.h"

namespace skald {

namespace internal {

/// Refuses what a Config of these sizes would not compile with, in the same words.
Result<void> CheckSpec(const ModelSpec& spec, const RankShare& share = {});

ModelWeights MakeRandom(const ModelSpec& spec, uint64_t seed, DType dtype, unsigned threads,
                        const RankShare& share = {});

/// Refuses a type for matrices of floats that the program has no packer for.
Result<void> CheckLoadOptions(const LoadOptions& options, std::span<const WeightPacker> packers);

}  // namespace internal

/// Returns the weights of the model that `spec` describes, packed by `packers`. The checkpoint is not needed
/// afterwards. Errors name the tensor, what was expected and what was found; kInvalidArgument for a spec that no model
/// can be, kUnsupported for types that no packer is for.
///
/// Tensors of the language model that the spec does not mention are an error; others (a vision
/// tower) are left alone. With tied embeddings an output head in the checkpoint is accepted only if
/// it is a copy of the embedding.
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const ModelSpec& spec, const LoadOptions& options = {},
                                 std::span<const WeightPacker> packers = WeightPackersOf<AllWeights>());

/// Returns the tensors of a checkpoint that LoadWeights leaves alone: those of a vision tower or of layers that predict
/// further tokens. Errors: those of LoadWeights, but for reading.
Result<std::vector<const TensorView*>> TensorsLeftOut(const Checkpoint& checkpoint, const ModelSpec& spec);

/// Returns how the matrices of a checkpoint are kept in memory where those of floats are loaded as `dtype`, in the
/// order of packed files. Errors: those of LoadWeights, but for reading.
Result<std::vector<PlannedMatrix>> MatricesOf(const Checkpoint& checkpoint, const ModelSpec& spec, DType dtype);

/// LoadWeights from a folder or file, as Checkpoint::Open takes it; or from a packed file, which is mapped, checked as
/// LoadOptions::packed_check says, and must have been packed with the same LoadOptions::dtype. `name` is the model's,
/// for people.
///
/// The spec must be the one that the metadata beside the weights give, that is config.json in the same folder or the
/// metadata of a GGUF file: kInvalidArgument with the facts that differ, and the errors of their readers. They are not
/// compared if there is no config.json, if it or a GGUF file is of a family that Skald has no reader for (as with
/// layers of your own), or if a GGUF file lacks a value that its reader needs. To load a model with a changed number,
/// call the LoadWeights above, which takes tensors alone.
Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const ModelSpec& spec, std::string_view name,
                                 const LoadOptions& options = {},
                                 std::span<const WeightPacker> packers = WeightPackersOf<AllWeights>());

/// The same of a model that is open already: a GGUF or packed file is not opened again, but for a packed file that
/// LoadOptions want copied into memory.
Result<ModelWeights> LoadWeights(const OpenedModel& model, const ModelSpec& spec, std::string_view name,
                                 const LoadOptions& options = {},
                                 std::span<const WeightPacker> packers = WeightPackersOf<AllWeights>());

/// The same for the Config C.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return NoThrow(PathText(checkpoint.path()),
                 [&] { return LoadWeights(checkpoint, SpecOf<C>(), options, WeightPackersOf<WeightTypesOf<C>>()); });
}
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return NoThrow(PathText(path), [&] {
    return LoadWeights(path, SpecOf<C>(), C::kName, options, WeightPackersOf<WeightTypesOf<C>>());
  });
}

/// Returns weights of a model that are a function of `seed`; those of other types are the rounded ones of F32. They are
/// made on `threads` threads. Of one rank's share they are its part of those. Errors: kInvalidArgument for a spec that
/// no model can be, kResourceExhausted.
Result<ModelWeights> RandomWeights(const ModelSpec& spec, uint64_t seed, DType dtype = DType::kBF16,
                                   unsigned threads = 1, const RankShare& share = {});

/// The same for the Config C, which was checked when it was compiled.
template <ModelConfig C>
ModelWeights RandomWeights(uint64_t seed, DType dtype = DType::kBF16) {
  return internal::MakeRandom(SpecOf<C>(), seed, dtype, /*threads=*/1);
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/load.h"
#endif

#endif  // SKALD_MODEL_LOAD_H_
