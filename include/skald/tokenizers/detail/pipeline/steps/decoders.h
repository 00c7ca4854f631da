// SPDX-License-Identifier: Apache-2.0
//
// From pieces back to text: a chain of steps through which pieces go one by one, so that decoding a whole text and
// decoding it id by id are the same. A step may hold pieces back that later ones can change; what it remembers is a
// DecodingState::Step. Immutable; safe for concurrent calls, each with a state of its own.
// Source: tokenizers/src/decoders of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_DECODERS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_DECODERS_H_

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/utf8.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/pipeline/steps/patterns.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Whether all ids are there already, or a reader waits for each.
enum class DecodingMode { kWhole, kStream };

class DecoderStep {
 public:
  using State = DecodingState::Step;
  using Texts = std::vector<std::string>;  // where a step puts what goes on to the next one

  virtual ~DecoderStep() = default;
  // `is_added`: the piece is an added token, and this the first step.
  virtual void Push(State& state, std::string text, bool is_added, DecodingMode mode, Texts& out) const = 0;
  virtual void Flush(State&, DecodingMode, Texts&) const {}
  // The bytes of a piece in the middle of a text; nothing if they depend on the pieces beside it.
  virtual std::optional<std::string> Inside(std::string text, bool is_added) const {
    State state;
    state.started = true;
    Texts out;
    Push(state, std::move(text), is_added, DecodingMode::kWhole, out);
    std::string joined;
    for (const std::string& part : out) joined += part;
    return joined;
  }
};

// Joins bytes, and lets out whole characters.
class ByteLevelStep final : public DecoderStep {
 public:
  explicit ByteLevelStep(token_decoder::ByteLevel step) : step_(step) {}
  void Push(State& state, std::string text, bool is_added, DecodingMode, Texts& out) const override {
    const bool verbatim = is_added && step_.added_tokens_verbatim;
    if (verbatim || !AppendLettersBytes(text, state.held)) state.held += text;
    std::string certain;
    TakeUtf8(state.held, certain);
    if (!certain.empty()) out.push_back(std::move(certain));
  }
  void Flush(State& state, DecodingMode, Texts& out) const override {
    if (!state.held.empty()) TakeLastUtf8(state.held, out.emplace_back());
  }
  std::optional<std::string> Inside(std::string text, bool is_added) const override {
    std::string bytes;
    const bool verbatim = is_added && step_.added_tokens_verbatim;
    return verbatim || !AppendLettersBytes(text, bytes) ? text : bytes;
  }

 private:
  token_decoder::ByteLevel step_;
};

// Joins pieces like <0xE2>. A row of them that is no text as a whole becomes U+FFFD for each; where a reader waits it
// becomes whatever it is, as early as possible.
class ByteFallbackStep final : public DecoderStep {
 public:
  void Push(State& state, std::string text, bool, DecodingMode mode, Texts& out) const override {
    if (const std::optional<uint8_t> byte = ByteOfPiece(text)) {
      state.held += static_cast<char>(*byte);
      std::string certain;
      if (mode == DecodingMode::kStream) TakeUtf8(state.held, certain);
      if (!certain.empty()) out.push_back(std::move(certain));
      return;
    }
    Flush(state, mode, out);
    out.push_back(std::move(text));
  }
  void Flush(State& state, DecodingMode mode, Texts& out) const override {
    if (state.held.empty()) return;
    if (mode == DecodingMode::kStream) {
      TakeLastUtf8(state.held, out.emplace_back());
    } else if (ValidUtf8Prefix(state.held) == state.held.size()) {
      out.push_back(std::exchange(state.held, {}));
    } else {
      for (size_t i = 0; i < state.held.size(); ++i) out.emplace_back(kReplacementCharacter);
      state.held.clear();
    }
  }
  std::optional<std::string> Inside(std::string text, bool) const override {
    const std::optional<uint8_t> byte = ByteOfPiece(text);
    return byte ? std::string(1, static_cast<char>(*byte)) : text;
  }
};

// Word symbols become spaces; those of the first piece nothing, where encoding may have put them there.
class MetaspaceStep final : public DecoderStep {
 public:
  MetaspaceStep(token_decoder::Metaspace step, bool is_one_text) : step_(std::move(step)), is_one_text_(is_one_text) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    const bool drops = !state.started && step_.prepend_scheme != PrependScheme::kNever;
    state.started = !is_one_text_;
    out.push_back(step_.replacement.empty() ? text : ReplaceLetters(text, step_.replacement, drops ? "" : " "));
  }

 private:
  token_decoder::Metaspace step_;
  bool is_one_text_;
};

class ReplaceStep final : public DecoderStep {
 public:
  ReplaceStep(std::optional<SplitPattern> regex, token_decoder::Replace step)
      : regex_(std::move(regex)), step_(std::move(step)) {}
  void Push(State&, std::string text, bool, DecodingMode, Texts& out) const override {
    const size_t most = text.size() + kMostAdded;
    if (!regex_) {
      const std::string& letters = step_.pattern.text;
      const bool is_small = !letters.empty() && text.size() / letters.size() <= most / (1 + step_.content.size());
      out.push_back(is_small ? ReplaceLetters(text, letters, step_.content) : text);
      return;
    }
    std::vector<ByteRange> matches;
    const Result<std::string> replaced = ReplaceMatches(*regex_, text, step_.content, matches, most);
    out.push_back(replaced ? *replaced : text);  // a pattern that takes too long or makes too much replaces nothing
  }

 private:
  static constexpr size_t kMostAdded = size_t{1} << 20;  // bytes, by one step to one piece

  std::optional<SplitPattern> regex_;
  token_decoder::Replace step_;
};

// Drops letters from both ends of a piece.
class StripStep final : public DecoderStep {
 public:
  explicit StripStep(token_decoder::Strip step) : step_(std::move(step)) {}
  void Push(State&, std::string text, bool, DecodingMode, Texts& out) const override {
    std::string_view rest = text;
    for (size_t i = 0; i < step_.start && StartsWithContent(rest); ++i) rest.remove_prefix(step_.content.size());
    for (size_t i = 0; i < step_.stop && !step_.content.empty() && rest.ends_with(step_.content); ++i) {
      rest.remove_suffix(step_.content.size());
    }
    out.emplace_back(rest);
  }

 private:
  bool StartsWithContent(std::string_view text) const {
    return !step_.content.empty() && text.starts_with(step_.content);
  }

  token_decoder::Strip step_;
};

// The same of the whole text, which comes in parts. `count` are the letters dropped so far.
class StripTextStep final : public DecoderStep {
 public:
  explicit StripTextStep(token_decoder::Strip step) : step_(std::move(step)) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    const std::string& letter = step_.content;
    std::string_view rest = text;
    while (!state.started && !rest.empty()) {
      const bool drops = state.count < step_.start && !letter.empty() && rest.starts_with(letter);
      if (drops) {
        rest.remove_prefix(letter.size());
        ++state.count;
      } else {
        state.started = true;
      }
    }
    if (rest.empty()) return;
    state.held += rest;
    size_t kept = state.held.size();  // all but what may be dropped from the end
    for (size_t i = 0; i < step_.stop && !letter.empty(); ++i) {
      if (!std::string_view(state.held).substr(0, kept).ends_with(letter)) break;
      kept -= letter.size();
    }
    if (kept == 0) return;
    out.push_back(state.held.substr(0, kept));
    state.held.erase(0, kept);
  }
  void Flush(State& state, DecodingMode, Texts&) const override { state.held.clear(); }
  std::optional<std::string> Inside(std::string text, bool) const override { return text; }

 private:
  token_decoder::Strip step_;
};

// The rules of detokenizers of the English language.
inline std::string CleanUp(std::string text) {
  static constexpr std::string_view kPairs[][2] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& pair : kPairs) text = ReplaceLetters(text, pair[0], pair[1]);
  return text;
}

// Puts a space before each piece but the first, or drops the prefix of pieces that go on with a word.
class WordPieceStep final : public DecoderStep {
 public:
  explicit WordPieceStep(token_decoder::WordPiece step) : step_(std::move(step)) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    if (std::exchange(state.started, true)) {
      if (text.starts_with(step_.prefix)) {
        text.erase(0, step_.prefix.size());
      } else {
        text.insert(0, " ");
      }
    }
    out.push_back(step_.cleanup ? CleanUp(std::move(text)) : text);
  }

 private:
  token_decoder::WordPiece step_;
};

// Suffixes of words become spaces, that of the last piece nothing: so each piece waits for the next.
class BpeDecoderStep final : public DecoderStep {
 public:
  explicit BpeDecoderStep(token_decoder::BpeDecoder step) : step_(std::move(step)) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    if (state.started) out.push_back(WithSuffixAs(" ", state.held));
    state.held = std::move(text);
    state.started = true;
  }
  void Flush(State& state, DecodingMode, Texts& out) const override {
    if (std::exchange(state.started, false)) out.push_back(WithSuffixAs("", std::exchange(state.held, {})));
  }
  std::optional<std::string> Inside(std::string text, bool) const override { return WithSuffixAs(" ", text); }

 private:
  std::string WithSuffixAs(std::string_view end, const std::string& text) const {
    return step_.suffix.empty() ? text : ReplaceLetters(text, step_.suffix, end);
  }

  token_decoder::BpeDecoder step_;
};

// Connectionist temporal classification: of equal pieces in a row one counts.
class CtcStep final : public DecoderStep {
 public:
  explicit CtcStep(token_decoder::Ctc step) : step_(std::move(step)) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    if (state.started && state.held == text) return;
    state.started = true;
    state.held = text;
    if (!step_.pad_token.empty()) text = ReplaceLetters(text, step_.pad_token, "");
    if (step_.cleanup) {
      text = CleanUp(std::move(text));
      if (!step_.word_delimiter_token.empty()) text = ReplaceLetters(text, step_.word_delimiter_token, " ");
    }
    if (!text.empty()) out.push_back(std::move(text));
  }
  void Flush(State& state, DecodingMode, Texts&) const override { state = {}; }
  std::optional<std::string> Inside(std::string, bool) const override { return std::nullopt; }

 private:
  token_decoder::Ctc step_;
};

// Used if there is no decoder at all.
class SpacesBetweenStep final : public DecoderStep {
 public:
  void Push(State& state, std::string text, bool, DecodingMode, Texts& out) const override {
    if (std::exchange(state.started, true)) text.insert(0, " ");
    out.push_back(std::move(text));
  }
};

// Runs a step on a whole text that comes in parts, at its end.
class WaitForEndStep final : public DecoderStep {
 public:
  explicit WaitForEndStep(std::unique_ptr<const DecoderStep> step) : step_(std::move(step)) {}
  void Push(State& state, std::string text, bool, DecodingMode, Texts&) const override { state.held += text; }
  void Flush(State& state, DecodingMode mode, Texts& out) const override {
    if (state.held.empty()) return;
    State inner;
    step_->Push(inner, std::exchange(state.held, {}), false, mode, out);
    step_->Flush(inner, mode, out);
  }
  std::optional<std::string> Inside(std::string, bool) const override { return std::nullopt; }

 private:
  std::unique_ptr<const DecoderStep> step_;
};

class DecoderChain {
 public:
  static Result<DecoderChain> Make(std::span<const TokenDecoder> decoders) {
    DecoderChain chain;
    bool is_one_text = false;  // pieces do not count any more: a step before has joined them
    for (const TokenDecoder& decoder : decoders) {
      if (Result<void> added = chain.Add(decoder, is_one_text); !added) return Failure(added.error());
      is_one_text |= std::holds_alternative<token_decoder::Fuse>(decoder) ||
                     std::holds_alternative<token_decoder::ByteLevel>(decoder);
    }
    if (decoders.empty()) chain.steps_.push_back(std::make_unique<SpacesBetweenStep>());
    return chain;
  }

  // The prefix that encoding puts before a text, and this drops.
  LeadingSpace leading_space() const { return leading_space_; }

  // Returns the text that one more piece completes.
  std::string Push(DecodingState& state, std::string_view piece, bool is_added, DecodingMode mode) const {
    state.steps.resize(steps_.size());
    DecoderStep::Texts texts;
    texts.emplace_back(piece);
    return Run(state, 0, std::move(texts), is_added, mode);
  }

  // Returns what becomes of a piece in the middle of a text, in bytes; nothing where that depends on the pieces beside
  // it.
  std::optional<std::string> Inside(std::string piece, bool is_added) const {
    std::optional<std::string> text = std::move(piece);
    for (size_t i = 0; i < steps_.size() && text; ++i) text = steps_[i]->Inside(*std::move(text), is_added && i == 0);
    return text;
  }

  // Returns what is left at the end.
  std::string Flush(DecodingState& state, DecodingMode mode) const {
    state.steps.resize(steps_.size());
    std::string text;
    for (size_t i = 0; i < steps_.size(); ++i) {
      DecoderStep::Texts texts;
      steps_[i]->Flush(state.steps[i], mode, texts);
      text += Run(state, i + 1, std::move(texts), false, mode);
    }
    return text;
  }

 private:
  Result<void> Add(const TokenDecoder& decoder, bool is_one_text) {
    using namespace token_decoder;
    if (std::holds_alternative<Fuse>(decoder)) return {};  // what follows takes it into account
    if (const auto* const space = std::get_if<Metaspace>(&decoder)) {
      if (space->prepend_scheme != PrependScheme::kNever) leading_space_ = LeadingSpace::kDropOne;
      steps_.push_back(std::make_unique<MetaspaceStep>(*space, is_one_text));
      return {};
    }
    if (const auto* const strip = std::get_if<Strip>(&decoder); strip != nullptr && is_one_text) {
      if (strip->start > 0 && strip->content == " ") leading_space_ = LeadingSpace::kDropOne;
      steps_.push_back(std::make_unique<StripTextStep>(*strip));
      return {};
    }
    Result<std::unique_ptr<const DecoderStep>> step = MakeStep(decoder);
    if (!step) return Failure(step.error());
    if (is_one_text) step = std::make_unique<WaitForEndStep>(*std::move(step));
    steps_.push_back(*std::move(step));
    return {};
  }

  static Result<std::unique_ptr<const DecoderStep>> MakeStep(const TokenDecoder& decoder) {
    using namespace token_decoder;
    if (const auto* const bytes = std::get_if<ByteLevel>(&decoder)) return std::make_unique<ByteLevelStep>(*bytes);
    if (const auto* const strip = std::get_if<Strip>(&decoder)) return std::make_unique<StripStep>(*strip);
    if (const auto* const words = std::get_if<token_decoder::WordPiece>(&decoder)) {
      return std::make_unique<WordPieceStep>(*words);
    }
    if (const auto* const bpe = std::get_if<BpeDecoder>(&decoder)) return std::make_unique<BpeDecoderStep>(*bpe);
    if (const auto* const ctc = std::get_if<Ctc>(&decoder)) return std::make_unique<CtcStep>(*ctc);
    const auto* const replace = std::get_if<Replace>(&decoder);
    if (replace == nullptr) return std::make_unique<ByteFallbackStep>();
    std::optional<SplitPattern> regex;
    if (replace->pattern.is_regex) {
      SKALD_ASSIGN(auto compiled, SplitPattern::Compile(replace->pattern.text));
      regex = std::move(compiled);
    }
    return std::make_unique<ReplaceStep>(std::move(regex), *replace);
  }

  // Sends texts through the steps from `first` on, and returns what comes out.
  std::string Run(DecodingState& state, size_t first, DecoderStep::Texts texts, bool is_added,
                  DecodingMode mode) const {
    DecoderStep::Texts next;
    for (size_t i = first; i < steps_.size() && !texts.empty(); ++i) {
      next.clear();
      for (std::string& text : texts) steps_[i]->Push(state.steps[i], std::move(text), is_added && i == 0, mode, next);
      std::swap(texts, next);
    }
    std::string joined;
    for (const std::string& text : texts) joined += text;
    return joined;
  }

  std::vector<std::unique_ptr<const DecoderStep>> steps_;
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_DECODERS_H_
