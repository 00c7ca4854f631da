// SPDX-License-Identifier: Apache-2.0

#include <nanobind/nanobind.h>

#include <algorithm>
#include <iterator>

#include "bind.h"
#include "skald/base/version.h"

namespace skald::python {

namespace {

struct Comment {
  std::string_view name;
  const char* text;
};

constexpr Comment kComments[] = {
#include "docs.inc"
};

}  // namespace

const char* Doc(std::string_view name) {
  const Comment* found = std::ranges::lower_bound(kComments, name, {}, &Comment::name);
  return found != std::end(kComments) && found->name == name ? found->text : "";
}

}  // namespace skald::python

#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)

NB_MODULE(_skald, m) {
  namespace python = skald::python;
  m.doc() = "Language models on the CPU: what the C++ library Skald has, in Python.";
  m.attr("version") = TEXT(SKALD_VERSION_MAJOR) "." TEXT(SKALD_VERSION_MINOR) "." TEXT(SKALD_VERSION_PATCH);
  python::BindErrors(m);
  python::BindTokenizer(m);
  python::BindSampling(m);
  python::BindCache(m);
  python::BindModel(m);
  python::BindRanks(m);
  python::BindForward(m);
  python::BindChat(m);
  python::BindStore(m);
  python::BindState(m);
  python::BindAnswers(m);
  python::BindFilters(m);
  python::BindRequest(m);
  python::BindEngineParts(m);
  python::BindEngine(m);
  python::BindStepEngine(m);
  python::BindEncoder(m);
}
