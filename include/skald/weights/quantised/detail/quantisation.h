// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/quantised/quantisation.h: where files say how a folder is quantised, and by which
// method.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_H_

#include "skald/weights/quantised/quantisation.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/weights/quantised/detail/method_fields.h"
#include "skald/weights/quantised/detail/quantisation_fields.h"

namespace skald {

namespace internal {

// Model Optimizer's own file, which older folders have in place of a description in config.json.
inline Result<std::optional<Quantisation>> ParseModelOptFile(std::string_view text) {
  nlohmann::json root;
  const JsonGuard guard(root);
  std::optional<Quantisation> quantisation;
  if (!ParsePythonJson(text, root).empty() || !root.is_object()) return quantisation;
  const auto found = root.find("quantization");
  if (found == root.end() || !found->is_object()) return quantisation;
  const auto kind = found->find("quant_algo");
  if (kind == found->end() || kind->is_null()) return quantisation;  // only the cache is quantised
  std::optional<Error> error;
  const QuantisationFields fields(*found, "quantization.", &error);
  ReadModelOpt(fields, quantisation.emplace(Quantisation{.method = {}, .name = "modelopt"}));
  if (error) return Fail(error->code, "hf_quant_config.json: " + error->message);
  return quantisation;
}

inline void ReadMethod(const QuantisationFields& fields, std::optional<Quantisation>& quantisation) {
  struct Method {
    std::string_view name;
    void (*read)(const QuantisationFields&, Quantisation&);
  };
  static constexpr Method kMethods[] = {{"fp8", ReadFp8},
                                        {"fbgemm_fp8", ReadFbgemmFp8},
                                        {"awq", ReadAwq},
                                        {"gptq", ReadGptq},
                                        {"auto-round", ReadAutoRound},
                                        {"intel/auto-round", ReadAutoRound},
                                        {"compressed-tensors", ReadCompressedTensors},
                                        {"bitsandbytes", ReadBitsAndBytes},
                                        {"bitnet", ReadBitNet},
                                        {"modelopt", ReadModelOpt}};
  const bool is_bitsandbytes = fields->Flag("load_in_4bit", false) || fields->Flag("load_in_8bit", false);
  const std::string name =
      fields->String("quant_method", is_bitsandbytes ? std::optional<std::string_view>("bitsandbytes") : std::nullopt);
  if (*fields.error() || name == "mxfp4") return;  // gpt-oss's: its tensors have names of their own
  std::string supported;
  for (const Method& method : kMethods) {
    if (method.name == name) return method.read(fields, quantisation.emplace(Quantisation{.method = {}, .name = name}));
    supported.append(supported.empty() ? "" : ", ").append(method.name);
  }
  fields->Unsupported("quant_method", nlohmann::json(name), supported + ", mxfp4 and MLX's");
}

// Reads the object `name` of `root`, if there is one.
inline void ReadObject(const nlohmann::json& root, const std::string& prefix, const char* name,
                       std::optional<Error>* error, std::optional<Quantisation>& quantisation) {
  const auto found = root.find(name);
  if (found == root.end() || found->is_null()) return;
  const JsonFields outer(&root, nullptr, prefix, error);
  if (!found->is_object()) return outer.WrongValue(name, *found, "an object");
  const QuantisationFields fields(*found, prefix + name + ".", error);
  // MLX has no name for its method. Newer versions write their object twice.
  const bool is_mlx =
      std::string_view(name) == "quantization" ||
      (root.contains("quantization") && !found->contains("quant_method") && *found == root["quantization"]);
  if (quantisation && !(is_mlx && quantisation->method == QuantisationMethod::kMlx)) {
    return outer.Unsupported(name, *found, "one description of quantised weights");
  }
  if (is_mlx) return ReadMlx(fields, quantisation.emplace(Quantisation{.method = {}, .name = "MLX"}));
  ReadMethod(fields, quantisation);
}

}  // namespace internal

SKALD_INLINE const QuantisedSizes& Quantisation::Of(std::string_view module) const {
  const auto found = others.find(module);
  return found == others.end() ? sizes : found->second;
}

SKALD_INLINE Result<std::optional<Quantisation>> ParseQuantisation(std::string_view config_json) {
  return NoThrow("config.json", [&]() -> Result<std::optional<Quantisation>> {
    nlohmann::json root;
    const internal::JsonGuard guard(root);
    std::optional<Quantisation> quantisation;
    if (!internal::ParsePythonJson(config_json, root).empty() || !root.is_object()) return quantisation;
    std::optional<Error> error;
    for (const char* const name : {"quantization", "quantization_config", "compression_config"}) {
      internal::ReadObject(root, "", name, &error, quantisation);
      const auto text = root.find("text_config");
      if (text == root.end() || !text->is_object()) continue;
      internal::ReadObject(*text, "text_config.", name, &error, quantisation);
    }
    if (error) return Fail(error->code, "config.json: " + error->message);
    return quantisation;
  });
}

SKALD_INLINE Result<std::optional<Quantisation>> QuantisationAt(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<std::optional<Quantisation>> {
    const auto folder = internal::IsFolder(path) ? path : path.parent_path();
    std::optional<Quantisation> quantisation;
    const auto read = [&](const char* name, auto parse) -> Result<void> {
      constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
      if (quantisation || !internal::Exists(folder / name)) return {};
      SKALD_ASSIGN(const auto text, ReadSmallFile(folder / name, kMaxBytes));
      auto parsed = parse(text);
      if (!parsed) return Annotate(PathText(folder), parsed);
      quantisation = std::move(*parsed);
      return {};
    };
    SKALD_TRY(read("config.json", [](const auto& text) { return ParseQuantisation(text); }));
    SKALD_TRY(read("hf_quant_config.json", [](const auto& text) { return internal::ParseModelOptFile(text); }));
    return quantisation;
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_H_
