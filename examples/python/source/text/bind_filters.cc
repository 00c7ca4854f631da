// SPDX-License-Identifier: Apache-2.0

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "text/filters.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/held.h"
#include "values/json.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

// Words of one bit for each id, of an array of bool or of such words.
std::vector<uint64_t> WordsOf(nb::handle mask) {
  nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> flags;
  if (nb::try_cast(mask, flags, false)) {
    std::vector<uint64_t> words((flags.size() + 63) / 64);
    for (size_t id = 0; id < flags.size(); ++id) words[id / 64] |= uint64_t{flags.data()[id]} << (id % 64);
    return words;
  }
  nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> given;
  if (nb::try_cast(mask, given, false)) return {given.data(), given.data() + given.size()};
  throw nb::type_error("allowed(): expected an array of bool, one for each id, or of uint64, one bit for each id");
}

// Asks an object of Python.
class PythonFilter final : public TokenFilter {
 public:
  explicit PythonFilter(Held object) : object_(std::move(object)) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override {
    return CallPython<std::unique_ptr<TokenFilter>>("the filter's clone()", [&] {
      return std::unique_ptr<TokenFilter>(std::make_unique<PythonFilter>(Hold(object_->attr("clone")())));
    });
  }
  Result<std::span<const uint64_t>> Allowed() override {
    return CallPython<std::span<const uint64_t>>("the filter's allowed()", [&] {
      words_ = WordsOf(object_->attr("allowed")());
      return std::span<const uint64_t>(words_);
    });
  }
  Result<void> Accept(int32_t id) override {
    return CallPython<void>("the filter's accept()", [&]() -> Result<void> {
      object_->attr("accept")(id);
      return {};
    });
  }
  bool IsComplete() const override {
    return CallPython<bool>("the filter's is_complete()",
                            [&] { return nb::cast<bool>(nb::bool_(object_->attr("is_complete")())); })
        .value_or(false);
  }

 private:
  Held object_;
  std::vector<uint64_t> words_;
};

using Vocabulary = TokenVocabulary;

std::shared_ptr<Vocabulary> MakeVocabulary(const Tokenizer& tokenizer, const std::vector<int32_t>& end_ids) {
  nb::gil_scoped_release release;
  return std::const_pointer_cast<Vocabulary>(Take(TokenVocabulary::Make(tokenizer, end_ids)));
}

Filter Compile(Result<Grammar> grammar, const std::shared_ptr<Vocabulary>& vocabulary) {
  nb::gil_scoped_release release;
  return {std::make_shared<GrammarFilter>(Take(GrammarFilter::Compile(Take(std::move(grammar)), vocabulary)))};
}

}  // namespace

std::shared_ptr<TokenFilter> FilterOf(nb::handle object) {
  if (nb::isinstance<Filter>(object)) return Take(nb::cast<Filter&>(object).value->Clone());
  for (const char* method : {"clone", "allowed", "accept", "is_complete"}) {
    if (!nb::hasattr(object, method)) {
      throw nb::type_error((std::string("a filter of your own lacks the method ") + method + "()").c_str());
    }
  }
  return std::make_shared<PythonFilter>(Hold(nb::borrow(object)));
}

void BindFilters(nb::module_& m) {
  nb::class_<Vocabulary>(m, "TokenVocabulary", "The texts of a tokenizer's pieces, for filters. Shared by any number.")
      .def(nb::new_(&MakeVocabulary), "tokenizer"_a, "end_ids"_a = std::vector<int32_t>(), Doc("TokenVocabulary::Make"))
      .def("__len__", &Vocabulary::size);
  nb::class_<Filter>(m, "TokenFilter", "Which tokens may come next in one text.")
      .def_static(
          "json_schema",
          [](nb::handle schema, const std::shared_ptr<Vocabulary>& vocabulary) {
            return Compile(ParseJsonSchema(JsonText(schema)), vocabulary);
          },
          "schema"_a, "vocabulary"_a, Doc("ParseJsonSchema"))
      .def_static(
          "json_object",
          [](const std::shared_ptr<Vocabulary>& vocabulary) { return Compile(AnyJsonObject(), vocabulary); },
          "vocabulary"_a, Doc("AnyJsonObject"))
      .def_static(
          "gbnf",
          [](std::string_view text, const std::shared_ptr<Vocabulary>& vocabulary) {
            return Compile(ParseGbnf(text), vocabulary);
          },
          "text"_a, "vocabulary"_a, Doc("ParseGbnf"))
      .def(
          "clone", [](const Filter& self) { return Filter{Take(self.value->Clone())}; }, nb::lock_self(),
          Doc("TokenFilter::Clone"))
      .def(
          "allowed",
          [](Filter& self) {
            const std::span<const uint64_t> words = Take(self.value->Allowed());
            return ArrayOf(std::vector<uint64_t>(words.begin(), words.end()), false);
          },
          nb::lock_self(), Doc("TokenFilter::Allowed"))
      .def(
          "accept", [](Filter& self, int32_t id) { Take(self.value->Accept(id)); }, "id"_a, nb::lock_self(),
          Doc("TokenFilter::Accept"))
      .def(
          "is_complete", [](const Filter& self) { return self.value->IsComplete(); }, nb::lock_self(),
          Doc("TokenFilter::IsComplete"));
}

}  // namespace skald::python
