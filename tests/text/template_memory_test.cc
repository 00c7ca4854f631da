// SPDX-License-Identifier: Apache-2.0
//
// The texts of a template are counted before they are made: for any template, a rendering takes about as much memory as
// it may.

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/templates/chat_template.h"

namespace skald {
namespace template_memory_test {

constexpr size_t kLimit = size_t{24} << 20;

// The most memory that the process had since ForgetPeak, in bytes; 0 where the system does not tell.
size_t Peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
  }
  return 0;
}
bool ForgetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

TEST_CASE("a template that makes huge texts reaches its limit before it has them") {
  RenderOptions options;
  options.limits.memory_bytes = kLimit;
  options.limits.output_bytes = size_t{1} << 40;
  const JsonValue variables = JsonValueOf({{"x", std::string(100'000, 'a')}, {"e", std::string(300'000, '&')}});
  for (const std::string& source : std::vector<std::string>{
           "{{ x | replace('', x) }}",
           "{{ x.replace('a', 'bc' * 1000) }}",
           "{{ x * 1000 }}",
           "{{ (x * 110) | length }}{{ (x * 110) ~ x ~ (x * 110) }}",
           "{{ (x * 60) + (x * 60) + (x * 60) }}",
           "{{ x | center(1000000000) }}{{ x.ljust(1000000000) }}",
           "{{ '%1000000000s' % 1 }}",
           "{{ '%s%s%s' % (x * 60, x * 60, x * 60) }}",
           "{{ '{:>1000000000}'.format(1) }}",
           "{{ '{0}{0}{0}'.format(x * 60) }}",
           "{{ ('b\\n' * 1000) | indent(x) }}",
           "{{ [x, x, x] | join(x * 50) }}",
           "{{ ([1] * 1000) | tojson(indent=100000) }}",
           "{{ ['\\\\' * 9000000] | tojson }}",
           "{{ (e * 20) | escape }}",
           "{{ (e * 20) | urlencode }}",
           "{{ ('\xC3\x9F' * 9000000) | upper | lower | title }}",
           "{{ ((',' * 2000000).split(',')) | length }}",
           "{{ (('a ' * 1000000).split()) | length }}",
           "{{ (('a\\n' * 1000000).splitlines()) | length }}",
           "{{ (x * 20) | wordwrap(1, true, x) }}",
           "{{ (x * 50) | list | length }}",
           "{% set n = namespace(t=x) %}{% for i in range(40) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
           "{% set n = namespace(t=[1]) %}{% for i in range(40) %}{% set n.t = n.t + n.t %}{% endfor %}",
       }) {
    CAPTURE(source);
    const Result<ChatTemplate> chat_template = ChatTemplate::Parse(source);
    REQUIRE(chat_template.has_value());
    const bool is_told = ForgetPeak();
    const size_t before = Peak();
    const Result<MarkedText> text = chat_template->Render(variables, options);
    CHECK_FALSE(text.has_value());
    if (text) continue;
    CHECK(text.error().code == ErrorCode::kOutOfRange);
    CHECK(text.error().message.find("bytes of memory") != std::string::npos);
    if (is_told && before != 0) CHECK(Peak() - before < 2 * kLimit);
  }
}

TEST_CASE("what fits into the limit is made") {
  RenderOptions options;
  options.limits.memory_bytes = kLimit;
  const JsonValue variables = JsonValueOf({{"x", std::string(100'000, 'a')}});
  for (const char* source : {"{{ x.replace('a', 'bc' * 10) | length }}", "{{ (x * 20) ~ x }}", "{{ x | indent(3) }}",
                             "{{ [x, x] | tojson | escape }}"}) {
    CAPTURE(source);
    const Result<MarkedText> text = ChatTemplate::Parse(source)->Render(variables, options);
    CHECK_MESSAGE(text.has_value(), (text ? "" : text.error().message));
  }
}

}  // namespace template_memory_test
}  // namespace skald
