// SPDX-License-Identifier: Apache-2.0
//
// From a Hugging Face checkpoint, a GGUF file or a packed file to ModelWeights, checked against a spec. Everything that
// a file can get wrong is found before the first parameter is packed.

#ifndef SKALD_MODEL_LOAD_H_
#define SKALD_MODEL_LOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/configs/form/model_config.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load_check.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/load_options.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/packed_files/packed_cache.h"
#include "skald/weights/packed_files/packed_check.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/parameters.h"
#include "skald/weights/random_weights.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

// Refuses what a Config of these sizes would not compile with, in the same words.
inline Result<void> CheckSpec(const ModelSpec& spec, const RankShare& share = {}) {
  if (const char* const why = WhyImpossible(spec)) return Fail(ErrorCode::kInvalidArgument, why);
  if (const char* const why = WhyNotForRanks(spec, share)) return Fail(ErrorCode::kUnsupported, why);
  return {};
}

inline ModelWeights MakeRandom(const ModelSpec& spec, uint64_t seed, DType dtype, unsigned threads,
                               const RankShare& share = {}) {
  const FloatEnvironment plain(Denormals::kKept);  // layers compute what their parameters lie around
  ModelWeights weights(spec, share);
  weights.dtype = dtype;
  ThreadPool pool(threads);
  FillWithRandom(ParametersOf(weights), seed, dtype, ExecutorRef(pool));
  return weights;
}

// Refuses a type for matrices of floats that the program has no packer for.
inline Result<void> CheckLoadOptions(const LoadOptions& options, std::span<const WeightPacker> packers) {
  if (auto valid = CheckLoadOptions(options); !valid) return valid;
  if (FindType(packers, options.dtype) != nullptr) return {};
  return Fail(ErrorCode::kUnsupported, Concat({"LoadOptions::dtype is ", NameOf(options.dtype),
                                               ", which is not among the WeightTypes of the Config"}));
}

// Refuses matrices of other types than those that the program can compute with.
inline Result<void> CheckTypes(const std::filesystem::path& path, const ParameterList& list,
                               std::span<const WeightPacker> packers) {
  const std::optional<DType> unknown = FindTypeOutside(packers, list);
  if (!unknown) return {};
  return Fail(ErrorCode::kUnsupported, Concat({path.string(), ": has weights of the type ", NameOf(*unknown),
                                               ", which is not among the WeightTypes of the Config"}));
}

// Tells a plan of all that `list` refers to.
inline void AddAll(const ParameterList& list, LoadPlan& plan) {
  for (const Parameter& parameter : list.parameters()) plan.Add(parameter);
  for (const auto& [name, original] : list.copies()) plan.AllowCopy(name, original);
  for (const auto& [layer, name] : list.unused()) plan.AllowUnused(layer, name);
}

// Weights that converters to GGUF change.
struct ChangedWeights {
  std::string_view architecture;
  Assumption against;
  std::string_view change;
};
inline constexpr ChangedWeights kChangedWeights[] = {
    {"falcon-h1", Assumption::kNotMultiplied, "weights that the multipliers have gone into"},
    {"qwen35", Assumption::kHeadsInGroups, "value heads in another order"},
    {"qwen35moe", Assumption::kHeadsInGroups, "value heads in another order"}};

// Refuses files whose weights would fit a model, and mean something else there.
inline Result<void> CheckAssumptions(const Checkpoint& checkpoint, const ParameterList& list) {
  if (checkpoint.gguf() == nullptr) return {};
  const nlohmann::json& values = checkpoint.gguf()->metadata().values;
  const auto found = values.find("general.architecture");
  if (found == values.end()) return {};
  for (const auto& [architecture, against, change] : kChangedWeights) {
    const bool assumes = std::ranges::find(list.assumptions(), against) != list.assumptions().end();
    if (!assumes || *found != nlohmann::json(architecture)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({checkpoint.path().string(), ": GGUF files of ", architecture, " have ", change,
                        ", for which the model would have to be another Config, as LoadAnyModel finds it"}));
  }
  return {};
}

// Fills what `list` refers to, and nothing where a tensor is missing or does not fit.
inline Result<void> FillFrom(const Checkpoint& checkpoint, const ParameterList& list, const LoadOptions& options,
                             std::span<const WeightPacker> packers) {
  if (auto fits = CheckAssumptions(checkpoint, list); !fits) return fits;
  LoadPlan plan(checkpoint, DetectTensorNames(checkpoint), options.dtype, packers, list.share());
  AddAll(list, plan);
  if (auto complete = plan.Check(); !complete) return complete;
  const FloatEnvironment plain(Denormals::kKept);  // the threads that pack inherit it
  ThreadPool pool(options.threads);
  plan.Execute(ExecutorRef(pool), options.progress);
  return {};
}

inline Result<void> FillFromPacked(const std::filesystem::path& path, const ParameterList& list, uint64_t model,
                                   const LoadOptions& options) {
  const auto file = PackedFile::Open(path, UseOfPacked(options));
  if (!file) return Failure(file.error());
  if ((*file)->table().dtype != options.dtype) {
    return Fail(ErrorCode::kInvalidArgument, Concat({path.string(), ": packed as ", NameOf((*file)->table().dtype),
                                                     ", but LoadOptions::dtype is ", NameOf(options.dtype)}));
  }
  return TakeWeights(*file, list, model, options);
}

}  // namespace internal

// Returns the weights of the model that `spec` describes, packed by `packers`. The checkpoint is not needed afterwards.
// Errors name the tensor, what was expected and what was found; kInvalidArgument for a spec that no model can be,
// kUnsupported for types that no packer is for.
//
// Tensors of the language model that the spec does not mention are an error; others (a vision
// tower) are left alone. With tied embeddings an output head in the checkpoint is accepted only if
// it is a copy of the embedding.
inline Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const ModelSpec& spec,
                                        const LoadOptions& options = {},
                                        std::span<const WeightPacker> packers = WeightPackersOf<AllWeights>()) {
  return NoThrow(checkpoint.path().native(), [&]() -> Result<ModelWeights> {
    if (auto valid = internal::CheckLoadOptions(options, packers); !valid) return Failure(valid.error());
    if (auto possible = internal::CheckSpec(spec, options.share); !possible) return Failure(possible.error());
    ModelWeights weights(spec, options.share);
    weights.dtype = options.dtype;
    if (auto loaded = internal::FillFrom(checkpoint, ParametersOf(weights), options, packers); !loaded) {
      return Failure(loaded.error());
    }
    return weights;
  });
}

namespace internal {

// Returns what `ask(plan)` does of a plan to load the whole model, which is complete. Reads no parameter.
template <class Ask>
auto AskPlan(const Checkpoint& checkpoint, const ModelSpec& spec, DType dtype, Ask ask)
    -> Result<decltype(ask(std::declval<const LoadPlan&>()))> {
  if (auto possible = CheckSpec(spec); !possible) return Failure(possible.error());
  ModelWeights weights(spec);
  const ParameterList list = ParametersOf(weights);
  LoadPlan plan(checkpoint, DetectTensorNames(checkpoint), dtype, WeightPackersOf<AllWeights>());
  AddAll(list, plan);
  if (auto complete = plan.Check(); !complete) return Failure(complete.error());
  return ask(std::as_const(plan));
}

}  // namespace internal

// Returns the tensors of a checkpoint that LoadWeights leaves alone: those of a vision tower or of layers that predict
// further tokens. Errors: those of LoadWeights, but for reading.
inline Result<std::vector<const TensorView*>> TensorsLeftOut(const Checkpoint& checkpoint, const ModelSpec& spec) {
  return NoThrow(checkpoint.path().native(), [&] {
    return internal::AskPlan(checkpoint, spec, DType::kBF16, [](const auto& plan) { return plan.LeftOut(); });
  });
}

// Returns the types that the matrices of a checkpoint have in memory where those of floats are loaded as `dtype`, in
// the order of packed files. Errors: those of LoadWeights, but for reading.
inline Result<std::vector<DType>> TypesOfMatrices(const Checkpoint& checkpoint, const ModelSpec& spec, DType dtype) {
  return NoThrow(checkpoint.path().native(), [&] {
    return internal::AskPlan(checkpoint, spec, dtype, [](const auto& plan) { return plan.Types(); });
  });
}

// LoadWeights from a folder or file, as Checkpoint::Open takes it; or from a packed file, which is mapped, checked as
// LoadOptions::packed_check says, and must have been packed with the same LoadOptions::dtype. `name` is the model's,
// for people.
//
// The spec must be the one that the metadata beside the weights give, that is config.json in the same folder or the
// metadata of a GGUF file: kInvalidArgument with the facts that differ, and the errors of their readers. They are not
// compared where there is no config.json, where it or a GGUF file is of a family that Skald has no reader for (as with
// layers of your own), and where a GGUF file lacks a value that its reader needs. Whoever means to change a number of a
// model calls the LoadWeights above, which is given tensors alone.
inline Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const ModelSpec& spec, std::string_view name,
                                        const LoadOptions& options = {},
                                        std::span<const WeightPacker> packers = WeightPackersOf<AllWeights>()) {
  return NoThrow(path.native(), [&]() -> Result<ModelWeights> {
    if (auto valid = internal::CheckLoadOptions(options, packers); !valid) return Failure(valid.error());
    if (auto possible = internal::CheckSpec(spec, options.share); !possible) return Failure(possible.error());
    ModelWeights weights(spec, options.share);
    weights.dtype = options.dtype;
    const ParameterList list = ParametersOf(weights);
    const auto load = [&]() -> Result<void> {
      const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
      if (!checkpoint) return Failure(checkpoint.error());
      if (auto fits = internal::CheckAssumptions(*checkpoint, list); !fits) return fits;
      if (const GgufFile* const file = checkpoint->gguf()) {
        if (auto same = internal::CheckGgufMetadata(path.string(), *file, spec); !same) return same;
      }
      return internal::FillFrom(*checkpoint, list, options, packers);
    };
    const bool is_packed = PackedFile::Recognises(path);
    if (!is_packed && !IsGgufFile(path)) {
      if (auto same = internal::CheckConfigJson(path, spec); !same) return Failure(same.error());
    }
    const auto loaded = is_packed ? internal::FillFromPacked(path, list, Fingerprint(spec), options)
                        : options.cache_folder.empty()
                            ? load()
                            : LoadThroughCache({path, name, Fingerprint(spec)}, list, options, load);
    if (!loaded) return Failure(loaded.error());
    if (auto known = internal::CheckTypes(path, list, packers); !known) return Failure(known.error());
    return weights;
  });
}

// The same for the Config C.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return NoThrow(checkpoint.path().native(),
                 [&] { return LoadWeights(checkpoint, SpecOf<C>(), options, WeightPackersOf<WeightTypesOf<C>>()); });
}
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return NoThrow(path.native(), [&] {
    return LoadWeights(path, SpecOf<C>(), C::kName, options, WeightPackersOf<WeightTypesOf<C>>());
  });
}

// Returns weights of a model that are a function of `seed`; those of other types are the rounded ones of F32. They are
// made on `threads` threads. Of one rank's share they are its part of those. Errors: kInvalidArgument for a spec that
// no model can be, kResourceExhausted.
inline Result<ModelWeights> RandomWeights(const ModelSpec& spec, uint64_t seed, DType dtype = DType::kBF16,
                                          unsigned threads = 1, const RankShare& share = {}) {
  return NoThrow("RandomWeights", [&]() -> Result<ModelWeights> {
    if (auto possible = internal::CheckSpec(spec, share); !possible) return Failure(possible.error());
    return internal::MakeRandom(spec, seed, dtype, threads, share);
  });
}

// The same for the Config C, which was checked when it was compiled.
template <ModelConfig C>
ModelWeights RandomWeights(uint64_t seed, DType dtype = DType::kBF16) {
  return internal::MakeRandom(SpecOf<C>(), seed, dtype, /*threads=*/1);
}

}  // namespace skald

#endif  // SKALD_MODEL_LOAD_H_
