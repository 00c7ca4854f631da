// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/convert_model.h.

#ifndef SKALD_OPEN_DETAIL_CONVERT_MODEL_H_
#define SKALD_OPEN_DETAIL_CONVERT_MODEL_H_

#include "skald/open/convert_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/families/gguf_metadata.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/open/detail/convert_encoder.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/generation_config.h"
#include "skald/open/model_file.h"
#include "skald/templates/published.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/files/gguf_cursor.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/writing/draft_parameters.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

namespace internal {

// The chat template that the folder publishes, if there is one, with those for other uses.
inline Result<void> AddTemplate(const OpenedModel& model, GgufDraft& draft) {
  SKALD_ASSIGN(const auto published,
               ChatTemplateFromFiles([&](std::string_view name) { return ReadModelFile(model, name); }));
  if (!published) return {};
  constexpr std::string_view kName = "tokenizer.chat_template";
  draft.Set(GgufText(kName, published->source()));
  for (const auto& [name, source] : published->parts().named_sources) {
    if (name != "default") draft.Set(GgufText(Concat({kName, ".", name}), source));
  }
  return {};
}

// Returns the tokenizer that a file with these entries will have.
inline Result<Tokenizer> TokenizerOf(const std::vector<GgufEntry>& entries) {
  std::string image;
  const auto put = [&image](const auto& value) { image.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  for (const GgufEntry& entry : entries) {
    put(uint64_t{entry.name.size()});
    image += entry.name;
    put(entry.type);
    image += entry.bytes;
  }
  GgufCursor cursor(std::as_bytes(std::span(image)));
  return Tokenizer::Load(ReadGgufMetadata(cursor, entries.size()));
}

// Tells where the file's tokenizer makes other ids than the folder's of texts that tokenizers differ in: files say only
// of the first and the last token whether they go around texts, say.
inline Result<void> CompareTokenizers(const std::filesystem::path& folder, const std::vector<GgufEntry>& entries,
                                      GgufDraft& draft) {
  constexpr std::string_view kTexts[] = {"",
                                         "Hello, world",
                                         "  two  spaces\n\n\ttab ",
                                         "It's 2026: 3.14159 and 1,000,000 don't",
                                         "na\xC3\xAFve e\xCC\x81t\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80",
                                         "def f(x):\n    return x ** 2\n"};
  SKALD_ASSIGN(const auto expected, Tokenizer::Load(folder));
  SKALD_ASSIGN(const auto found, TokenizerOf(entries));
  for (const std::string_view text : kTexts) {
    SKALD_ASSIGN(const auto before, expected.Encode(text, ParseSpecial::kYes, AddSpecial::kYes));
    SKALD_ASSIGN(const auto after, found.Encode(text, ParseSpecial::kYes, AddSpecial::kYes));
    if (before == after) continue;
    draft.left_out.push_back(Concat({"the folder's tokenizer as it is: of the text ", QuotedName(text), " it makes ",
                                     std::to_string(before.size()), " tokens, and the file's other ones"}));
    return {};
  }
  return {};
}

// A model without a tokenizer runs on token ids, which its file says.
inline Result<void> AddTokenizer(const ModelInfo& info, GgufDraft& draft) {
  if (const auto file = TokenizerFileIn(info.model.folder()); !file && file.error().code == ErrorCode::kNotFound) {
    draft.Set(GgufText("tokenizer.ggml.model", "none"));
    return {};
  }
  SKALD_ASSIGN(auto entries, GgufTokenizerEntries(info.model.folder(), static_cast<size_t>(info.spec.vocab_size)));
  SKALD_TRY(CompareTokenizers(info.model.folder(), entries, draft));
  std::ranges::move(entries, std::back_inserter(draft.entries));
  return {};
}

// Keeps a small file of the folder as it is. Returns its content, if there is one.
inline Result<std::optional<std::string>> KeepFile(const OpenedModel& model, std::string_view name, GgufDraft& draft) {
  auto text = ReadModelFile(model, name);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!text) return Failure(text.error());
  draft.Set(GgufText(Concat({kFileEntry, name}), *text));
  return std::optional(*std::move(text));
}

// The publisher's advice by the names that llama.cpp has for some of it, beside the file.
inline Result<void> AddAdvice(const OpenedModel& model, GgufDraft& draft) {
  SKALD_ASSIGN(const auto text, KeepFile(model, kAdviceFile, draft));
  if (!text) return {};
  SKALD_ASSIGN(const auto advice, ParseGenerationConfig(*text));
  const std::pair<const char*, std::optional<float>> numbers[] = {{"temp", advice.temperature},
                                                                  {"top_p", advice.top_p},
                                                                  {"min_p", advice.min_p},
                                                                  {"penalty_repeat", advice.repetition_penalty}};
  constexpr std::string_view kSampling = "general.sampling.";
  for (const auto& [name, value] : numbers) {
    if (value) draft.Set(GgufNumber(Concat({kSampling, name}), *value));
  }
  if (advice.top_k) draft.Set(GgufNumber(Concat({kSampling, "top_k"}), static_cast<uint32_t>(*advice.top_k)));
  return {};
}

inline Result<GgufDraft> DraftOfFolder(const ModelInfo& info) {
  const uint32_t context = info.trained_context == 0 ? 2048 : info.trained_context;
  SKALD_ASSIGN(const auto encoder, EncoderIn(info));
  SKALD_ASSIGN(auto checkpoint, info.model.checkpoint());
  ModelSpec spec = info.spec;
  if (encoder && LacksHead(info, *encoder, *checkpoint)) spec.tied_embeddings = true;
  SKALD_ASSIGN(auto described, DescribeForGguf(spec, info.family, context));
  GgufDraft draft{std::move(described.entries), std::move(described.tensors)};
  draft.Set(GgufText("general.type", "model"));
  draft.Set(GgufText("general.name", info.name));
  ModelWeights weights(spec);
  SKALD_ASSIGN(auto drafted, DraftParameters(checkpoint, ParametersOf(weights), TensorNamesOf(*checkpoint),
                                             described.names, described.with_unused));
  std::ranges::move(drafted.tensors, std::back_inserter(draft.tensors));
  draft.tensors_left_out = std::move(drafted.left_out);
  if (std::ranges::any_of(checkpoint->tensors(), &TensorView::row_scale)) {
    draft.left_out.push_back("that inputs are rounded to 8 bits, row by row (BitNet)");
  }
  if (described.change_draft) described.change_draft(draft);
  if (encoder) SKALD_TRY(AddEncoder(info, described.architecture, *encoder, draft));
  SKALD_TRY(AddTokenizer(info, draft));
  SKALD_TRY(AddTemplate(info.model, draft));
  SKALD_TRY(AddAdvice(info.model, draft));
  SKALD_ASSIGN(const auto prompts, KeepFile(info.model, kPromptsFile, draft));
  (void)prompts;
  return draft;
}

}  // namespace internal

SKALD_INLINE Result<GgufDraft> DraftOfModel(const ModelInfo& info) {
  const std::string shown = PathText(info.model.path());
  return NoThrow(shown, [&]() -> Result<GgufDraft> {
    if (info.model.packed() != nullptr) {
      return Fail(ErrorCode::kUnsupported,
                  Concat({shown, ": is a packed file, expected a GGUF file or a folder with safetensors files"}));
    }
    if (info.model.gguf() != nullptr) return DraftOf(*info.model.gguf());
    auto draft = internal::DraftOfFolder(info);
    if (!draft) return Annotate(shown, draft);
    return draft;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_CONVERT_MODEL_H_
