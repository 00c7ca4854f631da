// SPDX-License-Identifier: Apache-2.0
//
// Chat templates where models publish them: chat_template.jinja, chat_template.json and tokenizer_config.json in a
// folder, or the metadata of a GGUF file. Pure but for the files that they are given; safe for concurrent calls.
// Sources: transformers (tokenization_utils_base.py, save_chat_templates) and llama.cpp (llama-model.cpp).

#ifndef SKALD_TEMPLATES_PUBLISHED_H_
#define SKALD_TEMPLATES_PUBLISHED_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "skald/base/result.h"
#include "skald/templates/chat_template.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

/// Reads a file of a model, by name; kNotFound if there is none.
using ReadPublishedFile = std::function<Result<std::string>(std::string_view name)>;

/// Returns the chat template that a model publishes in its files, if it does. Of several named ones, "default" is the
/// main one. Errors: what a file says that cannot be right, with its name; those of ChatTemplate::Parse.
Result<std::optional<ChatTemplate>> ChatTemplateFromFiles(const ReadPublishedFile& read_file);

/// Returns the chat templates in `metadata` in the form of a tokenizer_config.json, or nothing if there are none.
std::optional<std::string> TokenizerConfigFromGguf(const GgufMetadata& metadata);

/// Returns the chat template in the metadata of a GGUF file, if there is one; some files have the name of a built-in
/// one in its place. Errors: those of ChatTemplate::Parse.
Result<std::optional<ChatTemplate>> ChatTemplateFromGguf(const GgufMetadata& metadata);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/templates/detail/published.h"
#endif

#endif  // SKALD_TEMPLATES_PUBLISHED_H_
