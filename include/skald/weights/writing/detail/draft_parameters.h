// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/draft_parameters.h.

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_DRAFT_PARAMETERS_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_DRAFT_PARAMETERS_H_

#include "skald/weights/writing/draft_parameters.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/tensor_finder.h"
#include "skald/weights/types/gguf_blocks.h"
#include "skald/weights/writing/mixture.h"

namespace skald {

namespace internal {

// Rows of a tensor that is written, and where they are read from.
struct DraftPiece {
  TensorRows rows;
  size_t expert, begin, count;  // where they are written: rows of one expert
  TurnedRows read;              // as the checkpoint has them
  /// Of each head so many rows of `read` are written as neighbours that RoPE turns together; 0: as layers have them.
  size_t written;
};

// Where the row is that is written as `row` of pairs side by side, among the first `written` rows of each head.
inline uint64_t TurnedRow(uint64_t row, uint64_t head_dim, uint64_t written) {
  const uint64_t in_head = written == 0 ? 0 : row % head_dim;
  if (in_head >= written) return row;
  return row - in_head + in_head / 2 + in_head % 2 * (written / 2);
}

// The rows of a matrix, made of pieces in any order. Rows that are not consecutive in the checkpoint are gathered when
// they are first read; those of the last piece are kept, as rows are read in order. Safe for concurrent calls.
class DraftRows {
 public:
  DraftRows(std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const TensorFinder> finder,
            std::vector<DraftPiece> pieces)
      : checkpoint_(std::move(checkpoint)), finder_(std::move(finder)), pieces_(std::move(pieces)) {
    std::ranges::sort(pieces_, {}, [](const DraftPiece& piece) { return std::pair(piece.expert, piece.begin); });
  }

  void Read(uint64_t row, std::span<float> values) const {
    size_t index = 0;
    for (; row >= pieces_[index].count; ++index) row -= pieces_[index].count;
    const DraftPiece& piece = pieces_[index];
    const std::shared_ptr<const std::vector<std::byte>> moved = Moved(index);
    TensorView view = *piece.rows.view;
    if (!moved->empty()) view.bytes = *moved;
    ReadRow(view, TurnedRow(row, piece.read.head_dim, piece.written), values);
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> Moved(size_t index) const {
    const std::lock_guard lock(mutex_);
    if (moved_ == nullptr || moved_index_ != index) {
      const DraftPiece& piece = pieces_[index];
      moved_ = std::make_shared<const std::vector<std::byte>>(MovedRows(piece.rows, piece.read));
      moved_index_ = index;
    }
    return moved_;
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const TensorFinder> finder_;  // owns views
  std::vector<DraftPiece> pieces_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const std::vector<std::byte>> moved_;
  mutable size_t moved_index_ = 0;
};

class ParameterDrafter {
 public:
  ParameterDrafter(std::shared_ptr<const Checkpoint> checkpoint, const TensorNames& source, const TensorNames& target)
      : checkpoint_(std::move(checkpoint)),
        finder_(std::make_shared<TensorFinder>(*checkpoint_, source)),
        target_(target) {}

  // Layers may share a parameter, which is written once.
  void Add(const Parameter& parameter) {
    std::visit(
        [&](const auto& value) {
          if (added_.insert(KeyOf(value.parts.front(), parameter.layer)).second) AddValue(value, parameter.layer);
        },
        parameter.value);
  }

  void AllowCopy(std::string_view name, std::string_view original) { finder_->AllowCopy(name, original); }

  // Adds a tensor that no layer reads as it is, if the checkpoint has it and it is to be kept.
  void AllowUnused(std::optional<size_t> layer, std::string_view name, bool is_kept) {
    const TensorView* const tensor = finder_->AllowUnused(layer, name);
    if (tensor == nullptr || !is_kept) return;
    Stack& stack = StackOf(SpellingOf(name, layer).name);
    if (tensor->shape.size() == 1) {
      stack.vector = FloatsOf({tensor});
      stack.shape = {tensor->shape[0]};
    } else {
      stack.cols = static_cast<size_t>(tensor->shape.back());
      stack.pieces.push_back({{tensor}, 0, 0, static_cast<size_t>(tensor->shape.front()), TurnedRows(0), 0});
    }
  }

  Result<DraftedParameters> Finish() {
    finder_->CheckAllUsed();
    if (!finder_->status()) return Failure(finder_->status().error());
    DraftedParameters drafted;
    for (Stack& stack : stacks_) drafted.tensors.push_back(Draft(std::move(stack)));
    for (const TensorView* const tensor : finder_->LeftOut()) drafted.left_out.emplace_back(tensor->name);
    return drafted;
  }

 private:
  // A tensor that is written.
  struct Stack {
    std::string name;
    std::vector<DraftPiece> pieces;
    size_t cols = 0, experts = 0;      // 0 experts: of none
    std::vector<float> vector = {};    // instead of pieces
    std::vector<uint64_t> shape = {};  // of the vector

    size_t RowsOf(size_t expert) const {
      size_t rows = 0;
      for (const DraftPiece& piece : pieces) rows += piece.expert == expert ? piece.count : 0;
      return rows;
    }
  };

  void Refuse(std::string_view name, const char* why) {
    finder_->Complain(ErrorCode::kUnsupported, Concat({QuotedName(name), ": cannot be written to a GGUF file: ", why}));
  }

  Spelling SpellingOf(std::string_view name, std::optional<size_t> layer) {
    Spelling spelling{target_.NameOf(name, layer)};
    if (layer) spelling.layout = target_.SpellingsOf(name).front().layout;
    const RowLayout& layout = spelling.layout;
    if (layout.by_turns || layout.by_units || layout.transposed || layout.mxfp4 || layout.joined) {
      Refuse(spelling.name, "its rows are in another order there");
    }
    return spelling;
  }

  Stack& StackOf(std::string name) {
    const auto found = std::ranges::find(stacks_, name, &Stack::name);
    return found != stacks_.end() ? *found : stacks_.emplace_back(Stack{std::move(name), {}});
  }

  void AddValue(const MatrixParameter& matrix, std::optional<size_t> layer) {
    const auto places = finder_->PlacesOf(matrix.parts, layer, [](const Part& part) { return part.rows; });
    for (size_t i = 0; i < places.size(); ++i) {
      const Part& part = matrix.parts[i];
      const Spelling spelling = SpellingOf(part.name, layer);
      Stack& stack = StackOf(spelling.name);
      if (!stack.pieces.empty() && stack.cols != matrix.cols) Refuse(spelling.name, "it has parts of several kinds");
      if (part.transposed) Refuse(spelling.name, "it is transposed");
      stack.cols = matrix.cols;
      if (part.expert) stack.experts = part.expert->count;
      const size_t expert = part.expert ? part.expert->index : 0;
      const size_t begin = spelling.layout.interleaved ? part.interleaved.begin : stack.RowsOf(expert);
      const TurnedRows turned(part);
      stack.pieces.push_back({finder_->RequireRows(part, places[i], matrix.cols), expert, begin, part.rows, turned,
                              turned.paired || spelling.layout.pairs_adjacent ? turned.turned : 0});
    }
  }

  void AddValue(const BlocksParameter& blocks, std::optional<size_t> layer) {
    for (const Part& part : blocks.parts) {
      for (size_t i = 0; i < blocks.count; ++i) {
        Part block = part;
        block.expert = {i, blocks.count};
        AddValue(MatrixParameter{nullptr, blocks.cols, {std::move(block)}}, layer);
      }
    }
  }

  // Arrays keep their axes of more than one element; those that are joined become one vector.
  void AddValue(const VectorParameter& vector, std::optional<size_t> layer) {
    const auto rows = [](const ArrayPart& part) -> size_t { return part.shape.empty() ? 1 : part.shape.front(); };
    const auto places = finder_->PlacesOf(vector.parts, layer, rows);
    for (size_t i = 0; i < places.size(); ++i) {
      const ArrayPart& part = vector.parts[i];
      const Spelling spelling = SpellingOf(part.name, layer);
      const TensorRows found = finder_->RequireArray(part, places[i]);
      if (!finder_->status()) return;
      std::vector<float> values = FloatsOf(found);
      if (vector.stored) vector.stored(values);
      Stack& stack = StackOf(spelling.name);
      std::vector<uint64_t> axes = part.shape;
      std::erase(axes, 1);
      const bool is_alone = stack.vector.empty() && !axes.empty();
      const size_t written = spelling.layout.pairs_adjacent ? part.head_dim : 0;
      for (size_t row = 0; row < values.size(); ++row) {
        stack.vector.push_back(values[TurnedRow(row, part.head_dim, written)]);
      }
      stack.shape = part.expert ? std::vector<uint64_t>{part.expert->count, values.size()}
                    : is_alone  ? axes
                                : std::vector<uint64_t>{stack.vector.size()};
    }
  }

  static std::vector<float> FloatsOf(const TensorRows& rows) {
    const std::vector<std::byte> gathered = rows.gather ? rows.gather() : std::vector<std::byte>();
    const std::span<const std::byte> bytes = rows.gather ? std::span(gathered) : rows.view->bytes;
    std::vector<float> values;
    AppendFloats(bytes.data(), *rows.view->dtype, bytes.size() / SizeOf(*rows.view->dtype), values);
    return values;
  }

  // The type of the first piece. MXFP4 is written with the numbers that it has; others that are no floats become
  // floats.
  static const GgufType* TypeOf(const Stack& stack) {
    const TensorView& first = *stack.pieces.front().rows.view;
    if (first.format == FindGroupFormat("MXFP4")) return FindGgufTypeByName("MXFP4");
    if (first.format != nullptr || first.quantised != nullptr) return FindGgufTypeByName("F32");
    return FindGgufTypeByName(first.dtype_name);
  }

  DraftTensor Draft(Stack stack) {
    const GgufType* const f32 = FindGgufTypeByName("F32");
    if (stack.pieces.empty()) {
      const auto values = std::make_shared<const std::vector<float>>(std::move(stack.vector));
      return {stack.name, stack.shape, f32, [values](uint64_t row, std::span<float> to) {
                std::copy_n(values->begin() + static_cast<ptrdiff_t>(row * to.size()), to.size(), to.begin());
              }};
    }
    uint64_t rows = 0;
    for (const DraftPiece& piece : stack.pieces) rows += piece.count;
    DraftTensor tensor{stack.name, {rows, stack.cols}, TypeOf(stack), {}};
    if (stack.experts > 0) tensor.shape = {stack.experts, rows / stack.experts, stack.cols};
    if (!MayBeQuantized(tensor)) tensor.type = f32;
    const auto read = std::make_shared<const DraftRows>(checkpoint_, finder_, std::move(stack.pieces));
    tensor.read_row = [read](uint64_t row, std::span<float> to) { read->Read(row, to); };
    return tensor;
  }

  // A part by its layer, name, expert, and place in a tensor of several.
  using PartKey = std::tuple<std::optional<size_t>, std::string, size_t, size_t>;

  template <class AnyPart>
  static PartKey KeyOf(const AnyPart& part, std::optional<size_t> layer) {
    size_t begin = 0;
    if constexpr (requires { part.interleaved; }) begin = part.interleaved.begin;
    return {layer, part.name, part.expert ? part.expert->index : 0, begin};
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<TensorFinder> finder_;
  const TensorNames& target_;
  std::set<PartKey> added_;
  std::vector<Stack> stacks_;
};

}  // namespace internal

SKALD_INLINE Result<DraftedParameters> DraftParameters(std::shared_ptr<const Checkpoint> checkpoint,
                                                       const ParameterList& list, const TensorNames& source,
                                                       const TensorNames& target, bool with_unused) {
  const std::string shown = PathText(checkpoint->path());
  return NoThrow(shown, [&]() -> Result<DraftedParameters> {
    internal::ParameterDrafter drafter(std::move(checkpoint), source, target);
    for (const Parameter& parameter : list.parameters()) drafter.Add(parameter);
    for (const auto& [name, original] : list.copies()) drafter.AllowCopy(name, original);
    for (const auto& [layer, name] : list.unused()) drafter.AllowUnused(layer, name, with_unused);
    return drafter.Finish();
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_DRAFT_PARAMETERS_H_
