# SPDX-License-Identifier: Apache-2.0
#
# Filter of doxygen. Lines keep their numbers.
#   - A comment at the top of a file, `// Name: text`, is the docstring of the class or struct `Name` that the file
#     declares.
#   - A docstring of members that are declared together, `int a, b;`, is that of each.
#
# usage: awk -f filter.awk FILE
{ line[NR] = $0 }

function document_class(   name, at, declared) {
  name = line[3]
  if (!sub(/^\/\/ /, "", name) || !sub(/: .*/, "", name) || name !~ /^[A-Z][A-Za-z0-9]*$/) return
  for (at = 4; at <= NR && !declared; ++at) declared = line[at] ~ ("^(class|struct) " name "( |$)")
  if (!declared) return
  line[2] = "/// \\class skald::" name
  sub(/^\/\/ [A-Za-z0-9]*:/, "///", line[3])
  for (at = 4; line[at] ~ /^\/\//; ++at) sub(/^\/\//, "///", line[at])
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
