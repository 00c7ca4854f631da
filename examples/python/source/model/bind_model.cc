// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bind.h"
#include "model/ranks.h"
#include "skald/families/spec_json.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/load_adapter.h"
#include "skald/model/load_any.h"
#include "skald/open/open_model.h"
#include "values/errors.h"

namespace skald::python {

namespace {

LoadOptions LoadOptionsOf(DType weight_type, unsigned threads) {
  LoadOptions options;
  options.dtype = weight_type;
  options.threads = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  return options;
}

// Part of an opened model, which keeps all of it.
template <class T>
std::shared_ptr<T> PartOf(const std::shared_ptr<LanguageModel>& opened, T& part) {
  return {opened, &part};
}

std::shared_ptr<LanguageModel> Open(const std::filesystem::path& path, std::optional<DType> weight_type,
                                    std::optional<std::filesystem::path> tokenizer,
                                    std::optional<std::string> chat_template,
                                    std::optional<std::filesystem::path> chat_template_file, unsigned threads) {
  OpenOptions options;
  options.weight_type = weight_type;
  options.load = LoadOptionsOf(DType::kBF16, threads);
  options.text.tokenizer = std::move(tokenizer);
  options.text.chat_template = std::move(chat_template);
  options.text.chat_template_file = std::move(chat_template_file);
  nb::gil_scoped_release release;
  return std::make_shared<LanguageModel>(Take(OpenModel(path, options)));
}

void BindOpened(nb::module_& m) {
  nb::class_<LanguageModel>(m, "LanguageModel",
                            "A model's files as a whole. Immutable; any number of threads may share it.")
      .def_prop_ro(
          "model", [](const std::shared_ptr<LanguageModel>& self) { return PartOf(self, self->model); },
          Doc("LanguageModel::model"))
      .def_prop_ro(
          "tokenizer", [](const LanguageModel& self) { return self.text.tokenizer; }, Doc("ModelText::tokenizer"))
      .def_prop_ro(
          "chat_template", [](const LanguageModel& self) { return self.text.chat_template.source(); },
          "The source of the chat template.")
      .def_prop_ro(
          "stop_ids", [](const LanguageModel& self) { return self.text.stop_ids; }, Doc("ModelText::stop_ids"))
      .def_prop_ro(
          "sampler", [](const LanguageModel& self) { return self.text.sampler; }, Doc("ModelText::sampler"))
      .def_prop_ro(
          "family", [](const LanguageModel& self) { return self.info.family; }, Doc("ModelInfo::family"))
      .def_prop_ro(
          "name", [](const LanguageModel& self) { return self.info.name; }, Doc("ModelInfo::name"))
      .def_prop_ro(
          "weight_type", [](const LanguageModel& self) { return self.info.weight_type; }, Doc("ModelInfo::weight_type"))
      .def_prop_ro(
          "trained_context", [](const LanguageModel& self) { return self.info.trained_context; },
          Doc("ModelInfo::trained_context"));
  m.def("open_model", &Open, "path"_a, nb::kw_only(), "weight_type"_a = nb::none(), "tokenizer"_a = nb::none(),
        "chat_template"_a = nb::none(), "chat_template_file"_a = nb::none(), "threads"_a = 0, Doc("OpenModel"));
}

}  // namespace

void BindModel(nb::module_& m) {
  nb::borrow<nb::class_<AnyModel>>(m.attr("Model"))
      .def_prop_ro("name", &AnyModel::name, Doc("AnyModel::name"))
      .def_prop_ro(
          "vocab_size", [](const AnyModel& self) { return self.spec().vocab_size; }, Doc("ModelSpec::vocab_size"))
      .def_prop_ro(
          "model_dim", [](const AnyModel& self) { return self.spec().model_dim; }, Doc("ModelSpec::model_dim"))
      .def_prop_ro(
          "num_blocks", [](const AnyModel& self) { return self.spec().blocks.size(); }, Doc("ModelSpec::blocks"))
      .def_prop_ro(
          "num_layers", [](const AnyModel& self) { return NumLayers(self.spec()); }, Doc("NumLayers"))
      .def_prop_ro(
          "spec_json", [](const AnyModel& self) { return Take(SpecToJson(self.spec())); }, Doc("SpecToJson"))
      .def(
          "load_adapter",
          [](const AnyModel& self, const std::filesystem::path& path) {
            nb::gil_scoped_release release;
            return std::make_shared<Adapter>(Take(LoadAdapter(path, self.spec())));
          },
          "path"_a, Doc("LoadAdapter"));
  nb::borrow<nb::class_<Adapter>>(m.attr("Adapter"))
      .def_prop_ro(
          "digest", [](const Adapter& self) { return nb::bytes(self.digest.data(), self.digest.size()); },
          Doc("Adapter::digest"));
  m.def(
      "load_model",
      [](const std::filesystem::path& path, DType weight_type, unsigned threads, const Ranks* ranks) {
        LoadOptions options = LoadOptionsOf(weight_type, threads);
        if (ranks != nullptr) options.share = ranks->share();
        nb::gil_scoped_release release;
        return std::make_shared<AnyModel>(Take(LoadAnyModel(path, options)));
      },
      "path"_a, nb::kw_only(), "weight_type"_a = DType::kBF16, "threads"_a = 0, "ranks"_a = nb::none(),
      Doc("LoadAnyModel"));
  m.def(
      "random_model",
      [](const std::string& spec_json, uint64_t seed, DType weight_type, unsigned threads) {
        nb::gil_scoped_release release;
        const ModelSpec spec = Take(SpecFromJson(spec_json));
        const unsigned count = LoadOptionsOf(weight_type, threads).threads;
        return std::make_shared<AnyModel>("random", Take(RandomWeights(spec, seed, weight_type, count)),
                                          StandardLayers::Functions());
      },
      "spec_json"_a, nb::kw_only(), "seed"_a = 1, "weight_type"_a = DType::kBF16, "threads"_a = 0,
      "A model of a description, as `Model.spec_json` has it, with weights that are a function of `seed`.");
  BindOpened(m);
}

}  // namespace skald::python
