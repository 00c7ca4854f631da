// SPDX-License-Identifier: Apache-2.0
//
// ReplyReader: the tokens of an answer as text for its sink, and as text and thought of a Reply.

#ifndef SKALD_OPEN_DETAIL_REPLY_READER_H_
#define SKALD_OPEN_DETAIL_REPLY_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skald/base/result.h"
#include "skald/open/chat.h"
#include "skald/open/conversation.h"
#include "skald/open/model_text.h"
#include "skald/open/tools/output_parser.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald::internal {

class ReplyReader {
 public:
  // Of an answer to `prompt`. All must outlive this.
  ReplyReader(const ModelText& text, std::span<const int32_t> prompt, bool shows_thoughts, Reply& reply)
      : text_(text), decoder_(text.tokenizer), shows_thoughts_(shows_thoughts), reply_(reply) {
    if (text.chat_template.parts().only_continues) {
      // The answer goes on with the prompt, with a space before its first word if it needs one.
      for (const int32_t id : prompt) static_cast<void>(decoder_.Push(id));
    } else if (!text.output.think_begin.empty() || text.output.tools == ToolForm::kHarmony) {
      parser_ = MakeOutputParser(
          {.format = text.output, .begins_thinking = BeginsThinking(text.tokenizer, text.output, prompt)});
    }
  }

  // Both return the text for the sink.
  Result<std::string> Push(int32_t id) {
    reply_.tokens.push_back(id);
    std::string piece;
    // A model may have rows beyond the tokenizer's pieces, which have no text.
    if (static_cast<size_t>(id) < text_.tokenizer.vocab_size()) {
      SKALD_ASSIGN(piece, decoder_.Push(id));
    }
    if (parser_ == nullptr) return reply_.text += piece, piece;
    std::string name;
    if (text_.output.needs_special_text() && piece.empty() && text_.tokenizer.KindOf(id) == PieceKind::kControl) {
      piece = decoder_.Flush();
      name = text_.tokenizer.IdToPiece(id).value_or("");
    }
    std::string shown = Take(parser_->Push(piece + name));
    return shows_thoughts_ ? piece : shown;
  }

  std::string Finish() {
    const std::string piece = decoder_.Flush();
    if (parser_ == nullptr) return reply_.text += piece, piece;
    std::string shown = Take(parser_->Push(piece));
    shown += Take(parser_->Finish());
    return shows_thoughts_ ? piece : shown;
  }

 private:
  std::string Take(const std::vector<OutputPart>& parts) {
    std::string shown;
    for (const OutputPart& part : parts) {
      if (part.kind == OutputPart::Kind::kReasoning) {
        reply_.thought += part.text;
      } else {
        shown += part.text;
      }
    }
    reply_.text += shown;
    return shown;
  }

  const ModelText& text_;
  StreamDecoder decoder_;
  std::unique_ptr<OutputParser> parser_;  // null: all is text for the user
  bool shows_thoughts_;
  Reply& reply_;
};

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_REPLY_READER_H_
