// SPDX-License-Identifier: Apache-2.0
//
// The heads of BGE-M3 (arXiv:2402.03216) for weights and embeddings of tokens: a linear layer each, in a file beside
// the weights. Source: https://github.com/FlagOpen/FlagEmbedding, inference/embedder/encoder_only/m3.py and
// finetune/embedder/encoder_only/m3/modeling.py.

#ifndef SKALD_OPEN_DETAIL_TOKEN_HEADS_H_
#define SKALD_OPEN_DETAIL_TOKEN_HEADS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/model_info.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/files/torch_file.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packing/pack.h"

namespace skald::internal {

// The names of the files, without their endings.
inline constexpr std::string_view kSparseHead = "sparse_linear", kTokenHead = "colbert_linear";

/// A linear layer beside a model, whose tensors are called "linear.weight" and "linear.bias".
class LinearFile {
 public:
  // Opens it if it is there: as a file of torch.save or safetensors, or within the model's own file. Errors name the
  // file and the tensor.
  static Result<std::optional<LinearFile>> Find(const ModelInfo& info, std::string_view name) {
    if (info.model.is_whole()) return Within(info, name);
    const std::filesystem::path folder = info.model.folder();
    const auto torch = folder / Concat({name, ".pt"}), plain = folder / Concat({name, ".safetensors"});
    std::error_code ignored;
    if (std::filesystem::exists(plain, ignored)) {
      SKALD_ASSIGN(auto file, Checkpoint::Open(plain));
      return Of(plain, LinearFile(std::nullopt, std::move(file)));
    }
    if (!std::filesystem::exists(torch, ignored)) return std::optional<LinearFile>();
    SKALD_ASSIGN(auto file, TorchFile::Open(torch));
    return Of(torch, LinearFile(std::move(file), std::nullopt));
  }

  const Checkpoint& checkpoint() const { return *named_; }

  /// Its outputs for rows of `width` elements, or nothing where it reads others.
  std::optional<size_t> OutputsFor(size_t width) const {
    const TensorView* const weight = named_->Find("linear.weight");
    const bool fits = weight != nullptr && weight->shape.size() == 2 && weight->shape[1] == width;
    return fits && weight->shape[0] <= 1 << 16 ? std::optional(static_cast<size_t>(weight->shape[0])) : std::nullopt;
  }

 private:
  LinearFile(std::optional<TorchFile> torch, std::optional<Checkpoint> plain)
      : torch_(std::move(torch)), plain_(std::move(plain)) {}

  static Result<std::optional<LinearFile>> Of(const std::filesystem::path& path, LinearFile file) {
    constexpr std::array<std::string_view, 2> kTheirs = {"weight", "bias"}, kOurs = {"linear.weight", "linear.bias"};
    std::vector<TensorView> named;
    const auto tensors = file.torch_ ? file.torch_->tensors() : file.plain_->tensors();
    for (TensorView tensor : tensors) {
      const auto found = std::ranges::find(kTheirs, tensor.name);
      if (found == kTheirs.end()) {
        return Fail(ErrorCode::kUnsupported, Concat({PathText(path), ": has the tensor ", QuotedName(tensor.name),
                                                     ", expected \"weight\" and \"bias\" alone"}));
      }
      tensor.name = kOurs[static_cast<size_t>(found - kTheirs.begin())];
      named.push_back(tensor);
    }
    file.named_.emplace(path, std::move(named));
    return std::optional<LinearFile>(std::move(file));
  }

  // Within the model's own file, as Skald writes it. Refers to that file.
  static Result<std::optional<LinearFile>> Within(const ModelInfo& info, std::string_view name) {
    const auto width = static_cast<uint64_t>(info.spec.model_dim);
    LinearFile file(std::nullopt, std::nullopt);
    std::vector<TensorView> named;
    for (const char* const part : {"weight", "bias"}) {
      const std::string entry = Concat({kHeadEntry, name, ".", part});
      SKALD_ASSIGN(const auto numbers, NumbersIn(info.model, entry));
      if (!numbers) continue;
      const uint64_t size = numbers->size() / sizeof(float);
      const bool is_matrix = std::string_view(part) == "weight";
      file.shapes_.push_back({size});
      if (is_matrix && size % width == 0) file.shapes_.back() = {size / width, width};
      TensorView& tensor = named.emplace_back();
      tensor.name = is_matrix ? "linear.weight" : "linear.bias";
      tensor.dtype_name = "F32", tensor.dtype = DType::kF32;
      tensor.shape = file.shapes_.back(), tensor.bytes = *numbers;
    }
    if (named.empty()) return std::optional<LinearFile>();
    file.named_.emplace(info.model.path(), std::move(named));
    return std::optional<LinearFile>(std::move(file));
  }

  // F32 numbers in the metadata of a GGUF file, or attached to a packed file.
  static Result<std::optional<std::span<const std::byte>>> NumbersIn(const OpenedModel& model,
                                                                     const std::string& name) {
    using Numbers = std::optional<std::span<const std::byte>>;
    if (model.gguf() == nullptr) {
      const auto content = model.packed()->Attachment(name);
      if (content) return Numbers(std::as_bytes(std::span(*content)));
      if (content.error().code == ErrorCode::kNotFound) return Numbers();
      return Failure(content.error());
    }
    const GgufArray* const array = model.gguf()->metadata().Array(name);
    if (array == nullptr) return Numbers();
    if (array->type() == GgufValueType::kFloat32) return Numbers(array->bytes());
    return Fail(ErrorCode::kInvalidArgument, Concat({PathText(model.path()), ": ", name, ": expected F32 numbers"}));
  }

  std::optional<TorchFile> torch_;  // or
  std::optional<Checkpoint> plain_;
  std::deque<std::vector<uint64_t>> shapes_ = {};  // of tensors within; they stay where they are
  std::optional<Checkpoint> named_ = {};           // points into it
};

// Calls visit(name, numbers) with each tensor of such a head, under the name that it has within the model's own file.
template <class Visit>
Result<void> VisitTokenHeads(const ModelInfo& info, Visit visit) {
  for (const std::string_view name : {kSparseHead, kTokenHead}) {
    SKALD_ASSIGN(const auto file, LinearFile::Find(info, name));
    if (!file) continue;
    for (const TensorView& tensor : file->checkpoint().tensors()) {
      std::vector<float> values;
      AppendFloats(tensor.bytes.data(), *tensor.dtype, tensor.bytes.size() / SizeOf(*tensor.dtype), values);
      visit(Concat({kHeadEntry, name, tensor.name.substr(tensor.name.find('.'))}), values);
    }
  }
  return {};
}

// Reads what there is of such heads into the facts.
inline Result<void> ReadTokenHeads(const ModelInfo& info, EncoderFacts& facts) {
  const auto width = static_cast<size_t>(info.spec.model_dim);
  const auto outputs = [&](std::string_view name) -> Result<size_t> {
    SKALD_ASSIGN(const auto file, LinearFile::Find(info, name));
    if (!file) return size_t{0};
    const auto found = file->OutputsFor(width);
    if (found) return *found;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({PathText(file->checkpoint().path()), ": expected a matrix of rows of ", std::to_string(width),
                        " elements"}));
  };
  SKALD_ASSIGN(const size_t sparse, outputs(kSparseHead));
  SKALD_ASSIGN(const size_t tokens, outputs(kTokenHead));
  if (sparse > 1) return Fail(ErrorCode::kInvalidArgument, "sparse_linear gives more than one number for a token");
  facts.has_sparse = sparse == 1;
  facts.token_dimension = static_cast<int>(tokens);
  // Of fairseq's dictionaries: the first token, padding, the last token, and what no word is.
  if (facts.has_sparse) facts.unweighed = {0, 1, 2, 3};
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_TOKEN_HEADS_H_
