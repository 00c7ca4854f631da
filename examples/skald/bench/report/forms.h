// SPDX-License-Identifier: Apache-2.0
//
// The forms that records are written in for programs: CSV, JSON lines and SQL. Each is text before the first record,
// which can be written before anything is measured, and text for each record.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_REPORT_FORMS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_REPORT_FORMS_H_

#include <nlohmann/json.hpp>
#include <string>

namespace skald::program {

// A line of the names of the fields of `columns`, and a line of the same fields of each record (RFC 4180). Lists are
// JSON; a field that a record lacks, or that is unknown, is empty.
std::string CsvHead(const nlohmann::ordered_json& columns);
std::string CsvRow(const nlohmann::ordered_json& columns, const nlohmann::ordered_json& record);

// A line of JSON for each record.
std::string JsonLine(const nlohmann::ordered_json& record);

// Statements for any SQL database. The table has a column for each field of `whole`, whichever were counted, so that
// what several machines write fits one table.
std::string SqlHead(const nlohmann::ordered_json& whole);
std::string SqlRow(const nlohmann::ordered_json& record);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_REPORT_FORMS_H_
