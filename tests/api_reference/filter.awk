# SPDX-License-Identifier: Apache-2.0
#
# Filter of doxygen. Lines keep their numbers.
#   - A comment at the top of a file is the docstring of a class or struct: of the one that it names, `// Name: text`,
#     or of the only one of the file that has no comment of its own.
#   - A docstring of members that are declared together, `int a, b;`, is that of each.
#
# usage: awk -f filter.awk FILE
{ line[NR] = $0 }

# Returns the class that the comment at the top describes: the one that it names, or the only one that has no comment.
function described_class(   named, at, name, is_internal, found, count) {
  named = line[3]
  if (!sub(/^\/\/ /, "", named) || !sub(/: .*/, "", named) || named !~ /^[A-Z][A-Za-z0-9]*$/) named = ""
  for (at = 4; at <= NR; ++at) {
    if (line[at] ~ /^namespace internal/) is_internal = 1
    if (line[at] ~ /^}  \/\/ namespace internal/) is_internal = 0
    if (is_internal || line[at] !~ /^(class|struct) [A-Za-z0-9]+ .*\{/) continue
    name = line[at]
    sub(/^(class|struct) /, "", name)
    sub(/ .*/, "", name)
    if (name == named) return name
    if (line[at - 1] ~ /^\/\/\// || line[at - 1] ~ /^template/ && line[at - 2] ~ /^\/\/\//) continue
    found = name
    ++count
  }
  return count == 1 && named == "" ? found : ""
}

function document_class(   name, at) {
  name = described_class()
  if (name == "" || line[2] != "//") return
  line[2] = "/// \\class skald::" name
  sub("^// " name ": ", "/// ", line[3])
  for (at = 3; line[at] ~ /^\/\//; ++at) sub(/^\/\/\/?/, "///", line[at])
}

# `TYPE a = 1, b = 2;  ///< text`, or after a comment `text`, becomes a declaration of each.
function split_members(at, before,   text, members, type, count, member, i, result) {
  members = line[at]
  text = before
  if (match(members, / *\/\/\/< /)) {
    text = substr(members, RSTART + RLENGTH)
    members = substr(members, 1, RSTART - 1)
  }
  if (text == "" || members !~ /^ +[A-Za-z_][A-Za-z0-9_:<>* ]* [A-Za-z_0-9]+( = [^,;()]*|\{\})?(, [A-Za-z_0-9]+( = [^,;()]*|\{\})?)+;$/) return
  sub(/;$/, "", members)
  count = split(members, member, ", ")
  type = member[1]
  sub(/ = .*|\{\}$/, "", type)
  sub(/ [A-Za-z_0-9]+$/, " ", type)
  result = members = ""
  for (i = 1; i <= count; ++i) {
    result = result (i > 1 || before == "" ? " /** " text " */ " : "") (i > 1 ? type : "") member[i] ";"
  }
  line[at] = result
}

END {
  document_class()
  for (at = 1; at <= NR; ++at) {
    split_members(at, comment)
    comment = line[at] ~ /^ *\/\/\/ / ? comment " " substr(line[at], index(line[at], "///") + 4) : ""
  }
  for (at = 1; at <= NR; ++at) print line[at]
}
