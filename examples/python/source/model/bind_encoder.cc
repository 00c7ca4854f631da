// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind.h"
#include "skald/open/encoders/embeddings.h"
#include "skald/open/encoders/ranking.h"
#include "skald/open/open_encoder.h"
#include "state/objects.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

using Texts = std::vector<std::string>;

// The rows of all texts: [texts, dimension], or of unpooled ones an array for each text.
nb::object RowsOf(Embeddings given) {
  const auto kept = std::make_shared<Embeddings>(std::move(given));
  const size_t dimension = kept->dimension, rows = kept->begins.back();
  if (rows == kept->size()) return ArrayOf(kept->values.data(), {rows, dimension}, kept, true).value;
  nb::list each;
  for (size_t i = 0; i < kept->size(); ++i) {
    float* const first = kept->values.data() + kept->begins[i] * dimension;
    each.append(ArrayOf(first, {kept->begins[i + 1] - kept->begins[i], dimension}, kept, true).value);
  }
  return each;
}

EmbedOptions OptionsOf(std::string prompt_name, std::optional<std::string> prompt, std::optional<size_t> dimension,
                       std::optional<bool> normalise, std::optional<Pooling> pooling, LongText long_text) {
  EmbedOptions options;
  options.prompt_name = std::move(prompt_name);
  options.prompt = std::move(prompt);
  options.dimension = dimension;
  options.normalise = normalise;
  options.pooling = pooling;
  options.long_text = long_text;
  return options;
}

// Calls `compute` with a workspace, without the GIL.
template <class Function>
auto WithWorkspace(Computer& computer, Function compute) {
  const OneUser use = computer.Use();
  nb::gil_scoped_release release;
  return Take(compute(computer.workspace));
}

// Token ids of texts, and of which text of a pair each token is.
std::vector<TextIds> IdsOf(nb::list texts, std::optional<nb::list> types) {
  if (types && types->size() != texts.size()) {
    Raise(ErrorCode::kInvalidArgument, "`types` needs an element for each text");
  }
  std::vector<TextIds> ids;
  for (size_t i = 0; i < texts.size(); ++i) {
    ids.push_back({.tokens = TokenIds{texts[i]}.Read()});
    if (types) ids.back().types = TokenIds{(*types)[i]}.Read();
  }
  return ids;
}

void BindFacts(nb::module_& m) {
  nb::enum_<EncoderKind>(m, "EncoderKind", Doc("EncoderKind"))
      .value("ENCODER", EncoderKind::kEncoder, Doc("EncoderKind::kEncoder"))
      .value("DECODER", EncoderKind::kDecoder, Doc("EncoderKind::kDecoder"))
      .value("RERANKER", EncoderKind::kReranker, Doc("EncoderKind::kReranker"))
      .value("DECODER_RERANKER", EncoderKind::kDecoderReranker, Doc("EncoderKind::kDecoderReranker"));
  nb::enum_<Pooling>(m, "Pooling", Doc("Pooling"))
      .value("MEAN", Pooling::kMean, Doc("Pooling::kMean"))
      .value("FIRST", Pooling::kFirst, Doc("Pooling::kFirst"))
      .value("LAST", Pooling::kLast, Doc("Pooling::kLast"))
      .value("WEIGHTED", Pooling::kWeighted, Doc("Pooling::kWeighted"))
      .value("MAX", Pooling::kMax, Doc("Pooling::kMax"))
      .value("MEAN_ROOT", Pooling::kMeanRoot, Doc("Pooling::kMeanRoot"))
      .value("NONE", Pooling::kNone, Doc("Pooling::kNone"));
  nb::enum_<LongText>(m, "LongText", Doc("LongText"))
      .value("REFUSE", LongText::kRefuse, Doc("LongText::kRefuse"))
      .value("WINDOWS", LongText::kWindows, Doc("LongText::kWindows"))
      .value("CUT", LongText::kCut, Doc("LongText::kCut"));
  nb::class_<EncoderFacts>(m, "EncoderFacts", "What the files of an encoder say of its use.")
      .def_ro("kind", &EncoderFacts::kind, Doc("EncoderFacts::kind"))
      .def_ro("pooling", &EncoderFacts::pooling, Doc("EncoderFacts::pooling"))
      .def_ro("normalises", &EncoderFacts::normalises, Doc("EncoderFacts::normalises"))
      .def_ro("dimension", &EncoderFacts::dimension, Doc("EncoderFacts::dimension"))
      .def_ro("longest_text", &EncoderFacts::longest_text, Doc("EncoderFacts::longest_text"))
      .def_ro("prompts", &EncoderFacts::prompts, Doc("EncoderFacts::prompts"))
      .def_ro("default_prompt", &EncoderFacts::default_prompt, Doc("EncoderFacts::default_prompt"));
}

// Vectors of the caller's, in memory as they are.
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vectors = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void CheckWidth(size_t query, size_t rows) {
  if (query == rows) return;
  throw nb::value_error(
      ("a query of " + std::to_string(query) + " elements does not fit rows of " + std::to_string(rows)).c_str());
}

template <class T>
void BindSimilarities(nb::module_& m) {
  m.def(
      "similarities",
      [](const Vector<T>& query, const Vectors<T>& rows) {
        CheckWidth(query.size(), rows.shape(1));
        nb::gil_scoped_release release;
        auto scores = Take(Similarities(std::span(query.data(), query.size()), std::span(rows.data(), rows.size())));
        nb::gil_scoped_acquire acquire;
        return ArrayOf(std::move(scores));
      },
      "query"_a, "rows"_a, Doc("Similarities"));
}

void BindRanking(nb::module_& m) {
  BindSimilarities<float>(m);
  BindSimilarities<int8_t>(m);
  BindSimilarities<uint8_t>(m);
  m.def(
      "max_sim",
      [](const Vectors<float>& query, const Vectors<float>& document) {
        CheckWidth(query.shape(1), document.shape(1));
        nb::gil_scoped_release release;
        return MaxSim(std::span(query.data(), query.size()), std::span(document.data(), document.size()),
                      query.shape(1));
      },
      "query"_a, "document"_a, Doc("MaxSim"));
  m.def(
      "order_of_scores",
      [](const Vector<float>& scores, size_t most) {
        const std::vector<size_t> order = OrderOfScores(std::span(scores.data(), scores.size()), most);
        return ArrayOf(std::vector<uint64_t>(order.begin(), order.end()));
      },
      "scores"_a, "most"_a = 0, Doc("OrderOfScores"));
}

}  // namespace

void BindEncoder(nb::module_& m) {
  BindFacts(m);
  BindRanking(m);
  nb::class_<Encoder>(m, "Encoder",
                      "A model that embeds or ranks texts. Immutable; any number of threads may share it.")
      .def_prop_ro("facts", &Encoder::facts, Doc("Encoder::facts"), nb::rv_policy::copy)
      .def_prop_ro(
          "model",
          [](const std::shared_ptr<Encoder>& self) {
            return std::shared_ptr<AnyModel>(self, const_cast<AnyModel*>(&self->model()));  // whose calls are const
          },
          Doc("Encoder::model"))
      .def_prop_ro(
          "tokenizer",
          [](const Encoder& self) -> std::optional<Tokenizer> {
            if (self.tokenizer() == nullptr) return std::nullopt;
            return *self.tokenizer();
          },
          "None if it was opened without.")
      .def(
          "embed",
          [](const Encoder& self, const Texts& texts, Computer& computer, std::string prompt_name,
             std::optional<std::string> prompt, std::optional<size_t> dimension, std::optional<bool> normalise,
             std::optional<Pooling> pooling, LongText long_text) {
            const EmbedOptions options =
                OptionsOf(std::move(prompt_name), std::move(prompt), dimension, normalise, pooling, long_text);
            return RowsOf(
                WithWorkspace(computer, [&](Workspace& workspace) { return self.Embed(texts, workspace, options); }));
          },
          "texts"_a, "workspace"_a, nb::kw_only(), "prompt_name"_a = "", "prompt"_a = nb::none(),
          "dimension"_a = nb::none(), "normalise"_a = nb::none(), "pooling"_a = nb::none(),
          "long_text"_a = LongText::kRefuse,
          nb::sig(
              "def embed(self, texts: collections.abc.Sequence[str], workspace: Workspace, *, prompt_name: str = '', "
              "prompt: str | None = None, dimension: int | None = None, normalise: bool | None = None, pooling: "
              "Pooling | None = None, long_text: LongText = ...) -> "
              "numpy.typing.NDArray[numpy.float32]"),
          Doc("Encoder::Embed"))
      .def(
          "embed_ids",
          [](const Encoder& self, nb::list texts, Computer& computer, std::optional<nb::list> types,
             LongText long_text) {
            const std::vector<TextIds> ids = IdsOf(texts, types);
            const EmbedOptions options = OptionsOf("", {}, {}, {}, {}, long_text);
            return RowsOf(
                WithWorkspace(computer, [&](Workspace& workspace) { return self.EmbedIds(ids, workspace, options); }));
          },
          "texts"_a, "workspace"_a, nb::kw_only(), "types"_a = nb::none(), "long_text"_a = LongText::kRefuse,
          nb::sig("def embed_ids(self, texts: list[typing.Any], workspace: Workspace, *, types: list[typing.Any] | "
                  "None = None, long_text: LongText = ...) -> numpy.typing.NDArray[numpy.float32]"),
          Doc("Encoder::EmbedIds"))
      .def(
          "rank_ids",
          [](const Encoder& self, nb::list pairs, Computer& computer, std::optional<nb::list> types, bool raw,
             LongText long_text) {
            const std::vector<TextIds> ids = IdsOf(pairs, types);
            RankOptions options;
            options.raw = raw;
            options.long_text = long_text;
            return ArrayOf(
                WithWorkspace(computer, [&](Workspace& workspace) { return self.RankIds(ids, workspace, options); }));
          },
          "pairs"_a, "workspace"_a, nb::kw_only(), "types"_a = nb::none(), "raw"_a = false,
          "long_text"_a = LongText::kRefuse,
          nb::sig("def rank_ids(self, pairs: list[typing.Any], workspace: Workspace, *, types: list[typing.Any] | None "
                  "= None, raw: bool = False, long_text: LongText = ...) -> numpy.typing.NDArray[numpy.float32]"),
          Doc("Encoder::RankIds"))
      .def(
          "tokenize",
          [](const Encoder& self, const Texts& texts, std::string prompt_name, std::optional<std::string> prompt) {
            const EmbedOptions options =
                OptionsOf(std::move(prompt_name), std::move(prompt), {}, {}, {}, LongText::kRefuse);
            std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>> ids;
            for (TextIds& one : Take(self.Tokenize(texts, options))) {
              ids.emplace_back(std::move(one.tokens), std::move(one.types));
            }
            return ids;
          },
          "texts"_a, nb::kw_only(), "prompt_name"_a = "", "prompt"_a = nb::none(),
          "Returns the token ids of each text, special ones and prompt included, and of which text of a pair each is "
          "(nothing: of the first).")
      .def(
          "rank",
          [](const Encoder& self, const std::string& query, const Texts& documents, Computer& computer,
             std::string instruction, bool raw, LongText long_text) {
            RankOptions options;
            options.instruction = std::move(instruction);
            options.raw = raw;
            options.long_text = long_text;
            return ArrayOf(WithWorkspace(
                computer, [&](Workspace& workspace) { return self.Rank(query, documents, workspace, options); }));
          },
          "query"_a, "documents"_a, "workspace"_a, nb::kw_only(), "instruction"_a = "", "raw"_a = false,
          "long_text"_a = LongText::kRefuse, Doc("Encoder::Rank"));
  m.def(
      "open_encoder",
      [](const std::filesystem::path& path, std::optional<DType> weight_type, std::optional<Pooling> pooling,
         std::optional<EncoderKind> kind, bool has_text) {
        EncoderOptions options;
        options.weight_type = weight_type;
        options.pooling = pooling;
        options.kind = kind;
        options.has_text = has_text;
        nb::gil_scoped_release release;
        return std::make_shared<Encoder>(Take(OpenEncoder(path, options)));
      },
      "path"_a, nb::kw_only(), "weight_type"_a = nb::none(), "pooling"_a = nb::none(), "kind"_a = nb::none(),
      "has_text"_a = true, Doc("OpenEncoder"));
}

}  // namespace skald::python
