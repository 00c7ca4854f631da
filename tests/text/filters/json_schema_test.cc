// SPDX-License-Identifier: Apache-2.0
//
// JSON Schemas: what each keyword takes and what not, and what is not supported.

#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace json_schema_test {

using namespace filter_tests;  // NOLINT: of this file only

TEST_CASE("JSON Schema: each keyword, what it takes and what not") {
  struct Case {
    const char* schema;
    std::vector<const char*> takes, refuses;
  };
  const Case cases[] = {
      {R"({"type":"string"})",
       {R"("")", R"("a\"\\\/\b\u00e9\ud83D\uDE00")", "\"\xC3\xA9\""},
       {"1", "\"\n", R"("\ud800")", R"("\x)"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("a\nc")", "\"\xC3\xA9\xC3\xA9\xC3\xA9\""},
       {R"("a")", R"("abcd)"}},
      {R"({"type":"string","pattern":"^a[b-d]+$"})", {R"("ab")", R"("abcd")"}, {R"("a")", R"("xab)", R"("abe)"}},
      {R"({"type":"string","pattern":"b"})", {R"("b")", R"("abc")", R"("\"b\n")"}, {R"("ac")"}},
      {R"({"pattern":"^(a|bc){2}$|^\\d{3}-\\w\\s?$"})",
       {R"("abc")", R"("123-x")", R"("123-x\t")"},
       {R"("ab")", R"("123")", "1"}},
      {R"({"pattern":"^[^a-y\\s]\\.\\x41\\u0042[\\]\\-]$"})", {R"("z.AB-")", "\"\xC3\xA9.AB]\""}, {R"("b)", R"("zx)"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("1999-12-31")"},
       {R"("2023-02-29")", R"("2023-04-31")", R"("0000-01-01")"}},
      {R"({"type":"string","format":"time"})",
       {R"("23:59:59Z")", R"("00:00:00.123+01:30")"},
       {R"("24:)", R"("23:59:59")"}},
      {R"({"type":"string","format":"date-time"})", {R"("2024-02-29T10:00:00Z")"}, {R"("2024-02-29")"}},
      {R"({"type":"string","format":"duration"})",
       {R"("P1Y2M3DT4H5M6S")", R"("PT5M")", R"("P3W")"},
       {R"("P")", R"("PT")", R"("P1H)"}},
      {R"({"type":"string","format":"email"})", {R"("a.b@c.de")"}, {R"("a@b")", R"("@)"}},
      {R"({"type":"string","format":"hostname"})", {R"("a-b.example")"}, {R"("-a)", R"("a-")"}},
      {R"({"type":"string","format":"ipv4"})", {R"("255.0.10.199")"}, {R"("256)", R"("1.2.3")", R"("01)"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::")", R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("fe80::1:2")", R"("1:2:3:4:5:6:7::")"},
       {R"("1::2::)", R"("1:2")", R"("1:2:3:4:5:6:7:8:)"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-A456-426614174000")"},
       {R"("123e4567-e89b-12d3-a456-42661417400")"}},
      {R"({"type":"integer"})", {"0", "-1", "123456789012345678"}, {"01", "1.0", "-0", "1e"}},
      {R"({"type":"number"})", {"0", "-1.5", "1e10", "2.5E-3", "-0.0"}, {"01", ".5", "1.", "+1"}},
      {R"({"type":"integer","minimum":3,"maximum":120})", {"3", "99", "120", "12"}, {"2", "0", "-", "121", "1200"}},
      {R"({"type":"integer","exclusiveMinimum":-12,"maximum":5})", {"-11", "-1", "0", "5"}, {"-12", "-13", "6", "10"}},
      {R"({"type":"integer","minimum":1.5,"exclusiveMaximum":1e2})", {"2", "99"}, {"1", "100"}},
      {R"({"type":"number","minimum":-0.5,"exclusiveMaximum":2.25})",
       {"-0.5", "0", "2.2499", "-0.49", "2", "0.0"},
       {"-0.51", "2.25", "2.3", "3", "-1", "-0.0"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.001", "5"}, {"0", "0.0", "-"}},
      {R"({"type":"number","multipleOf":0.25})", {"0.25", "-1.5", "3", "0.50"}, {"0.3", "0.255"}},
      {R"({"type":"integer","multipleOf":7,"minimum":10})", {"14", "700"}, {"7", "15"}},
      {R"({"type":"integer","multipleOf":2.5})", {"5", "0", "-10"}, {"2", "7"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "tru"}},
      {R"({"type":"null"})", {"null"}, {"true"}},
      {R"({"type":["integer","null"]})", {"1", "null"}, {"\"", "t"}},
      {R"({"enum":["a\"b",1.50,null,{"x":[1,true]}]})",
       {R"("a\"b")", "1.50", "null", R"({"x":[1,true]})"},
       {"1.5", R"({"x":[1, )"}},
      {R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
      {R"({"const":{"a":"\u0001"}})", {R"({"a":"\u0001"})"}, {R"({"b)"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})", {"12", R"("a")"}, {R"("ab)", "t"}},
      {R"({"type":"array","items":{"type":"integer"}})",
       {"[]", "[1]", "[1, 2,3]", "[\n  1,\n  2\n]"},
       {"[,", "[1,]", "[\""}},
      {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
       {"[1,2]", "[1,2,3]"},
       {"[]", "[1]", "[1,2,3,"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1"}},
      {R"({"type":"array"})", {"[]", R"([1,"a",{"b":[null]}])"}, {"{"}},
      {R"({"type":"object"})", {"{}", R"({"a": {"b": [1, {}]}, "a": 2})"}, {"[", "{\"a\",", "{,"}},
      {R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{}},"required":["b"],)"
       R"("additionalProperties":false})",
       {R"({"b":1})", R"({"a": 1, "b": 2})", R"({"b":1,"c":[]})", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": null\n}"},
       {"{}", R"({"a":1})", R"({"c)", R"({"b":1,"a)", R"({"b":1,"d)", R"({"b":1,})", "1"}},
      {R"({"type":"object","properties":{"a":{"type":"null"}}})", {"{}", R"({"a":null})"}, {R"({"b)"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})", {"{}", R"({"x":1, "":2})"}, {R"({"x":")"}},
      {R"({"type":"object","properties":{"ab":{"type":"null"},"ac":{"type":"null"}},)"
       R"("required":["ab"],"additionalProperties":{"type":"integer"}})",
       {R"({"ab":null})", R"({"ab":null,"a":1,"abc":2,"":3,"ad":4,"x\n":5})", R"({"ab":null,"ac":null,"b":1})"},
       {R"({"ab":1)", R"({"ab":null,"ac":1)", R"({"ab":null,"x":null)", R"({"ab":null,"a\u0063)", "{}"}},
      {R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},)"
       R"("next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],)"
       R"("additionalProperties":false}},"$ref":"#/$defs/node"})",
       {R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1})", R"({"v":1,"next":1)"}},
      {R"({"type":"array","items":{"$ref":"#"},"title":"t","description":"d","default":[]})",
       {"[]", "[[],[[]]]"},
       {"[1", "{"}},
      {R"({"definitions":{"a/b~c":{"type":"null"}},"$ref":"#/definitions/a~1b~0c"})", {"null"}, {"1"}},
      {"true", {"1", R"({"a":[true]})"}, {"x"}},
      {"{}", {"1", "\"a\"", "[]"}, {"x"}},
      {R"({"type":"object","properties":{"a":false,"b":{"type":"null"}}})", {"{}", R"({"b":null})"}, {R"({"a)"}},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.schema));
    const GrammarFilter filter = OfSchema(each.schema);
    for (const char* text : each.takes) {
      CAPTURE(std::string(text));
      CHECK(Takes(filter, text));
    }
    for (const char* text : each.refuses) {
      CAPTURE(std::string(text));
      CHECK_FALSE(Takes(filter, text));
    }
  }
}

TEST_CASE("JSON Schema: what is not supported is named with its place") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"object","properties":{"a/b":{"not":{}}}})",
       "'#/properties/a~1b/not': keyword 'not' is not supported"},
      {R"({"allOf":[]})", "'#/allOf': keyword 'allOf'"},
      {R"({"oneOf":[]})", "'#/oneOf'"},
      {R"({"if":{}})", "'#/if'"},
      {R"({"type":"array","items":{"uniqueItems":true}})", "'#/items/uniqueItems'"},
      {R"({"anyOf":[{},{"patternProperties":{}}]})", "'#/anyOf/1/patternProperties'"},
      {R"({"anyOf":[{}],"minimum":1})", "'#/minimum': keyword 'minimum' beside 'anyOf'"},
      {R"({"$ref":"#","type":"object"})", "'#/type'"},
      {R"({"$ref":"#/$defs/x"})", "nothing at '#/$defs/x'"},
      {R"({"$ref":"http://x"})", "'#/$ref': expected '#'"},
      {R"({"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})", "calls itself"},
      {R"({"type":"thing"})", "'#/type': expected null, boolean"},
      {R"({"type":"string","format":"uri"})", "'#/format': format 'uri' is not supported"},
      {R"({"type":"string","format":"date","maxLength":3})", "'#/maxLength': keyword 'maxLength' beside 'format'"},
      {R"s({"type":"string","pattern":"a(?=b)"})s", "'#/pattern': regular expression 'a(?=b)': lookahead"},
      {R"({"type":"string","pattern":"(a)\\1"})", "\\1 is not supported"},
      {R"({"type":"string","pattern":"a\\b"})", "\\b is not supported"},
      {R"s({"type":"string","pattern":"(^a)"})s", "^ and $"},
      {R"({"type":"string","pattern":"(a"})", "without its )"},
      {R"s({"type":"string","pattern":"a)"})s", "without its ("},
      {R"({"type":"string","pattern":"[a"})", "without its ]"},
      {R"({"type":"string","pattern":"*"})", "repetition of nothing"},
      {R"({"type":"string","pattern":"a{2,1}"})", "{}"},
      {R"({"type":"string","minLength":-1})", "'#/minLength': expected a number"},
      {R"({"type":"string","minLength":2,"maxLength":1})", "maxLength is less"},
      {R"({"type":"array","minItems":2,"maxItems":1})", "maxItems is less"},
      {R"({"type":"number","minimum":"1"})", "'#/minimum': expected a number"},
      {R"({"type":"number","maximum":1e99})", "'#/maximum'"},
      {R"({"type":"number","multipleOf":0})", "'#/multipleOf': expected a number above 0"},
      {R"({"type":"number","multipleOf":99991})", "too large"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "allows no text"},
      {R"({"enum":[]})", "no value"},
      {R"({"type":"integer","enum":["a"]})", "no value"},
      {R"({"type":"object","required":["x"]})", "'#/required/0'"},
      {R"({"type":"object","properties":[]})", "'#/properties': expected an object"},
      {R"({"type":"object","properties":{"a":1}})", "'#/properties/a': expected a schema"},
      {R"({"anyOf":[]})", "'#/anyOf': expected a list"},
      {R"({"type":"object","type":"array"})", "twice"},
      {R"({"type":)", "not valid JSON"},
      {R"(1)", "expected a schema"},
      {R"({"type":"array","items":{"$ref":"#"},"minItems":1})", "allows no text"},
      {R"({"type":"string","pattern":"^(a|ab){1000000}$"})", "too large"},
  };
  for (const auto& [schema, message] : cases) {
    const std::string error = ErrorOf(ParseJsonSchema(schema));
    CAPTURE(std::string(schema));
    CAPTURE(error);
    CHECK(Has(error, message));
  }
  CHECK(Has(ErrorOf(ParseJsonSchema(std::string(200, '['))), "is nested deeper than 100 levels"));
  CHECK(Has(ErrorOf(ParseJsonSchema(std::string(kMaxGrammarText + 1, ' '))), "bytes"));
  std::string chain = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 9000; ++i)
    chain += "\"" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"},";
  CHECK(Has(ErrorOf(ParseJsonSchema(chain + R"("9000":{}}})")), "too large"));
}

}  // namespace json_schema_test
}  // namespace skald
