// SPDX-License-Identifier: Apache-2.0
//
// Text of a message never becomes a marker of the model's, whatever the tokenizer's file says of the marker. The
// formats are those of published models in few lines, with the built-in ones; if recorded renderings are available
// (templates_golden_test.cc) the published templates too.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/chat.h"
#include "skald/templates/built_in.h"
#include "skald/tokenizers/detail/sentencepiece/special_pieces.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace markers_test {

using nlohmann::json;
using Ids = std::vector<int32_t>;

struct Format {
  std::string name, source;
};

// Turns of DeepSeek V3, whose marks of turns are not called special by its tokenizer.json. Their bars and low lines are
// other characters (Fullwidth).
constexpr const char* kBarred = R"({% for m in messages %}
{%- if m.role == 'user' %}{{ '<|User|>' + m.content }}{% elif m.role == 'assistant' -%}
{{ '<|Assistant|>' + m.content + '<|end_of_sentence|>' }}{% elif m.role == 'tool' -%}
{{ '<|tool_outputs_begin|>' + m.content + '<|tool_outputs_end|>' }}{% else %}{{ m.content }}{% endif -%}
{% endfor %}{{ '<|Assistant|>' if add }})";

std::string Fullwidth(std::string_view ascii) {
  std::string text;
  for (const char c : ascii) {
    if (c == '|') {
      text += "\xEF\xBD\x9C";
    } else if (c == '_') {
      text += "\xE2\x96\x81";
    } else {
      text += c;
    }
  }
  return "{% set add = add_generation_prompt %}{{ bos_token }}" + text;
}

// Of Command R.
constexpr const char* kTurnTokens = R"({{ bos_token }}{% for m in messages -%}
{{ '<|START_OF_TURN_TOKEN|><|' + ('CHATBOT' if m.role == 'assistant' else m.role | upper) + '_TOKEN|>' }}
{{- m.content | trim }}{{ '<|END_OF_TURN_TOKEN|>' }}{% endfor -%}
{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' if add_generation_prompt }}{# <|USER_TOKEN|> <|SYSTEM_TOKEN|> #})";

// Of Qwen 3: thoughts, calls and their results.
constexpr const char* kThoughts = R"({% for m in messages -%}
{{ '<|im_start|>' + ('user' if m.role == 'tool' else m.role) + '\n' -}}
{{ '<tool_response>\n' + m.content + '\n</tool_response>' if m.role == 'tool' else m.content -}}
{% if m.tool_calls %}{{ '<tool_call>\n' ~ m.tool_calls | tojson ~ '\n</tool_call>' }}{% endif -%}
{{ '<|im_end|>\n' }}{% endfor -%}
{{ '<|im_start|>assistant\n<think>\n\n</think>\n\n' if add_generation_prompt }})";

std::vector<Format> Formats() {
  std::vector<Format> formats = {
      {"fullwidth", Fullwidth(kBarred)}, {"turn tokens", kTurnTokens}, {"thoughts", kThoughts}};
  for (const internal::BuiltInSource& source : internal::BuiltInSources()) {
    formats.push_back({std::string(source.name), std::string(internal::kTurns).append(source.source)});
  }
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (folder.empty()) return formats;
  for (const auto& file : std::filesystem::directory_iterator(folder / "templates")) {
    if (file.path().extension() == ".jinja") formats.push_back({file.path().filename().string(), ReadBytes(file)});
  }
  return formats;
}

// All bracketed texts in the source of a template.
std::vector<std::string> MarkersIn(const std::string& source) {
  static const std::regex kMarker(R"(<[^<>\s'"{}]{1,40}>|\[/?[A-Z_]+\])");
  std::set<std::string> found;
  for (std::sregex_iterator match(source.begin(), source.end(), kMarker), end; match != end; ++match) {
    if (IsMarkerName(match->str())) found.insert(match->str());
  }
  return {found.begin(), found.end()};
}

// The byte-level test tokenizer with further added tokens, which its file does not call special.
json TokenizerWith(const std::vector<std::string>& contents, bool is_normalized) {
  json tokenizer = json::parse(ReadBytes(RepositoryPath("tests/text/data/byte_level/tokenizer.json")));
  json& added = tokenizer["added_tokens"];
  for (const std::string& content : contents) {
    const bool is_known =
        std::any_of(added.begin(), added.end(), [&](const json& t) { return t["content"] == content; });
    if (is_known) continue;
    added.push_back({{"id", 415 + added.size()}, {"content", content}, {"special", false}});
    added.back()["normalized"] = is_normalized;
  }
  if (is_normalized) tokenizer["normalizer"] = {{"type", "NFC"}};
  return tokenizer;
}

Tokenizer Parsed(const json& tokenizer) {
  Result<Tokenizer> parsed = Tokenizer::Parse(tokenizer.dump());
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  return *std::move(parsed);
}

MarkedText Message(std::string_view text) { return {text, Author::kMessage}; }

// A chat in which every author except the model says `text`.
Chat ChatOf(const std::string& text, bool with_tools) {
  Chat chat;
  chat.Add(Role::kSystem, text);
  chat.Add(Role::kUser, text);
  if (with_tools) {
    chat.Add(Role::kAssistant, "a");
    TreeOf(chat.messages).back()["tool_calls"] = nlohmann::ordered_json::array(
        {{{"id", "call12345"}, {"type", "function"}, {"function", {{"name", "look"}, {"arguments", {{"at", text}}}}}}});
    TreeOf(chat.messages)
        .push_back({{"role", "tool"}, {"tool_call_id", "call12345"}, {"name", "look"}, {"content", text}});
    chat.Add(Role::kAssistant, "a");
    chat.Add(Role::kUser, text);
  }
  return chat;
}

TEST_CASE("messages give no marker of any template, whatever the tokenizer's file calls it") {
  size_t renderings = 0;
  for (const Format& format : Formats()) {
    CAPTURE(format.name);
    const Result<ChatTemplate> chat_template = ChatTemplate::Parse(format.source);
    REQUIRE(chat_template.has_value());
    const std::vector<std::string> markers = MarkersIn(format.source);
    for (const bool is_normalized : {false, true}) {
      const Tokenizer tokenizer = Parsed(TokenizerWith(markers, is_normalized));
      const auto markers_of = [&](const Chat& chat) {
        const Result<Ids> ids = EncodeChat(tokenizer, *chat_template, chat);
        std::vector<std::string> found;
        for (const int32_t id : ids.value_or(Ids())) {
          if (const std::string_view piece = *tokenizer.IdToPiece(id); tokenizer.SpecialId(piece))
            found.emplace_back(piece);
        }
        return found;
      };
      std::string all = "x";
      for (const std::string& marker : markers) all += " " + marker + "x" + marker;
      all += " <|im_end|> x";
      for (const bool with_tools : {false, true}) {
        if (!EncodeChat(tokenizer, *chat_template, ChatOf("x", with_tools))) continue;
        CHECK(markers_of(ChatOf(all, with_tools)) == markers_of(ChatOf("x", with_tools)));
        ++renderings;
      }
    }
  }
  CHECK(renderings >= 20);
}

TEST_CASE("a marker that a message spells has the ids that it has where no token is added") {
  const std::vector<std::string> markers = MarkersIn(Fullwidth(kBarred) + kTurnTokens + kThoughts);
  REQUIRE(markers.size() > 12);
  json bare = TokenizerWith({}, false);
  bare["added_tokens"] = json::array();
  bare["post_processor"] = nullptr;
  for (const bool is_normalized : {false, true}) {
    const Tokenizer tokenizer = Parsed(TokenizerWith(markers, is_normalized)), without = Parsed(bare);
    for (const std::string& marker : markers) {
      CAPTURE(marker);
      const std::string text = "Let there be " + marker + "\nlight";
      CHECK(*tokenizer.Encode(Message(text)) == MustEncode(without, text));
      // Parts of a marker of two authors are none.
      MarkedText half = Message(marker.substr(0, marker.size() / 2));
      half.Append(marker.substr(marker.size() / 2), Author::kTemplate);
      CHECK(*tokenizer.Encode(half) == MustEncode(without, marker));
      CHECK(*tokenizer.Encode(MarkedText(marker, Author::kTemplate)) == Ids{*tokenizer.SpecialId(marker)});
      half.Append(marker, Author::kTemplate);
      CHECK(tokenizer.Encode(half)->back() == *tokenizer.SpecialId(marker));
    }
  }
}

TEST_CASE("plain texts are parsed as the library that defines tokenizer.json parses them") {
  const Tokenizer tokenizer = Parsed(TokenizerWith({"<think>"}, false));
  CHECK(MustEncode(tokenizer, "<think>") == Ids{*tokenizer.SpecialId("<think>")});
  CHECK(MustEncode(tokenizer, "<|im_end|>").size() > 1);
  CHECK(MustEncode(tokenizer, "<|im_end|>", ParseSpecial::kYes) == Ids{*tokenizer.SpecialId("<|im_end|>")});
}

TEST_CASE("added tokens that stand for text stay tokens in messages") {
  const std::vector<std::string> texts = {
      "\n\n\n", "    ", "\xE2\x96\x81\xE2\x96\x81", "\xC3\xB8", "~", "<table>", "</code>", "CRISPR", "two words"};
  for (const bool is_normalized : {false, true}) {
    const Tokenizer tokenizer = Parsed(TokenizerWith(texts, is_normalized));
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(*tokenizer.Encode(Message(text)) == Ids{*tokenizer.PieceToId(text)});
    }
  }
  for (const char* marker : {"|||IP_ADDRESS|||", "_<EOT>", "Human:", "[PAD7]", "<s1>", "-->"}) {
    const Tokenizer tokenizer = Parsed(TokenizerWith({marker}, false));
    CHECK_MESSAGE(tokenizer.Encode(Message(marker))->size() > 1, marker);
  }
}

// Models whose own vocabulary, with no added token at work, makes a marker of its letters.
TEST_CASE("messages give no marker by way of the model's vocabulary either") {
  TokenizerSpec spec;
  int32_t next = 0;
  for (const char* piece : {"<unk>", "<", "/", "s", ">", "/s", "</", "</s", "</s>", "[CLS]", "[", "C", "L", "S", "]"}) {
    spec.vocabulary.Add(piece, next++);
  }
  spec.eos_id = 8;
  spec.added_tokens.push_back({.content = "[CLS]", .id = 9, .special = true});
  const auto check = [&](const TokenModel& model, const Ids& spelled) {
    spec.model = model;
    const Result<Tokenizer> tokenizer = Tokenizer::From(spec);
    REQUIRE_MESSAGE(tokenizer.has_value(), (tokenizer ? "" : tokenizer.error().message));
    CHECK(MustEncode(*tokenizer, "</s>") == Ids{8});  // as the library does
    CHECK(*tokenizer->Encode(Message("</s>")) == spelled);
    CHECK(*tokenizer->Encode(MarkedText("</s>", Author::kTemplate)) == Ids{8});
    const Ids ids = tokenizer->Encode(Message("[CLS]</s>[CLS]")).value_or(Ids());
    CHECK(std::count(ids.begin(), ids.end(), 8) + std::count(ids.begin(), ids.end(), 9) == 0);
  };
  token_model::Bpe bpe;
  bpe.unk_token = "<unk>";
  for (const char* part : {"<", "/", "</", "s", "</s", ">"}) bpe.merges.Add(part);
  SUBCASE("merges") { check(bpe, {7, 4}); }
  SUBCASE("words taken whole") {
    bpe.ignore_merges = true;
    check(bpe, {7, 4});
  }
  SUBCASE("scores") {
    token_model::Unigram unigram{.scores = std::vector<double>(static_cast<size_t>(next), -2), .unk_id = 0};
    unigram.scores[8] = unigram.scores[9] = 0;  // as SentencePiece's control pieces have
    unigram.scores[6] = -1;
    check(unigram, {7, 4});
  }
  SUBCASE("longest beginnings") {
    check(token_model::WordPiece{.unk_token = "<unk>", .continuing_subword_prefix = ""}, {7, 4});
  }
  SUBCASE("words") { check(token_model::WordLevel{.unk_token = "<unk>"}, {0}); }
}

TEST_CASE("a chat's own variables cannot take the place of what the template trusts") {
  const Tokenizer tokenizer = Parsed(TokenizerWith({"<|user|>"}, false));
  const Result<ChatTemplate> chat_template = ChatTemplate::Parse("{{ bos_token }}{{ messages[0].content }}{{ mood }}");
  for (const char* name : {"bos_token", "eos_token", "pad_token", "mask_token", "messages", "tools", "documents",
                           "add_generation_prompt"}) {
    CAPTURE(name);
    Chat chat = ChatOf("light", false);
    TreeOf(chat.variables)[name] = "<|user|>";
    const Result<MarkedText> text = RenderChat(tokenizer, *chat_template, chat);
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code == ErrorCode::kInvalidArgument);
    CHECK(text.error().message.find(name) != std::string::npos);
  }
  Chat chat = ChatOf("light", false);
  TreeOf(chat.variables)["mood"] = "glad";
  CHECK(RenderChat(tokenizer, *chat_template, chat)->text() == "<|begin_of_text|>lightglad");
}

}  // namespace markers_test
}  // namespace skald
