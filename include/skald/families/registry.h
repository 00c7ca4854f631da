// SPDX-License-Identifier: Apache-2.0
//
// The families that Skald reads: what a person wants to know of them, and what loading asks of them. All of it follows
// from one row for each family (detail/family_rows.h).

#ifndef SKALD_FAMILIES_REGISTRY_H_
#define SKALD_FAMILIES_REGISTRY_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald {

class Checkpoint;
class GgufFile;
struct TensorNames;
enum class Assumption : uint8_t;

/// A family, for people.
struct FamilyFacts {
  std::string_view name;
  std::vector<std::string_view> model_types;         ///< in config.json
  std::string_view special;                          ///< what other families do not have
  std::string_view original;                         ///< the implementation that it is compared with
  std::vector<std::string_view> architectures = {};  ///< of its GGUF files; none: no such files are read
};

/// Returns all families, in the order of the registry. The table of families/README.md is made of it (`skald models
/// --families`).
std::vector<FamilyFacts> Families();

/// Returns whether GGUF files of a model_type are read.
bool ReadsGguf(std::string_view model_type);

namespace internal {

struct FactRenaming;

/// Returns the conventions that checkpoints name their tensors by; the first is that of most folders.
std::span<const TensorNames> KnownTensorNames();

/// The same for one file: names tell how rows are laid out, which a GGUF file's architecture says, or shapes.
std::vector<TensorNames> TensorNamesIn(const Checkpoint& checkpoint);

/// Returns the one of these that a checkpoint follows.
TensorNames TensorNamesOf(const Checkpoint& checkpoint);

/// Returns what config.json files of a model_type call facts, where that is not the usual name.
std::span<const FactRenaming> FactNamesOf(std::string_view model_type);

/// Returns the facts that GGUF files of a model_type do not tell, by the names that Differences gives them.
std::span<const std::string_view> FactsNotInGguf(std::string_view model_type);

/// Returns whether Skald has a reader for the architecture that a GGUF file names.
bool ReadsArchitecture(const GgufFile& file);

/// Refuses GGUF files whose weights would fit a model that assumes so, and mean something else there.
Result<void> CheckConverter(const Checkpoint& checkpoint, std::span<const Assumption> assumptions);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/registry.h"
#endif

#endif  // SKALD_FAMILIES_REGISTRY_H_
