// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bind.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

ParseSpecial ParseOf(bool parse) { return parse ? ParseSpecial::kYes : ParseSpecial::kNo; }
AddSpecial AddOf(bool add) { return add ? AddSpecial::kYes : AddSpecial::kNo; }

// A StreamDecoder with the tokenizer that it refers to.
struct Decoder {
  explicit Decoder(const Tokenizer& given) : tokenizer(given), decoder(tokenizer) {}

  Tokenizer tokenizer;
  StreamDecoder decoder;
};

}  // namespace

void BindTokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer", "Text to token ids and back. Any number of threads may share it.")
      .def_static(
          "load", [](const std::filesystem::path& path) { return Take(Tokenizer::Load(path)); }, "path"_a,
          Doc("Tokenizer::Load"))
      .def(
          "encode",
          [](const Tokenizer& self, std::string_view text, bool parse_special, bool add_special) {
            nb::gil_scoped_release release;
            return Take(self.Encode(text, ParseOf(parse_special), AddOf(add_special)));
          },
          "text"_a, nb::kw_only(), "parse_special"_a = false, "add_special"_a = false, Doc("Tokenizer::Encode"))
      .def(
          "decode",
          [](const Tokenizer& self, TokenIds ids, bool skip_special) {
            return Take(self.Decode(ids.Read(), skip_special ? SkipSpecial::kYes : SkipSpecial::kNo));
          },
          "ids"_a, nb::kw_only(), "skip_special"_a = true, Doc("Tokenizer::Decode"))
      .def_prop_ro("vocab_size", &Tokenizer::vocab_size, Doc("Tokenizer::vocab_size"))
      .def_prop_ro("bos_id", &Tokenizer::bos_id, Doc("Tokenizer::bos_id"))
      .def_prop_ro("eos_id", &Tokenizer::eos_id, Doc("Tokenizer::eos_id"))
      .def_prop_ro("unk_id", &Tokenizer::unk_id, Doc("Tokenizer::unk_id"))
      .def_prop_ro("pad_id", &Tokenizer::pad_id, Doc("Tokenizer::pad_id"))
      .def("piece_to_id", &Tokenizer::PieceToId, "piece"_a, Doc("Tokenizer::PieceToId"))
      .def("special_id", &Tokenizer::SpecialId, "name"_a, Doc("Tokenizer::SpecialId"))
      .def(
          "id_to_piece",
          [](const Tokenizer& self, int32_t id) {
            const std::string_view piece = Take(self.IdToPiece(id));
            return nb::steal<nb::str>(
                PyUnicode_DecodeUTF8(piece.data(), static_cast<Py_ssize_t>(piece.size()), "replace"));
          },
          "id"_a, Doc("Tokenizer::IdToPiece"))
      .def(
          "bytes_of",
          [](const Tokenizer& self, int32_t id) {
            const std::string bytes = Take(self.BytesOf(id));
            return nb::bytes(bytes.data(), bytes.size());
          },
          "id"_a, Doc("Tokenizer::BytesOf"));
  nb::class_<Decoder>(m, "StreamDecoder", "Text of token ids that come one after the other.")
      .def(nb::init<const Tokenizer&>(), "tokenizer"_a)
      .def(
          "push", [](Decoder& self, int32_t id) { return Take(self.decoder.Push(id)); }, "id"_a, nb::lock_self(),
          Doc("StreamDecoder::Push"))
      .def(
          "flush", [](Decoder& self) { return self.decoder.Flush(); }, nb::lock_self(), Doc("StreamDecoder::Flush"));
}

}  // namespace skald::python
