// SPDX-License-Identifier: Apache-2.0
//
// The language of chat templates: one small program for each of its parts, and programs that mean harm.

#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/templates/chat_template.h"

namespace skald {
namespace templates_test {

using Json = nlohmann::ordered_json;

Json Variables() {
  return Json::parse(R"({
    "messages": [{"role": "user", "content": " Hi <b>, \"you\" "}, {"role": "assistant", "content": "Yes"}],
    "data": {"z": 1, "a": [true, null, 2.5, "it's"], "n": {"deep": {"er": "x"}}},
    "large": 18446744073709551615, "empty": "", "none": null, "word": "Gr\u00fc\u00dfe"})");
}

Result<MarkedText> Render(std::string_view source, const TemplateLimits& limits = {}) {
  const Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed) return Failure(parsed.error());
  RenderOptions options;
  options.now = WallTime{2024, 2, 29, 7, 8, 9};
  options.limits = limits;
  return parsed->Render(JsonValueOf(Variables()), options);
}

void CheckRenders(const std::vector<std::pair<std::string_view, std::string_view>>& cases) {
  for (const auto& [source, expected] : cases) {
    CAPTURE(source);
    const Result<MarkedText> text = Render(source);
    REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().message));
    CHECK(text->text() == expected);
  }
}

std::string ErrorOf(std::string_view source, ErrorCode code = ErrorCode::kInvalidArgument,
                    const TemplateLimits& limits = {}) {
  CAPTURE(source.substr(0, 100));
  const Result<MarkedText> text = Render(source, limits);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().code == code);
  return text.error().message;
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST_CASE("values print as Python prints them") {
  CheckRenders(
      {{"{{ data }}", "{'z': 1, 'a': [True, None, 2.5, \"it's\"], 'n': {'deep': {'er': 'x'}}}"},
       {"{{ large }} {{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ (1,) }} {{ none }} {{ nothing }}",
        "18446744073709551615 1.0 1e+16 1e-05 (1,) None "},
       {"{{ data | tojson }}", R"({"z": 1, "a": [true, null, 2.5, "it's"], "n": {"deep": {"er": "x"}}})"},
       {"{{ {'a': [1], 'b': {}} | tojson(indent=1) }}", "{\n \"a\": [\n  1\n ],\n \"b\": {}\n}"},
       {"{{ ('{\"a\": [1, true], \"b\": null}' | from_json).items() | list }}", "[('a', [1, True]), ('b', None)]"},
       {"{{ range(3) }} {{ data.n.items() }} {{ namespace(a=1) }}",
        "range(0, 3) dict_items([('deep', {'er': 'x'})]) <Namespace {'a': 1}>"}});
}

TEST_CASE("operators bind and compute as in Jinja") {
  CheckRenders({{"{{ 1 + 2 * 3 ** 2 - -4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }}", "23 3 -4 2 3.5"},
                {"{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 2 ** -1 }}", "4 64 0.5"},
                {"{{ 'a' ~ 1 + 2 ~ 'b' }} {{ 1 < 2 < 3 }} {{ 1 == 1.0 }} {{ '' == false }}", "a12b True True False"},
                {"{{ not 1 == 2 }} {{ 'b' in word }} {{ 'z' in data }} {{ 3 not in [1, 2] }}", "True False True True"},
                {"{{ 'x' if empty else 'y' }} {{ 'x' if empty }} {{ none or 'd' }} {{ 1 and 0 }}", "y  d 0"},
                {"{{ [1] + [2] }} {{ 'ab' * 2 }} {{ '%s-%03d' % ('a', 7) }}", "[1, 2] abab a-007"}});
}

TEST_CASE("attributes, items and slices find what is there") {
  CheckRenders(
      {{"{{ data.n.deep.er }} {{ data['n']['deep'] }} {{ data.nothing }} {{ messages[-1].content }}",
        "x {'er': 'x'}  Yes"},
       {"{{ 'abcdef'[1:4] }} {{ 'abcdef'[::-2] }} {{ [1, 2, 3][-2:] }} {{ word[2:4] }} {{ word | length }}",
        "bcd fdb [2, 3] \xC3\xBC\xC3\x9F 5"},
       {"{{ data.items() is defined }} {{ messages | map(attribute='role') | join(' ') }}", "True user assistant"},
       {"{{ messages.0.role }} {{ [1][5] }} {{ data.a.0 }}", "user  True"}});
}

TEST_CASE("statements keep their variables where Jinja keeps them") {
  CheckRenders(
      {{"{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231"},
       {"{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}", "4"},
       {"{% if true %}{% set y = 5 %}{% endif %}{{ y }}", "5"},
       {"{% for i in range(9) if i is odd %}{{ loop.index }}/{{ loop.length }}{% if i > 4 %}{% break %}{% endif %},"
        "{% else %}none{% endfor %}",
        "1/4,2/4,3/4"},
       {"{% for i in [] %}{% else %}none{% endfor %}{% for k, v in data.n.items() %}{{ k }}{{ v.er }}{% endfor %}",
        "nonedeepx"},
       {"{% macro m(a, b='B') %}[{{ a }}{{ b }}{{ caller() if caller }}]{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}"
        "{% call m(4) %}!{% endcall %}",
        "[1B][32][4B!]"},
       {"{% set t %} {{ word }} {% endset %}{{ t | trim }}{% filter upper %}a{% endfilter %}",
        "Gr\xC3\xBC\xC3\x9F"
        "eA"},
       {"{% with a = 1 %}{{ a }}{% endwith %}{{ a }}{% generation %}g{% endgeneration %}", "1g"},
       {"{% for x in [[1, [2]]] recursive %}{{ loop(x) if x is sequence else x }}{% endfor %}", "12"},
       {"{% raw %}{{ x }}{% endraw %}{# no #}", "{{ x }}"}});
}

TEST_CASE("white space around tags goes as trim_blocks and lstrip_blocks say") {
  CheckRenders({{"a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
                {"a {%- if true -%} b {%- endif -%} c", "abc"},
                {"a {% if true %} b\n  {%+ endif +%}\nc", "a  b\n  \nc"},
                {"{{ 1 }}\n{{- 2 }} {# x #}\n3\n\n", "12 3\n"},
                {"a\r\nb\rc", "a\nb\nc"}});
}

TEST_CASE("filters, tests and methods do as their names say") {
  CheckRenders(
      {{"{{ [3, 1, 2] | sort | join('-') }} {{ ['b', 'A'] | sort }} {{ [1, 1, 2] | unique | list }}",
        "1-2-3 ['A', 'b'] [1, 2]"},
       {"{{ word | upper }} {{ 'a b' | title }} {{ 'x' | default('d') }} {{ nothing | default('d') }}",
        "GR\xC3\x9CSSE A B x d"},
       {"{{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ none | select | list }}", "1 []"},
       {"{{ [1, 2, 3] | sum }} {{ [1, 5] | max }} {{ 2.5 | round }} {{ '7' | int + 1 }} {{ 'a\nb' | indent(2) }}",
        "6 5 2.0 8 a\n  b"},
       {"{{ data | dictsort | first }} {{ [1, 2, 3] | batch(2) | list }} {{ '<' | e }} {{ ('<' | safe) + '<' }}",
        "('a', [True, None, 2.5, \"it's\"]) [[1, 2], [3]] &lt; <&lt;"},
       {"{{ 'a,b'.split(',') }} {{ ' a '.strip() }} {{ 'aXa'.replace('X', '-') }} {{ 'abc'.startswith(('x', 'a')) }}",
        "['a', 'b'] a a-a True"},
       {"{{ data.get('q', 7) }} {{ '{:>4}|{!r}'.format('a', 'b') }} {{ 'a-b'.partition('-') }}",
        "7    a|'b' ('a', '-', 'b')"},
       {"{% set l = [1] %}{{ l.append(2) }}{{ l }}{% set d = {} %}{% set _ = d.update(a=1) %}{{ d }}",
        "None[1, 2]{'a': 1}"},
       {"{{ strftime_now('%d %b %Y, %A %-H:%M') }} {{ 1 is number }} {{ x is undefined }} {{ data is mapping }}",
        "29 Feb 2024, Thursday 7:08 True True True"},
       {"{% set j = joiner('+') %}{{ j() }}{{ j() }}{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}", "+12"},
       {"{{ [1, 2] | map('string') | tojson if false else 'g' }} {{ '\\u00e9\\x41\\n' | tojson }}",
        "g \"\xC3\xA9"
        "A\\n\""}});
}

TEST_CASE("what is undefined is only what one look for it gave, and methods that change things count as undefined") {
  CheckRenders({
      {"{{ nothing is sameas nothing }} {% set x = nothing %}{{ x is sameas x }}", "False True"},
      {"{{ none is sameas none }} {{ true is sameas true }} {{ data is sameas data }}", "True True True"},
      {"{{ data.pop is defined }} {{ data.pop is undefined }} {{ data.pop | default('x') }}", "False True x"},
      {"{{ data.update is defined }} {{ data.a.append is defined }} {{ data.a.index is defined }}", "False False True"},
      {"{{ data.get is defined }} {{ data.pop('z') }} {{ data | length }}", "True 1 2"},
  });
}

// As Python's textwrap does.
TEST_CASE("lines are wrapped") {
  CheckRenders({
      {"{{ 'aaa bbb ccc-ddd eee' | wordwrap(7) }}", "aaa bbb\nccc-ddd\neee"},
      {"{{ 'one-two three--four' | wordwrap(5, wrapstring='|') }}", "one-|two|three|--|four"},
      {"{{ 'aaa bbbbbbbb' | wordwrap(4, wrapstring='|') }}", "aaa |bbbb|bbbb"},
      {"{{ 'aaa bbbbbbbb\n\n  c' | wordwrap(4, false) }}", "aaa\nbbbbbbbb\n\n  c"},
      {"{{ word | wordwrap(2, break_on_hyphens=false) }}", "Gr\n\xC3\xBC\xC3\x9F\ne"},
  });
  CHECK(Contains(ErrorOf("{{ word | wordwrap(0) }}"), "at least 1"));
  CheckRenders(
      {{"{{ lipsum is defined }} {{ lipsum(2, false, 3, 4) | wordcount }} {{ lipsum() is escaped }}", "True 6 True"}});
}

TEST_CASE("a rendering knows who wrote which byte") {
  const auto authors = [](std::string_view source) {
    const Result<MarkedText> text = Render(source);
    REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().message));
    std::string shown;
    for (size_t i = 0; i < text->size(); ++i) shown += static_cast<char>(text->AuthorAt(i));
    return text->text() + " " + shown;
  };
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"<{{ messages[1].content }}>", "<Yes> tmmmt"},
      {"{{ '<' + messages[1].content | upper + '>' }}", "<YES> tmmmt"},
      {"{{ messages[1].role }}", "assistant ttttttttt"},
      {"{{ [messages[1].content] }}", "['Yes'] ttmmmtt"},
      {"{{ messages[1].content | tojson }}", "\"Yes\" tmmmt"},
      {"{{ messages[1].content.replace('e', '--') }}", "Y--s mttm"},
      {"{{ messages[1].content[::-1] }}{{ 12 }}{{ none }}", "seY12None mmmtttttt"},
      {"{{ [messages[1].content, 'x'] | join('-') }}", "Yes-x mmmtt"},
      {"{{ '%s|%4s' % (messages[1].content, 'x') }}", "Yes|   x mmmttttt"},
      {"{{ '{}|'.format(messages[1].content) }}", "Yes| mmmt"},
      {"{% set x %}({{ messages[1].content }}){% endset %}{{ x | trim('(') }}", "Yes) mmmt"},
      {"{{ messages[1] | list | first }}", "role mmmm"},
      {"{{ messages[1].content | e | truncate(2, true, '.', 0) }}", "Y. mt"}};
  for (const auto& [source, expected] : cases) {
    CAPTURE(source);
    CHECK(authors(source) == expected);
  }
}

TEST_CASE("errors of syntax tell the line and column") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"\n {{ 1 + }}", "line 2, column 9"},
      {"{% if true %}", "endif"},
      {"{% endif %}", "line 1, column 4"},
      {"{{ 'x }}", "line 1, column 4: the text in quotes has no end"},
      {"{{ x", "line 1, column 5"},
      {"a\nb {# c", "line 2, column 3: the comment has no end"},
      {"{{ [1, 2 }}", "expected ']', but found '}'"},
      {"{{ x | nothing }}", "there is no filter named 'nothing'"},
      {"{{ x is nothing }}", "there is no test named 'nothing'"},
      {"{% break %}", "outside of any loop"},
      {"{% include 'x' %}", "there is no statement 'include'"},
      {"{{ 99999999999999999999999999999999999999999 }}", "128 bits"},
      {"{% for x in y %}{% endif %}", "endfor"},
      {"{% set true = 1 %}", "cannot be assigned to"},
      {"{{ \x01 }}", "has no meaning here"},
      {"{% raw %}", "endraw"},
      {"{{ '\\u12' }}", "escape"},
      {"{{ f(a=1, 2) }}", "without a name"}};
  for (const auto& [source, part] : cases) {
    const std::string message = ErrorOf(source);
    CHECK_MESSAGE(Contains(message, part), message);
    CHECK_MESSAGE(Contains(message, "the chat template: line "), message);
  }
}

TEST_CASE("errors of a rendering tell the line") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"\n\n{{ nothing.more }}", "line 3: 'nothing' is undefined"},
      {"{{ data.q.more }}", "'dict object' has no attribute 'q'"},
      {"{{ raise_exception('as ' ~ 1) }}", "line 1: as 1"},
      {"{{ nothing + 1 }}", "'nothing' is undefined"},
      {"{{ nothing() }}", "'nothing' is undefined"},
      {"{{ 'a' + 1 }}", "'+' does not take str and int"},
      {"{{ 1 / 0 }}{{ 'unreached' }}", "division by zero"},
      {"{{ 5 % 0 }}", "division by zero"},
      {"{{ 1.5 // 0 }}", "division by zero"},
      {"{{ 'abc'[::0] }}", "the step of a slice is zero"},
      {"{{ range(1, 5, 0) }}", "the step of range is zero"},
      {"{{ 3 | length }}", "has no length"},
      {"{% for x in 3 %}{% endfor %}", "no elements"},
      {"{{ 'a' < 1 }}", "does not compare"},
      {"{% set x = {} %}{% set x.y = 1 %}", "is no namespace"},
      {"{% set a, b = [1] %}", "1 values for 2 names"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "does not take so many"},
      {"{{ 'x'.replace('a') }}", "replace needs the argument new"},
      {"{{ {[]: 1} }}", "cannot be a key"},
      {"{{ '{' | from_json }}", "from_json needs JSON"},
      {"{{ [namespace()] | tojson }}", "cannot be written as JSON"}};
  for (const auto& [source, part] : cases) {
    const std::string message = ErrorOf(source);
    CHECK_MESSAGE(Contains(message, part), message);
  }
}

TEST_CASE("programs that mean harm reach a limit, which the error names") {
  const auto at_limit = [](std::string_view source, std::string_view limit) {
    const std::string message = ErrorOf(source, ErrorCode::kOutOfRange);
    CHECK_MESSAGE(Contains(message, limit), message);
  };
  const std::string_view steps = "steps", memory = "bytes of memory", depth = "levels of nesting";
  at_limit("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", steps);
  at_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", depth);
  at_limit("{% macro m() %}{{ caller() if caller }}{% call m() %}x{% endcall %}{% endmacro %}{{ m() }}", depth);
  at_limit("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}", depth);
  at_limit("{% set l = [] %}{% set _ = l.append(l) %}{{ l == [l] }}", depth);
  at_limit("{% set n = namespace() %}{% set n.n = n %}{{ n }}", depth);
  at_limit("{{ range(10 ** 9) | list }}", "numbers in a range");
  at_limit("{{ 'a' * 10 ** 9 }}", memory);
  at_limit("{{ 'ab' * 10 ** 30 }}", memory);
  at_limit("{{ [0] * 10 ** 20 }}", memory);
  at_limit("{{ 'a' | center(10 ** 12) }}", memory);
  at_limit("{{ '%999999999999s' % 1 }}", memory);
  at_limit("{{ 'a' | indent(10 ** 10) }}", memory);
  at_limit("{% set n = namespace(x='ab') %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}", memory);
  at_limit("{% set n = namespace(x=[1]) %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}", steps);
  at_limit("{% for i in range(100) %}{{ 'abcdefghij' * 100000 }}{% endfor %}", "bytes of output");
  at_limit("{{ 2 ** 127 }}", "128 bits");
  at_limit("{{ 170141183460469231731687303715884105727 + 1 }}", "128 bits");
  at_limit("{{ 10 ** 38 * 100 }}", "128 bits");
  CheckRenders({{"{{ -170141183460469231731687303715884105727 - 1 }}", "-170141183460469231731687303715884105728"},
                {"{{ (-170141183460469231731687303715884105727 - 1) % -1 }}", "0"},
                {"{{ 'abc'[10 ** 30:] }}{{ 'abc'[0 - 10 ** 30::10 ** 30] }}{{ 'abc'[::0 - 10 ** 30] }}", "ac"},
                {"{{ (('a' * 100000 + 'b') in 'a' * 400000) }}", "False"}});
}

TEST_CASE("the limits are the caller's") {
  TemplateLimits limits;
  limits.steps = 10;
  CHECK(Contains(ErrorOf("{% for a in range(99) %}{% endfor %}", ErrorCode::kOutOfRange, limits), "10 steps"));
  limits = {};
  limits.output_bytes = 3;
  CHECK(Contains(ErrorOf("abcd", ErrorCode::kOutOfRange, limits), "3 bytes of output"));
  limits = {};
  limits.depth = 5;
  CHECK(Contains(ErrorOf("{{ [[[[[[1]]]]]] }}", ErrorCode::kOutOfRange, limits), "5 levels"));
}

TEST_CASE("sources that nest too deep are errors, whatever nests") {
  const auto nested = [](std::string_view begin, std::string_view middle, std::string_view end) {
    std::string source;
    for (int i = 0; i < 20000; ++i) source += begin;
    source += middle;
    for (int i = 0; i < 20000; ++i) source += end;
    return source;
  };
  for (const std::string& source :
       {"{{ " + nested("(", "1", ")") + " }}", "{{ " + nested("[", "1", "]") + " }}",
        "{{ " + nested("{1:", "1", "}") + " }}", "{{ " + nested("not ", "1", "") + " }}",
        "{{ " + nested("-", "1", "") + " }}", "{{ 1" + nested("+1", "", "") + " }}",
        "{{ x" + nested(".a", "", "") + " }}", "{{ x" + nested("|e", "", "") + " }}",
        "{{ x" + nested("()", "", "") + " }}", "{{ x" + nested("[0]", "", "") + " }}",
        "{{ " + nested("1 if 1 else ", "1", "") + " }}", "{{ f" + nested("(f", "", ")") + " }}",
        "{% set " + nested("(", "a", ")") + " = 1 %}", nested("{% if 1 %}", "", "{% endif %}"),
        nested("{% for a in b %}", "", "{% endfor %}"), nested("{% macro a() %}", "", "{% endmacro %}")}) {
    CHECK(Contains(ErrorOf(source), "levels of nesting"));
  }
  CHECK(Contains(ErrorOf(std::string(2'000'000, 'a'), ErrorCode::kOutOfRange), "2000000 bytes"));
}

TEST_CASE("variables that nest too deep are an error") {
  Json deep = 1;
  for (int i = 0; i < 5000; ++i) deep = Json::array({deep});
  const Result<MarkedText> text = ChatTemplate::Parse("{{ x }}")->Render(JsonValueOf(Json{{"x", deep}}));
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().code == ErrorCode::kOutOfRange);
}

}  // namespace templates_test
}  // namespace skald
