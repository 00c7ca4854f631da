// SPDX-License-Identifier: Apache-2.0
//
// Parses a chat template: text, {{ prints }} and {% statements %}. Loading other templates, and access to anything
// outside of them, are no part of the language here. A pure function.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_PARSER_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_PARSER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/syntax/detail/expression_parser.h"

namespace skald::internal::jinja {

// Most bytes of a template's source. The longest published have 20,000.
inline constexpr size_t kMaxTemplateBytes = size_t{1} << 20;

class Parser {
 public:
  static Result<std::shared_ptr<const Program>> Parse(std::string_view source, const Finders& find) {
    if (source.size() > kMaxTemplateBytes) {
      return Fail(ErrorCode::kOutOfRange, Concat({"it has ", std::to_string(source.size()), " bytes, expected at most ",
                                                  std::to_string(kMaxTemplateBytes)}));
    }
    SKALD_ASSIGN(auto tokens, Lexer(source).Run());
    const auto program = std::make_shared<Program>();
    Parser parser(std::move(tokens), find, program->names);
    program->body = parser.ParseBlock({}, {});
    if (!parser.in_.ok()) return Failure(*parser.in_.error());
    return program;
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  Parser(std::vector<Token> tokens, const Finders& find, Names& names) : in_(std::move(tokens), find, names) {}

  // Statements up to a tag that begins with one of `ends`, whose first word becomes the present token; without any, up
  // to the end of the template. `opened_by` is the tag that they end.
  Block ParseBlock(Words ends, std::string_view opened_by) {
    Block block;
    const ExpressionParser::Level level(in_);
    while (level && in_.ok()) {
      if (in_.At(TokenType::kEnd)) {
        if (ends.size() > 0) Missing(ends, opened_by);
        break;
      }
      if (in_.At(TokenType::kData)) {
        auto text = New(StatementType::kText);
        text->text = in_.NewText(in_.Current().text);
        in_.Skip();
        block.push_back(std::move(text));
      } else if (in_.At(TokenType::kPrintBegin)) {
        in_.Skip();
        auto print = New(StatementType::kPrint);
        print->value = in_.ParseTuple();
        in_.Expect(TokenType::kPrintEnd, "'}}'");
        block.push_back(std::move(print));
      } else {
        in_.Expect(TokenType::kBlockBegin, "a tag");
        for (const std::string_view end : ends) {
          if (in_.AtName(end)) return block;
        }
        if (auto statement = ParseStatement(ends, opened_by)) block.push_back(std::move(statement));
      }
    }
    return block;
  }

  // A block that ends with one tag of its own, `end`, which is taken whole.
  Block ParseWholeBlock(std::string_view end, std::string_view opened_by) {
    EndTag();
    Block block = ParseBlock({end}, opened_by);
    in_.Skip();
    EndTag();
    return block;
  }

  void EndTag() { in_.Expect(TokenType::kBlockEnd, "'%}'"); }

  void Missing(Words ends, std::string_view opened_by) {
    in_.Complain(Concat({"the template ends, but {% ", opened_by, " %} needs {% ", *(ends.end() - 1), " %}"}));
  }

  std::unique_ptr<Statement> New(StatementType type) const {
    auto statement = std::make_unique<Statement>();
    statement->type = type;
    statement->line = in_.Current().at.line;
    return statement;
  }

  // Begins after "{%".
  std::unique_ptr<Statement> ParseStatement(Words ends, std::string_view opened_by) {
    using Method = std::unique_ptr<Statement> (Parser::*)();
    constexpr std::pair<std::string_view, Method> kStatements[] = {
        {"if", &Parser::ParseIf},       {"for", &Parser::ParseFor},
        {"set", &Parser::ParseSet},     {"macro", &Parser::ParseMacro},
        {"call", &Parser::ParseCall},   {"filter", &Parser::ParseFilter},
        {"with", &Parser::ParseWith},   {"generation", &Parser::ParseGeneration},
        {"break", &Parser::ParseBreak}, {"continue", &Parser::ParseContinue}};
    for (const auto& [name, parse] : kStatements) {
      if (in_.AtName(name)) return (this->*parse)();
    }
    const std::string expected =
        ends.size() == 0 ? "" : Concat({"; {% ", opened_by, " %} needs {% ", *(ends.end() - 1), " %}"});
    in_.Complain(Concat({"there is no statement ", in_.Shown(), expected}));
    return nullptr;
  }

  std::unique_ptr<Statement> ParseIf() {
    auto statement = New(StatementType::kIf);
    while (in_.ok()) {
      Branch branch;
      const bool is_else = in_.AtName("else");
      in_.Skip();
      if (!is_else) branch.condition = in_.ParseTuple({.with_condition = false});
      EndTag();
      branch.body = is_else ? ParseBlock({"endif"}, "if") : ParseBlock({"elif", "else", "endif"}, "if");
      statement->branches.push_back(std::move(branch));
      if (in_.SkipName("endif")) break;
    }
    EndTag();
    return statement;
  }

  std::unique_ptr<Statement> ParseFor() {
    auto loop = New(StatementType::kFor);
    in_.Skip();
    loop->target = in_.ParseTarget(/*with_attribute=*/false);
    if (!in_.SkipName("in")) in_.Complain(Concat({"expected 'in', but found ", in_.Shown()}));
    loop->value = in_.ParseTuple({.with_condition = false, .end_word = "recursive"});
    if (in_.SkipName("if")) loop->condition = in_.ParseExpression();
    loop->is_recursive = in_.SkipName("recursive");
    EndTag();
    ++loops_;
    loop->body = ParseBlock({"else", "endfor"}, "for");
    --loops_;
    if (in_.SkipName("else")) {
      EndTag();
      loop->other_body = ParseBlock({"endfor"}, "for");
    }
    in_.Skip();
    EndTag();
    return loop;
  }

  std::unique_ptr<Statement> ParseLoopControl(StatementType type) {
    auto statement = New(type);
    if (loops_ == 0) in_.Complain(Concat({in_.Shown(), " stands outside of any loop"}));
    in_.Skip();
    EndTag();
    return statement;
  }
  std::unique_ptr<Statement> ParseBreak() { return ParseLoopControl(StatementType::kBreak); }
  std::unique_ptr<Statement> ParseContinue() { return ParseLoopControl(StatementType::kContinue); }

  std::unique_ptr<Statement> ParseSet() {
    auto statement = New(StatementType::kSet);
    in_.Skip();
    statement->target = in_.ParseTarget(/*with_attribute=*/true);
    if (in_.SkipOperator("=")) {
      statement->value = in_.ParseTuple();
      EndTag();
      return statement;
    }
    statement->type = StatementType::kSetBlock;
    statement->value = in_.ParseFilters(nullptr, false);
    statement->body = ParseWholeBlock("endset", "set");
    return statement;
  }

  // (a, b=1) of a macro or of the body of a {% call %}.
  void ParseParameters(Macro& macro) {
    in_.Expect("(");
    while (in_.ok() && !in_.AtOperator(")")) {
      if (!macro.parameters.empty()) in_.Expect(",");
      if (in_.AtOperator(")")) break;
      const int name = in_.names().Add(in_.ExpectName("the name of a parameter"));
      const bool has_default = in_.SkipOperator("=");
      if (!has_default && !macro.parameters.empty() && macro.parameters.back().second != nullptr) {
        in_.Complain("a parameter without a default value must not follow one with it");
      }
      macro.parameters.emplace_back(name, has_default ? in_.ParseExpression() : nullptr);
    }
    in_.Expect(")");
  }

  // Parses a body that is called separately from its surroundings, and notes which names it takes from its callers.
  // Names that an inner macro takes, the outer one takes too, as in Jinja.
  template <class ParseBody>
  void ParseCallable(Macro& macro, ParseBody parse_body) {
    const NamesUsed outside = std::exchange(in_.names_used, {});
    const size_t loops = std::exchange(loops_, 0);
    macro.body = parse_body();
    macro.uses_varargs = in_.names_used.varargs;
    macro.uses_kwargs = in_.names_used.kwargs;
    macro.uses_caller = in_.names_used.caller;
    in_.names_used.varargs |= outside.varargs;
    in_.names_used.kwargs |= outside.kwargs;
    in_.names_used.caller |= outside.caller;
    loops_ = loops;
  }

  std::unique_ptr<Statement> ParseMacro() {
    auto statement = New(StatementType::kMacro);
    in_.Skip();
    statement->macro = std::make_unique<Macro>();
    statement->macro->name = in_.ExpectName("the name of a macro");
    statement->target.name = in_.names().Add(statement->macro->name);
    ParseParameters(*statement->macro);
    ParseCallable(*statement->macro, [this] { return ParseWholeBlock("endmacro", "macro"); });
    return statement;
  }

  std::unique_ptr<Statement> ParseCall() {
    auto statement = New(StatementType::kCall);
    in_.Skip();
    statement->macro = std::make_unique<Macro>();
    statement->macro->name = "caller";
    if (in_.AtOperator("(")) ParseParameters(*statement->macro);
    statement->value = in_.ParseExpression();
    if (statement->value->type != ExpressionType::kCall) in_.Complain("{% call %} needs a call");
    ParseCallable(*statement->macro, [this] { return ParseWholeBlock("endcall", "call"); });
    return statement;
  }

  std::unique_ptr<Statement> ParseFilter() {
    auto statement = New(StatementType::kFilter);
    in_.Skip();
    statement->value = in_.ParseFilters(nullptr, true);
    statement->body = ParseWholeBlock("endfilter", "filter");
    return statement;
  }

  std::unique_ptr<Statement> ParseWith() {
    auto statement = New(StatementType::kWith);
    in_.Skip();
    while (in_.ok() && !in_.At(TokenType::kBlockEnd)) {
      if (!statement->branches.empty()) in_.Expect(",");
      Branch& assignment = statement->branches.emplace_back();
      assignment.target.name = in_.names().Add(in_.ExpectName("a name to assign to"));
      in_.Expect("=");
      assignment.value = in_.ParseExpression();
    }
    statement->body = ParseWholeBlock("endwith", "with");
    return statement;
  }

  // {% generation %} only marks, for training, what the model says.
  std::unique_ptr<Statement> ParseGeneration() {
    auto statement = New(StatementType::kScope);
    in_.Skip();
    const size_t loops = std::exchange(loops_, 0);
    statement->body = ParseWholeBlock("endgeneration", "generation");
    loops_ = loops;
    return statement;
  }

  ExpressionParser in_;
  size_t loops_ = 0;  // around the present statement, inside of its macro
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_PARSER_H_
