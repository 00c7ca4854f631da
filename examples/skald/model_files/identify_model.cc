// SPDX-License-Identifier: Apache-2.0

#include "model_files/identify_model.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "demo_model/demo_config.h"
#include "model_files/open_tokenizer.h"
#include "skald/base/files/small_file.h"
#include "skald/base/json/json_tree.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/families/config/config_text.h"
#include "skald/families/config/model_config.h"
#include "skald/families/find_named.h"
#include "skald/families/llama/llama.h"
#include "skald/families/published.h"
#include "skald/model/load_any.h"
#include "skald/templates/published.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald::program {
namespace {

using nlohmann::json;

// Of a file that goes with the weights. The largest published are tokenizer.json, tens of megabytes.
constexpr uint64_t kMaxModelFileBytes = uint64_t{256} << 20;

json ReadConfigJson(const ReadModelFile& read_file) {
  json config;
  const bool is_json = internal::ParseJson(read_file("config.json").value_or(""), config).empty();
  return is_json ? config : json();
}

// How long the texts were that the model learned from, which no Config says: it changes no logit.
uint32_t TrainedContext(const json& config) {
  for (const char* text_model : {"", "/text_config"}) {
    const json::json_pointer field(std::string(text_model) + "/max_position_embeddings");
    if (!config.contains(field) || !config[field].is_number_unsigned()) continue;
    return static_cast<uint32_t>(std::min<uint64_t>(config[field].get<uint64_t>(), kMaxTokens));
  }
  return 0;
}

// A packed file holds the numbers of a model, and of its family what config.json said that it was made from.
std::string FamilyOf(const DescribedModel& model, const json& config) {
  if (model.model_type != kPackedModelType) return std::string(model.model_type);
  const auto family = config.is_object() ? config.find("model_type") : config.end();
  return family != config.end() && family->is_string() ? family->get<std::string>() : "";
}

// https://huggingface.co/karpathy/tinyllamas/tree/main/stories260K
struct Stories260K : LlamaFamily {
  static constexpr std::string_view kName = "stories260k";
  static constexpr int kModelDim = 64, kFeedForwardDim = 172, kVocabSize = 512;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 8;
  static constexpr auto kLayers = RepeatLayers<5>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

// The models that have a Config: the published ones, the demo model and a very small one.
const std::vector<NamedSpec>& AllKnown() {
  static const std::vector<NamedSpec> models = [] {
    std::vector<NamedSpec> all = PublishedModels();
    all.push_back(NamedSpecOf<DemoModel>());
    all.push_back(NamedSpecOf<Stories260K>());
    return all;
  }();
  return models;
}

// The name of the Config that has this spec, else the model's type.
std::string NameOf(const DescribedModel& model) {
  std::string name(model.model_type);
  for (const NamedSpec& known : AllKnown()) {
    if (known.spec == model.spec) name = known.name;
  }
  return name;
}

ModelFiles OpenFolder(const std::filesystem::path& folder) {
  const ReadModelFile read_file = [folder](std::string_view name) -> Result<std::string> {
    const std::filesystem::path path = folder / name;
    return ReadSmallFile(path, kMaxModelFileBytes);
  };
  return {DType::kBF16, read_file, [folder] { return OpenTokenizer(folder); }};
}

Result<ModelFiles> OpenPacked(const std::filesystem::path& path) {
  const auto file = PackedFile::Open(path);
  if (!file) return Failure(file.error());
  const ReadModelFile read_file = [file = *file](std::string_view name) -> Result<std::string> {
    SKALD_ASSIGN(const auto content, file->Attachment(name));
    return std::string(content);
  };
  return ModelFiles{(*file)->table().dtype, read_file, [path, read_file]() -> Result<Tokenizer> {
                      SKALD_ASSIGN(const auto bytes, read_file(kTokenizerFile));
                      auto tokenizer = ParseTokenizer(bytes);
                      if (!tokenizer) return Annotate(path.string(), tokenizer);
                      return tokenizer;
                    }};
}

// What the metadata of a GGUF file tell, as the files that tell it in a folder.
Result<std::string> FileFromGguf(const GgufMetadata& metadata, std::string_view name) {
  if (name == "tokenizer_config.json") {
    if (auto config = TokenizerConfigFromGguf(metadata)) return *std::move(config);
  }
  if (name == "config.json") {
    const json& values = metadata.values;
    const auto& architecture = values["general.architecture"].get_ref<const std::string&>();
    const auto context = values.find(architecture + ".context_length");
    if (context != values.end() && context->is_number()) return json{{"max_position_embeddings", *context}}.dump();
  }
  return Fail(ErrorCode::kNotFound, "its metadata do not stand for " + std::string(name));
}

Result<ModelFiles> OpenGguf(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto opened, Checkpoint::Open(path));
  // The metadata lie in the file, which stays open for them.
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(opened));
  const auto read_file = [path, checkpoint](std::string_view name) -> Result<std::string> {
    auto content = FileFromGguf(checkpoint->gguf()->metadata(), name);
    if (!content) return Annotate(path.string(), content);
    return content;
  };
  return ModelFiles{DType::kBF16, read_file, [path, checkpoint]() -> Result<Tokenizer> {
                      auto tokenizer = OpenTokenizer(checkpoint->gguf()->metadata());
                      if (!tokenizer) return Annotate(path.string(), tokenizer);
                      return tokenizer;
                    }};
}

}  // namespace

std::filesystem::path FolderOfModel(const std::filesystem::path& path) {
  std::error_code ignored;  // what cannot be asked is no folder
  const bool is_whole =
      std::filesystem::is_directory(path, ignored) || PackedFile::Recognises(path) || IsGgufFile(path);
  return is_whole ? path : std::filesystem::absolute(path, ignored).parent_path();
}

Result<ModelFiles> OpenModelFiles(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return Fail(ErrorCode::kNotFound, path.string() + ": no such folder or file, expected one with a model");
  }
  if (PackedFile::Recognises(path)) return OpenPacked(path);
  if (IsGgufFile(path)) return OpenGguf(path);
  return OpenFolder(FolderOfModel(path));
}

Result<ModelInfo> IdentifyModel(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto files, OpenModelFiles(path));
  const std::filesystem::path folder = FolderOfModel(path);
  SKALD_ASSIGN(auto model, DescribeModel(folder));
  const json config = ReadConfigJson(files.read_file);
  std::string name = NameOf(model);
  return ModelInfo{std::move(files), std::move(model.spec), FamilyOf(model, config), std::move(name),
                   TrainedContext(config)};
}

std::optional<std::string> WhyNoConfig(const std::filesystem::path& path) {
  const auto model = DescribeModel(path);
  if (!model) return model.error().message;
  if (model->model_type == kPackedModelType) {
    const std::string name = NameOf(*model);
    return name == model->model_type ? std::optional<std::string>("no Config fits") : std::nullopt;
  }
  const auto found = FindNamed(AllKnown(), *model);
  return found ? std::nullopt : std::optional(path.string() + ": " + found.error().message);
}

Result<std::string> ConfigOf(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto model, DescribeModel(path));
  if (model.model_type == kPackedModelType) model.model_type = {};
  std::error_code ignored;  // a path that cannot be made absolute names the model as it is
  const auto whole = std::filesystem::absolute(FolderOfModel(path), ignored).lexically_normal();
  const auto named = whole.has_filename() ? whole : whole.parent_path();
  const auto name = std::filesystem::is_directory(named, ignored) ? named.filename() : named.stem();
  return ConfigText(model, name.native());
}

Result<ModelSpec> FindModelByName(std::string_view name) {
  const auto known = std::ranges::find(AllKnown(), name, &NamedSpec::name);
  if (known != AllKnown().end()) return known->spec;
  return Fail(ErrorCode::kNotFound, std::string(name) + " is none of the models that 'skald models' lists");
}

std::vector<std::string_view> KnownModels() {
  std::vector<std::string_view> names;
  for (const NamedSpec& known : AllKnown()) names.push_back(known.name);
  return names;
}

}  // namespace skald::program
