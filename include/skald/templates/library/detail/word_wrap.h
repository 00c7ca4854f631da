// SPDX-License-Identifier: Apache-2.0
//
// The filter `wordwrap`: lines of a width, as Python's textwrap breaks them, with texts that keep their authors.
// Source: Lib/textwrap.py of github.com/python/cpython, of which these rules are.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_WORD_WRAP_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_WORD_WRAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/library/detail/text_filters.h"

namespace skald::internal::jinja {

// One line in characters, cut into chunks: white space, words, parts of words behind a hyphen, dashes.
class WrappedLine {
 public:
  struct Options {
    size_t width = 79;
    bool break_long_words = true, break_on_hyphens = true;
  };

  WrappedLine(Machine& machine, const MarkedText& line, const Options& options)
      : machine_(machine), line_(line), options_(options) {
    const std::string_view whole = line.text();
    if (!machine.Step(1 + whole.size()) || !machine.HasRoom(whole.size() * (sizeof(int32_t) + 2 * sizeof(size_t)))) {
      return;
    }
    for (size_t at = 0; at < whole.size();) {
      const size_t size = CharacterSize(whole.substr(at));
      offsets_.push_back(at);
      codes_.push_back(CodePoint(whole.substr(at, size)));
      at += size;
    }
    offsets_.push_back(whole.size());
  }

  // Appends the lines, with `separator` between them.
  void AppendTo(GrowingText& out, const MarkedText& separator) {
    FindChunks();
    bool has_line = false;
    for (size_t next = 0; next < chunks_.size() && machine_.Step();) {
      if (has_line && IsSpaceAt(chunks_[next].begin)) ++next;  // none at the start of a line but the first
      const Stretch line = TakeLine(next);
      if (line.empty()) continue;
      if (has_line) out.Append(separator);
      out.Append(line_, offsets_[line.begin], offsets_[line.end] - offsets_[line.begin]);
      has_line = true;
    }
  }

 private:
  struct Stretch {  // of characters
    size_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
    size_t size() const { return end - begin; }
  };

  size_t count() const { return codes_.size(); }
  int32_t At(size_t i) const { return i < count() ? codes_[i] : -1; }
  bool IsSpaceAt(size_t i) const { return At(i) == ' ' || (At(i) >= '\t' && At(i) <= '\r'); }
  bool IsHyphenAt(size_t i) const { return At(i) == '-'; }
  bool IsWordAt(size_t i) const { return At(i) == '_' || IsLetterOrDigit(At(i)); }
  bool IsLetterAt(size_t i) const { return IsWordAt(i) && !IsDecimal(At(i)); }
  bool EndsWordAt(size_t i) const {  // a letter or a mark behind which a dash may stand
    return IsWordAt(i) || (At(i) > 0 && At(i) < 0x80 &&
                           std::string_view("!\"'&.,?").find(static_cast<char>(At(i))) != std::string_view::npos);
  }

  // Where a dash of two or more hyphens before a word ends that begins at `i`, or `i`.
  size_t EndOfDash(size_t i) const {
    size_t end = i;
    while (IsHyphenAt(end)) ++end;
    return end >= i + 2 && IsWordAt(end) ? end : i;
  }

  bool HyphenJoins(size_t i) const {
    const bool before = (i >= 2 && IsLetterAt(i - 2) && IsLetterAt(i - 1)) ||
                        (i >= 3 && IsLetterAt(i - 3) && IsHyphenAt(i - 2) && EndsWordAt(i - 1));
    return before && IsLetterAt(i + 1) && (IsLetterAt(i + 2) || (IsHyphenAt(i + 2) && IsLetterAt(i + 3)));
  }

  size_t EndOfChunk(size_t begin) const {
    size_t end = begin;
    if (IsSpaceAt(begin)) {
      while (end < count() && IsSpaceAt(end)) ++end;
      return end;
    }
    if (options_.break_on_hyphens && begin > 0 && EndsWordAt(begin - 1) && EndOfDash(begin) > begin) {
      return EndOfDash(begin);
    }
    for (end = begin + 1; end < count() && !IsSpaceAt(end); ++end) {
      if (!options_.break_on_hyphens || !IsHyphenAt(end)) continue;
      if (HyphenJoins(end)) return end + 1;
      if (EndsWordAt(end - 1) && EndOfDash(end) > end) break;
    }
    return end;
  }

  void FindChunks() {
    for (size_t begin = 0; begin < count() && machine_.Step();) {
      const size_t end = EndOfChunk(begin);
      chunks_.push_back({begin, end});
      begin = end;
    }
  }

  // Takes chunks from `next` on, or a part of one that is longer than a line, as long as they fit.
  Stretch TakeLine(size_t& next) {
    if (next == chunks_.size()) return {};
    Stretch line = {chunks_[next].begin, chunks_[next].begin};
    const size_t first = next;
    while (next < chunks_.size() && line.size() + chunks_[next].size() <= options_.width)
      line.end = chunks_[next++].end;
    size_t last = next;  // behind the last chunk of the line
    if (next < chunks_.size() && chunks_[next].size() > options_.width) {
      if (options_.break_long_words) {
        const bool is_space = IsSpaceAt(chunks_[next].begin);
        chunks_[next].begin = EndOfPart(chunks_[next], options_.width - line.size());
        if (!is_space) line.end = chunks_[next].begin;
        return line;
      }
      if (next == first) line.end = chunks_[next++].end, last = next;
    }
    if (last > first && IsSpaceAt(chunks_[last - 1].begin)) line.end = chunks_[last - 1].begin;
    return line;
  }

  // Where to break a chunk that has more characters than there is room for: behind its last hyphen, if there is more
  // than hyphens before that.
  size_t EndOfPart(const Stretch& chunk, size_t room) const {
    const size_t end = chunk.begin + room;
    if (!options_.break_on_hyphens) return end;
    for (size_t i = end; i > chunk.begin + 1 && i-- > 0;) {
      if (!IsHyphenAt(i)) continue;
      for (size_t j = chunk.begin; j < i; ++j) {
        if (!IsHyphenAt(j)) return i + 1;
      }
      break;
    }
    return end;
  }

  Machine& machine_;
  const MarkedText& line_;
  Options options_;
  std::vector<size_t> offsets_;  // of each character in bytes, and the end
  std::vector<int32_t> codes_;
  std::vector<Stretch> chunks_;
};

inline Value WordWrapFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Integer width = IntegerInput(machine, inputs[0], 79);
  if (width <= 0) return machine.Fail("the width of wordwrap must be at least 1");
  WrappedLine::Options options;
  options.width = static_cast<size_t>(std::min<Integer>(width, Integer{1} << 32));
  options.break_long_words = FlagInput(inputs[1], true);
  options.break_on_hyphens = FlagInput(inputs[3], true);
  const bool is_given = inputs[2] != nullptr && !inputs[2]->Is(Type::kNone);
  const MarkedText separator = is_given ? PrintedInput(machine, inputs[2]) : MarkedText("\n", Author::kTemplate);
  const Value text = ToText(machine, subject);
  if (!machine.ok() || !machine.StepOver(text.text().size())) return {};
  GrowingText wrapped(machine);
  bool is_first = true;
  for (const MarkedText& line : SplitLines(machine, text.text(), false)) {
    if (!std::exchange(is_first, false)) wrapped.Append(separator);
    WrappedLine(machine, line, options).AppendTo(wrapped, separator);
  }
  return machine.NewText(std::move(wrapped).Take(), text.is_markup());
}

inline constexpr Builtin kWrapFilters[] = {
    {"wordwrap", "[width] [break_long_words] [wrapstring] [break_on_hyphens]", WordWrapFilter},
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_WORD_WRAP_H_
