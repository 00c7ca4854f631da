// SPDX-License-Identifier: Apache-2.0
//
// Chat templates as models publish them: programs in the Jinja language that write a chat as the text that a model was
// trained on. Every byte of a rendering knows whether the template or a message wrote it, so that no message can spell
// a special token. A ChatTemplate is immutable and cheap to copy; all its functions are safe for concurrent calls.
//
// The language is that of Jinja 3.1 (jinja.palletsprojects.com) in the environment of Hugging Face's transformers
// (utils/chat_template_utils.py), without what loads other templates. As a kindness to templates that need it, lists
// and dictionaries can be changed by their methods.

#ifndef SKALD_TEMPLATES_CHAT_TEMPLATE_H_
#define SKALD_TEMPLATES_CHAT_TEMPLATE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/json/json_value.h"
#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/templates/syntax/syntax.h"
#include "skald/templates/values/machine.h"

namespace skald {

/// Variables of a rendering by name. The members of an object of an empty name are variables. Everything that they
/// refer to must outlive the call. (JSON values cannot be copied if memory runs out, so a rendering does not copy
/// them.)
using TemplateVariables = std::vector<std::pair<std::string_view, const JsonValue*>>;

/// The settings of one rendering.
struct RenderOptions {
  std::optional<WallTime> now = {};  ///< what strftime_now tells; without it templates find no such function
  TemplateLimits limits = {};        ///< of steps, memory and output
};

/// Returns the options with the time of the system's clock, in its time zone.
RenderOptions RenderOptionsNow();

/// The parts of a chat template, beside its program.
struct ChatTemplateParts {
  std::string name = "chat template";  ///< for errors
  /// Other programs by name, as "tool_use", of models that publish several.
  std::vector<std::pair<std::string, std::string>> named_sources = {};
  /// The spellings of special tokens by the names in kSpecialTokenNames; none for one that the model does not have. For
  /// names that are missing, the tokenizer is asked.
  std::map<std::string, std::optional<std::string>, std::less<>> special_tokens = {};
  /// Whether it has no format at all: the model continues the text of the messages.
  bool only_continues = false;
  /// Whether a rendering that does not begin with the token that begins texts gets it nevertheless.
  bool adds_bos = false;
  /// Marks that are ordinary text for the tokenizer, which messages of users and systems must therefore not contain.
  std::vector<std::string> marks = {};
  /// Special pieces that the tokenizer must have; "BOS" and "EOS" for whatever begins and ends its texts.
  std::vector<std::string> pieces = {};
  /// Special pieces that end the model's turn, beside the tokenizer's end of text.
  std::vector<std::string> stops = {};
};

/// The parsed program of a chat template. Copies share it. It does not change, so any number of threads may render at
/// the same time.
class ChatTemplate {
 public:
  /// Parses a template's source. Errors tell the line and column.
  static Result<ChatTemplate> Parse(std::string_view source) { return Make(source, {}); }

  /// The same with all that belongs to it.
  static Result<ChatTemplate> Make(std::string_view source, ChatTemplateParts parts);

  /// Renders the template with `variables`, an object. Strings in them are the messages', but for special tokens
  /// and well-known roles. The program is the one named in `named_sources` or else the main one.
  /// Errors: kInvalidArgument, with the line, for what the program complains of or cannot do; kOutOfRange for a limit.
  Result<MarkedText> Render(const JsonValue& variables, const RenderOptions& options = {},
                            std::string_view name = {}) const;

  /// The same with variables that do not lie in one object. The last one of a name counts.
  Result<MarkedText> Render(const TemplateVariables& variables, const RenderOptions& options = {},
                            std::string_view name = {}) const;

  /// The parts of the program; valid as long as the template or a copy of it.
  const ChatTemplateParts& parts() const { return content_->parts; }
  /// The source of the main program; valid as parts().
  const std::string& source() const { return content_->source; }
  /// Whether a program of this name belongs to the template.
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

 private:
  struct Content {
    ChatTemplateParts parts;
    std::string source;
    std::shared_ptr<const internal::jinja::Program> program;
    std::vector<std::pair<std::string, std::shared_ptr<const internal::jinja::Program>>> named;
  };

  explicit ChatTemplate(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  const internal::jinja::Program* Find(std::string_view name) const;

  std::shared_ptr<const Content> content_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/templates/detail/chat_template.h"
#endif

#endif  // SKALD_TEMPLATES_CHAT_TEMPLATE_H_
