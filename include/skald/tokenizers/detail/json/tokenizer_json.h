// SPDX-License-Identifier: Apache-2.0
//
// Reads Hugging Face's tokenizer.json. Vocabulary and merges, tens of megabytes of it, go straight from the text into
// the lists of a TokenizerSpec; the rest is small and read as a tree. The sections "truncation" and "padding", and the
// model's "dropout", are for training and batches, and are passed over. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_JSON_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_JSON_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/json/component_reader.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Takes "vocab" and "merges" of "model" out of the stream of events, and builds a tree of all else.
class TokenizerJsonEvents final : public JsonEvents {
 public:
  using Json = nlohmann::json;

  explicit TokenizerJsonEvents(Json& tree) : tree_(tree) {}

  // The parts found.
  Vocabulary vocabulary;
  std::vector<double> scores;  // where the vocabulary is a list of pieces and their scores
  bool is_list = false;
  TextList merges;
  bool has_merges = false;
  std::string complaint;

  bool start_object(size_t elements) override {
    if (big_ == Big::kNone) return Enter(tree_.start_object(elements));
    if (big_ == Big::kVocabulary && big_depth_ == 0) return Deeper();
    return Complain();
  }
  bool start_array(size_t elements) override {
    if (big_ == Big::kNone) return Enter(tree_.start_array(elements));
    if (big_ == Big::kVocabulary && big_depth_ == 0) is_list = true;
    if (big_ == Big::kMerges && big_depth_ == 0) has_merges = true;
    if (big_depth_ > 1 || (big_ == Big::kVocabulary && !is_list)) return Complain();
    parts_ = 0;
    return Deeper();
  }
  bool end_object() override { return big_ == Big::kNone ? Leave(tree_.end_object()) : Shallower(); }
  bool end_array() override {
    if (big_ == Big::kNone) return Leave(tree_.end_array());
    if (big_depth_ == 2 && parts_ != 2) return Complain();
    return Shallower();
  }
  bool key(std::string& name) override {
    if (big_ == Big::kVocabulary) {
      text_.swap(name);
      return true;
    }
    if (depth_ == 1) in_model_ = name == "model";
    if (depth_ == 2 && in_model_ && (name == "vocab" || name == "merges")) {
      big_ = name == "vocab" ? Big::kVocabulary : Big::kMerges;
      big_depth_ = 0;
      return true;
    }
    return tree_.key(name);
  }
  bool string(std::string& value) override {
    if (big_ == Big::kNone) return tree_.string(value);
    if (big_ == Big::kMerges) return big_depth_ == 1 ? AddMerge(value) : AddPart(value);
    if (big_depth_ != 2 || parts_++ != 0) return Complain();
    text_.swap(value);
    return true;
  }
  bool number_unsigned(Json::number_unsigned_t value) override {
    if (big_ == Big::kNone) return tree_.number_unsigned(value);
    if (big_ == Big::kVocabulary && !is_list && big_depth_ == 1) return AddPiece(value);
    return AddScore(static_cast<double>(value));
  }
  bool number_integer(Json::number_integer_t value) override {
    return big_ == Big::kNone ? tree_.number_integer(value) : AddScore(static_cast<double>(value));
  }
  bool number_float(Json::number_float_t value, const std::string& text) override {
    return big_ == Big::kNone ? tree_.number_float(value, text) : AddScore(value);
  }
  bool null() override {
    if (big_ == Big::kNone) return tree_.null();
    if (big_depth_ != 0) return Complain();
    big_ = Big::kNone;
    return true;
  }
  bool boolean(bool value) override { return big_ == Big::kNone ? tree_.boolean(value) : Complain(); }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  enum class Big { kNone, kVocabulary, kMerges };

  bool Enter(bool entered) {
    ++depth_;
    return entered;
  }
  bool Leave(bool left) {
    --depth_;
    return left;
  }
  bool Deeper() {
    ++big_depth_;
    return true;
  }
  bool Shallower() {
    if (--big_depth_ == 0) big_ = Big::kNone;
    return true;
  }

  bool AddPiece(uint64_t id) {
    if (id > static_cast<uint64_t>(kMaxTokenId)) {
      complaint = Concat({"gives the piece ", QuotedName(text_), " the id ", std::to_string(id), ", more than ",
                          std::to_string(kMaxTokenId)});
      return false;
    }
    vocabulary.Add(text_, static_cast<int32_t>(id));
    return true;
  }
  bool AddScore(double score) {
    if (big_ != Big::kVocabulary || big_depth_ != 2 || parts_++ != 1) return Complain();
    if (scores.size() > static_cast<size_t>(kMaxTokenId)) return Complain();
    vocabulary.Add(text_, static_cast<int32_t>(scores.size()));
    scores.push_back(score);
    return true;
  }
  bool AddMerge(const std::string& both) {
    const size_t space = both.find(' ');
    if (space == both.npos || both.find(' ', space + 1) != both.npos) {
      complaint = Concat({"has the merge ", QuotedName(both), ", expected two pieces with a space between them"});
      return false;
    }
    merges.Add(std::string_view(both).substr(0, space));
    merges.Add(std::string_view(both).substr(space + 1));
    return true;
  }
  bool AddPart(const std::string& part) {
    if (big_depth_ != 2 || parts_++ > 1) return Complain();
    merges.Add(part);
    return true;
  }
  bool Complain() {
    complaint = big_ == Big::kVocabulary
                    ? "has a vocabulary that is neither an object of ids nor an array of pairs of piece and score"
                    : "has merges that are no array of pairs of pieces";
    return false;
  }

  JsonBuilder tree_;
  Big big_ = Big::kNone;  // inside of which of the two
  size_t big_depth_ = 0;  // arrays and objects inside of it
  size_t depth_ = 0;      // and of all else
  size_t parts_ = 0;      // so far in a pair
  bool in_model_ = false;
  std::string text_;
};

// Returns what the text of a tokenizer.json says. Errors: kDataLoss for what is no such text or says what cannot be;
// kUnsupported for components that Skald does not know. They continue a sentence about the file.
inline Result<TokenizerSpec> ReadTokenizerJson(std::string_view text) {
  nlohmann::json tree;
  const JsonGuard guard(tree);
  TokenizerJsonEvents events(tree);
  if (std::string complaint; !ReadJson(text, events, complaint)) {
    return Fail(ErrorCode::kDataLoss, "the tokenizer.json " + (complaint.empty() ? events.complaint : complaint));
  }
  if (!tree.is_object()) return Fail(ErrorCode::kDataLoss, "the tokenizer.json is no object");
  std::optional<Error> error;
  const JsonFields root(&tree, nullptr, "", &error);
  TokenizerSpec spec;
  ReadSmallParts(root, spec);
  const std::optional<JsonFields> model = root.Object("model");
  if (!model) root.Missing("model");
  if (model) spec.model = ReadModelOptions(*model, events.has_merges, events.is_list);
  auto* const bpe = std::get_if<token_model::Bpe>(&spec.model);
  auto* const unigram = std::get_if<token_model::Unigram>(&spec.model);
  if (!error && (unigram != nullptr) != events.is_list) {
    model->WrongValue("vocab", std::string(events.is_list ? "a list of scores" : "an object of ids"),
                      "what the type says");
  }
  if (error) return Fail(error->code, "the tokenizer.json: " + error->message);
  spec.vocabulary = std::move(events.vocabulary);
  if (bpe != nullptr) bpe->merges = std::move(events.merges);
  if (unigram != nullptr) unigram->scores = std::move(events.scores);
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_JSON_H_
