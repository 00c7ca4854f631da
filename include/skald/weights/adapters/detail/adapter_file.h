// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/adapters/adapter_file.h.

#ifndef SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_FILE_H_
#define SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_FILE_H_

#include "skald/weights/adapters/adapter_file.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/adapters/detail/peft_config.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

inline constexpr uint64_t kMaxPeftConfig = 1 << 20;

SKALD_INLINE Result<AdapterFile> AdapterFile::Open(const std::filesystem::path& path) {
  return NoThrow(PathText(path),
                 [&]() -> Result<AdapterFile> { return internal::IsFolder(path) ? OpenPeft(path) : OpenGguf(path); });
}

SKALD_INLINE Failure AdapterFile::Refuse(ErrorCode code, const std::string& what) const {
  return Fail(code, Concat({PathText(path()), ": ", what}));
}

SKALD_INLINE const LoraPair* AdapterFile::Find(std::string_view tensor) const {
  const auto found = pairs_.find(tensor);
  return found == pairs_.end() ? nullptr : &found->second;
}

SKALD_INLINE Result<AdapterFile> AdapterFile::OpenPeft(const std::filesystem::path& folder) {
  const auto settings = folder / "adapter_config.json", tensors = folder / "adapter_model.safetensors";
  const auto text = ReadSmallFile(settings, kMaxPeftConfig);
  if (!text) return Fail(text.error().code, text.error().message + "; an adapter needs this file");
  const auto config = PeftConfig::Parse(*text);
  if (!config) return Annotate(PathText(settings), config);
  SKALD_ASSIGN(auto checkpoint, Checkpoint::Open(tensors));
  AdapterFile file(std::move(checkpoint));
  SKALD_TRY(file.FindPairs(kPeft));
  for (auto& [name, pair] : file.pairs_) {
    const std::string_view module = std::string_view(name).substr(0, name.size() - kPeft.ending.size());
    const auto scale = config->Of(module);
    if (!scale) return Annotate(PathText(settings), scale);
    if (static_cast<uint64_t>(scale->rank) != pair.rank()) {
      return file.Refuse(ErrorCode::kDataLoss,
                         Concat({QuotedName(pair.a->name), " has the rank ", std::to_string(pair.rank()),
                                 ", but adapter_config.json says ", std::to_string(scale->rank)}));
    }
    pair.scale = scale->scale;
  }
  return file;
}

SKALD_INLINE Result<AdapterFile> AdapterFile::OpenGguf(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto checkpoint, Checkpoint::Open(path));
  AdapterFile file(std::move(checkpoint));
  if (file.checkpoint_.gguf() == nullptr) {
    return file.Refuse(ErrorCode::kUnsupported,
                       "expected an adapter: a folder with adapter_config.json, or a GGUF file");
  }
  const GgufMetadata& metadata = file.checkpoint_.gguf()->metadata();
  constexpr std::pair<const char*, const char*> kFacts[] = {{"general.type", "adapter"}, {"adapter.type", "lora"}};
  for (const auto& [name, wanted] : kFacts) {
    const auto* const found = metadata.Get<std::string>(name);
    if (found != nullptr && *found == wanted) continue;
    return file.Refuse(ErrorCode::kUnsupported,
                       Concat({"not an adapter: its metadata lack ", name, " = \"", wanted, "\""}));
  }
  if (metadata.Contains("adapter.alora.invocation_tokens")) {
    return file.Refuse(ErrorCode::kUnsupported, "the adapter begins at certain tokens (adapter.alora)");
  }
  const double numerator = metadata.Number("adapter.lora.alpha").value_or(0.0);
  if (!(std::abs(numerator) <= 1e30)) {
    return file.Refuse(ErrorCode::kDataLoss, "adapter.lora.alpha is not finite, expected a number up to 1e30");
  }
  SKALD_TRY(file.FindPairs(kGguf));
  for (auto& [name, pair] : file.pairs_) {
    if (numerator != 0.0) pair.scale = numerator / static_cast<double>(pair.rank());  // else it is 1
  }
  return file;
}

SKALD_INLINE Result<const TensorView*> AdapterFile::TaskPart(const TensorView& tensor, size_t task, size_t tasks) {
  if (tensor.shape.size() != 3 || tensor.shape[0] != tasks || !tensor.dtype) {
    return Refuse(ErrorCode::kDataLoss,
                  Concat({QuotedName(tensor.name), ": expected F32, F16 or BF16 of the shape [", std::to_string(tasks),
                          ", .., ..], found ", tensor.dtype_name, " ", ShapeText(tensor.shape)}));
  }
  TensorView& part = parts_.emplace_back(tensor);
  const size_t bytes = tensor.bytes.size() / tasks;
  part.shape = tensor.shape.subspan(1);
  part.bytes = tensor.bytes.subspan(task * bytes, bytes);
  return &part;
}

SKALD_INLINE Result<AdapterFile> AdapterFile::OfTask(const Checkpoint& checkpoint, size_t task, size_t tasks,
                                                     double scale, std::span<const std::string_view> but) {
  const std::span<const TensorView> all = checkpoint.tensors();
  AdapterFile file(Checkpoint(checkpoint.path(), std::vector<TensorView>(all.begin(), all.end())));
  for (const TensorView& tensor : all) {
    const bool is_b = tensor.name.ends_with(kTaskPairs[1]);
    if (!is_b && !tensor.name.ends_with(kTaskPairs[0])) continue;
    if (std::ranges::any_of(but, [&](std::string_view part) { return tensor.name.starts_with(part); })) continue;
    const std::string_view module = tensor.name.substr(0, tensor.name.size() - kTaskPairs[0].size());
    LoraPair& pair = file.pairs_[Concat({module, kPeft.ending})];
    SKALD_ASSIGN(const auto part, file.TaskPart(tensor, task, tasks));
    (is_b ? pair.b : pair.a) = part;
    pair.scale = scale;
  }
  for (const auto& [name, pair] : file.pairs_) {
    if (pair.a != nullptr && pair.b != nullptr) continue;
    return file.Refuse(ErrorCode::kDataLoss, Concat({QuotedName(name), " has one half of a LoRA pair"}));
  }
  return file;
}

SKALD_INLINE Result<void> AdapterFile::FindPairs(const Spelling& spelling) {
  for (const TensorView& tensor : checkpoint_.tensors()) {
    const bool is_a = tensor.name.ends_with(spelling.a), is_b = tensor.name.ends_with(spelling.b);
    if (!(is_a || is_b) || !tensor.name.starts_with(spelling.prefix)) return Unknown(tensor);
    std::string_view name = tensor.name.substr(spelling.prefix.size());
    name.remove_suffix(is_a ? spelling.a.size() : spelling.b.size());
    LoraPair& pair = pairs_[Concat({name, spelling.ending})];
    (is_a ? pair.a : pair.b) = &tensor;
  }
  for (const auto& [name, pair] : pairs_) {
    SKALD_TRY(CheckPair(name, pair, spelling));
  }
  return pairs_.empty() ? Result<void>(Refuse(ErrorCode::kDataLoss, "the adapter has no tensors")) : Result<void>();
}

SKALD_INLINE Result<void> AdapterFile::CheckPair(const std::string& name, const LoraPair& pair,
                                                 const Spelling& spelling) const {
  if (pair.a == nullptr || pair.b == nullptr) {
    const std::string_view present = pair.a == nullptr ? spelling.b : spelling.a;
    const std::string_view missing = pair.a == nullptr ? spelling.a : spelling.b;
    return Refuse(ErrorCode::kDataLoss,
                  Concat({QuotedName(name), " has a tensor ", present, " and none that ends with ", missing}));
  }
  for (const TensorView* const tensor : {pair.a, pair.b}) {
    if (tensor->shape.size() != 2) {
      return Refuse(ErrorCode::kUnsupported,
                    Concat({QuotedName(tensor->name), ": expected a matrix, found shape ", ShapeText(tensor->shape)}));
    }
    if (!tensor->dtype) {
      return Refuse(ErrorCode::kUnsupported, Concat({QuotedName(tensor->name), ": expected F32, F16 or BF16, found ",
                                                     QuotedName(tensor->dtype_name)}));
    }
  }
  if (pair.rank() != 0 && pair.rank() == pair.b->shape[1]) return {};
  return Refuse(ErrorCode::kDataLoss,
                Concat({QuotedName(name), ": the ranks of its pair differ: shapes ", ShapeText(pair.a->shape), " and ",
                        ShapeText(pair.b->shape), ", expected [rank, columns] and [rows, rank]"}));
}

SKALD_INLINE Failure AdapterFile::Unknown(const TensorView& tensor) const {
  const auto has = [&](std::string_view part) { return tensor.name.find(part) != tensor.name.npos; };
  const std::string_view why = has("lora_magnitude_vector") ? "it belongs to DoRA, which is not supported"
                               : has("lora_embedding")      ? "adapters of embeddings are not supported"
                                                       : "it is not half of a LoRA pair; nothing else is supported";
  return Refuse(ErrorCode::kUnsupported, Concat({QuotedName(tensor.name), ": ", why}));
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_FILE_H_
