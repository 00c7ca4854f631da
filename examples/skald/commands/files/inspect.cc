// SPDX-License-Identifier: Apache-2.0

#include "commands/files/inspect.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "commands/files/inspect_ranks.h"
#include "model_files/known_models.h"
#include "model_files/tensor_parts.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/model/load.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_json.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/types/planned_matrix.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::program {
namespace {

constexpr size_t kMaxShown = 60;  // characters of a string, and of an array's beginning

// Each returns one short line of ASCII.
std::string Shortened(std::string text) {
  if (text.size() > kMaxShown) text.replace(kMaxShown, std::string::npos, "...");
  return text;
}
std::string Show(const nlohmann::json& value) {
  return Shortened(value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace));
}
std::string Show(const GgufScalar& value) { return Show(JsonOf(value)); }
std::string Show(const GgufArray& array) {
  std::string text;
  array.ForEach([&text](const GgufValue& element) {
    text += (text.empty() ? "" : ", ") + std::visit([](const auto& value) { return Show(value); }, element);
    return text.size() <= kMaxShown;
  });
  return std::to_string(array.size()) + " values: " + Shortened(std::move(text));
}

uint64_t Product(std::span<const uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies());
}

// A table of tensors, with the totals of each type at its end.
class TensorTable {
 public:
  // The widest name.
  explicit TensorTable(size_t width) : width_(static_cast<int>(width)) { std::cout << "tensors:\n"; }

  void Print(const std::string& name, std::string_view type, std::span<const uint64_t> shape, uint64_t bytes) {
    std::cout << "  " << std::left << std::setw(width_) << name << ' ' << std::setw(9) << Printable(type)
              << std::setw(20) << ShapeText(shape) << std::right << std::setw(14) << bytes << " bytes\n";
    for (Total* total : {&totals_[std::string(type)], &all_}) {
      ++total->tensors;
      total->elements += Product(shape);
      total->bytes += bytes;
    }
  }

  void PrintTotals() const {
    std::cout << "totals:\n";
    for (const auto& [type, total] : totals_) PrintTotal(type, total);
    PrintTotal("all", all_);
  }

 private:
  struct Total {
    uint64_t tensors = 0, elements = 0, bytes = 0;
  };

  static void PrintTotal(const std::string& type, const Total& total) {
    std::cout << "  " << std::left << std::setw(10) << Printable(type) << std::right << std::setw(6) << total.tensors
              << " tensors" << std::setw(16) << total.elements << " elements" << std::setw(16) << total.bytes
              << " bytes\n";
  }

  int width_;
  std::map<std::string, Total> totals_;
  Total all_;
};

void PrintConfig(const OpenedModel& model, const Result<ModelInfo>& info) {
  const auto why_none = WhyNoConfig(model);
  if (info) {
    std::cout << "family: " << (info->family.empty() ? "not told by this packed file" : Printable(info->family))
              << '\n';
  }
  std::cout << "Config: " << (why_none ? Printable(*why_none) : info->name) << '\n';
}

// Tensors of a checkpoint that are not computed. Returns whether it can be loaded.
bool PrintLeftOut(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const auto left = TensorsLeftOut(checkpoint, spec);
  if (!left) {
    std::cout << "cannot be loaded: " << Printable(left.error().message) << '\n';
    return false;
  }
  std::map<std::string, std::pair<size_t, uint64_t>> parts;  // tensors and bytes
  for (const TensorView* tensor : *left) {
    auto& [tensors, bytes] = parts[PartOf(tensor->name)];
    ++tensors;
    bytes += tensor->bytes.size();
  }
  for (const auto& [part, sum] : parts) {
    std::cout << "not computed: " << Printable(part) << ", " << sum.first << " tensors, " << sum.second << " bytes\n";
  }
  return true;
}

// A name with a star for each number in it: that of a layer, of an expert.
std::string WithoutNumbers(std::string_view name) {
  std::string without;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view word = name.substr(begin, end - begin);
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    without += is_number ? "*" : std::string(word);
    if (end < name.size()) without += '.';
    begin = end + 1;
  }
  return without;
}

// Quantised matrices of a folder that are computed alike.
struct QuantisedKind {
  std::set<const QuantisedRows*> matrices = {};
  std::set<std::string> names = {};
  uint64_t bytes = 0;
};

// As which type in memory quantised weights of a folder are multiplied. A matrix may be a part of several.
void PrintQuantised(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const auto planned = MatricesOf(checkpoint, spec, DType::kBF16);
  if (!planned) return;  // not so: it can be loaded
  std::map<std::string, QuantisedKind> kinds;
  for (const PlannedMatrix& matrix : *planned) {
    const bool is_float = !IsGrouped(matrix.dtype) && !IsFloatCoded(matrix.dtype);
    const std::string how = Concat({", computed as ", is_float ? "floats: " : "", NameOf(matrix.dtype),
                                    matrix.has_order ? " with columns in the order of groups" : "",
                                    matrix.has_factors ? " with inputs multiplied by factors" : "",
                                    matrix.row_scale ? " with inputs rounded row by row" : ""});
    for (const std::string_view name : matrix.tensors) {
      const TensorView* const tensor = checkpoint.Find(std::string(name));
      if (tensor == nullptr || tensor->quantised == nullptr) continue;
      QuantisedKind& kind = kinds[tensor->quantised->stored_as + how];
      if (!kind.matrices.insert(tensor->quantised).second) continue;
      kind.bytes += tensor->quantised->stored_bytes;
      if (is_float) kind.names.insert(WithoutNumbers(name));
    }
  }
  for (const auto& [what, kind] : kinds) {
    std::cout << "quantised: " << what << ", " << kind.matrices.size() << " matrices, " << kind.bytes << " bytes\n";
    for (const std::string& name : kind.names) std::cout << "  as floats: " << Printable(name) << '\n';
  }
}

void InspectCheckpoint(const OpenedModel& model, const Checkpoint& checkpoint) {
  const GgufFile* const gguf = checkpoint.gguf();
  std::cout << Printable(checkpoint.path().native()) << ": " << (gguf != nullptr ? "GGUF" : "safetensors") << '\n';
  if (gguf != nullptr) {
    std::cout << "metadata:\n";
    const nlohmann::json metadata = JsonOf(gguf->metadata());  // items() refers to it
    for (const auto& [name, value] : metadata.items()) {
      const std::string shown = QuotedName(name);
      std::cout << "  " << shown.substr(1, shown.size() - 2) << " = ";
      const GgufArray* const array = gguf->metadata().Array(name);
      std::cout << (array != nullptr ? Show(*array) : Show(value)) << '\n';
    }
  }
  const auto info = IdentifyModel(model);
  PrintConfig(model, info);
  if (info && PrintLeftOut(checkpoint, info->spec)) PrintQuantised(checkpoint, info->spec);
  size_t width = 0;
  for (const TensorView& tensor : checkpoint.tensors()) width = std::max(width, QuotedName(tensor.name).size());
  TensorTable table(width);
  for (const TensorView& tensor : checkpoint.tensors()) {
    const QuantisedRows* const rows = tensor.quantised;
    table.Print(QuotedName(tensor.name), rows != nullptr ? "quantised" : tensor.dtype_name, tensor.shape,
                rows != nullptr ? rows->stored_bytes : tensor.bytes.size());
  }
  table.PrintTotals();
}

// A packed file has its tensors in a fixed order, without names.
void InspectPacked(const OpenedModel& model) {
  const PackedFile& file = *model.packed();
  std::cout << Printable(file.path().native()) << ": packed, to load as " << NameOf(file.table().dtype)
            << "\npacked from:\n";
  std::istringstream sources(file.table().source);  // packed_source.h
  for (std::string line; std::getline(sources, line);) {
    for (int i = 0; i < 2; ++i) line = line.substr(0, line.rfind(' '));  // leaves its name and size
    std::cout << "  " << Printable(line) << " bytes\n";
  }
  std::cout << "attached:\n";
  for (const PackedAttachment& attachment : file.table().attachments) {
    std::cout << "  " << Printable(attachment.name) << ' ' << attachment.range.bytes << " bytes\n";
  }
  PrintConfig(model, IdentifyModel(model));
  const auto& parameters = file.table().parameters;
  TensorTable table(std::to_string(parameters.size()).size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const PackedParameter& parameter = parameters[i];
    if (parameter.rows == 0) continue;  // the Config does without it
    std::vector<uint64_t> shape = {parameter.rows};
    if (parameter.cols != 0) shape.push_back(parameter.cols);
    table.Print(std::to_string(i), NameOf(static_cast<DType>(parameter.dtype)), shape, parameter.range.bytes);
  }
  table.PrintTotals();
}

}  // namespace

Result<int> RunInspect(const Options& options) {
  if (options.inspect_ranks > 0) return RunInspectRanks(options);
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  if (options.only_config) {
    SKALD_ASSIGN(const auto config, ConfigOf(model));
    std::cout << config;
    return 0;
  }
  if (model.packed() != nullptr) {
    InspectPacked(model);
    return 0;
  }
  SKALD_ASSIGN(const auto checkpoint, model.checkpoint());
  InspectCheckpoint(model, *checkpoint);
  return 0;
}

}  // namespace skald::program
