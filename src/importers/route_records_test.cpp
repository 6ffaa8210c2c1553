// Tests of reading and judging single route records.
#include "importers/route_records.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_support.h"

namespace atlas {
namespace {

const std::string good = R"({"segment":"a:0","forward":0,"row":1,"layer":3,"indices":[5,4]})";

std::string problem_in(const std::string& line, const std::string& segment = "a:0") {
  const std::vector<RouteRecord> records = parse_route_records(line, "f");
  const auto problem = route_record_problem(records.at(0), segment);
  return problem ? to_string(*problem) : "";
}

std::string with(const std::string& from, const std::string& to) {
  std::string line = good;
  return line.replace(line.find(from), from.size(), to);
}

TEST(RouteRecords, A_record_is_read_with_its_numbers_by_value) {
  const auto records =
      parse_route_records(R"({"segment":"a:0","forward":0.0,"row":1e0,"layer":-0,"indices":[1e1, -0, 7, 2.0E1, 9007199254740991]})", "f");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].segment, "a:0");
  EXPECT_EQ(records[0].forward, 0);
  EXPECT_EQ(records[0].row, 1);
  EXPECT_EQ(records[0].layer, 0);
  EXPECT_EQ(records[0].indices, (std::vector<double>{10, 0, 7, 20, 9007199254740991}));
  EXPECT_FALSE(route_record_problem(records[0], "a:0"));
}

TEST(RouteRecords, Blank_lines_line_ends_of_both_kinds_and_a_missing_last_line_end_are_accepted) {
  EXPECT_EQ(parse_route_records("\n" + good + "\r\n \t\r\n" + good + "\n\n" + good, "f").size(), 3U);
  EXPECT_EQ(parse_route_records("", "f").size(), 0U);
  EXPECT_EQ(parse_route_records("\n\r\n  ", "f").size(), 0U);
}

TEST(RouteRecords, A_truncated_last_line_is_refused_with_its_line) {
  const std::string text = good + "\n\n" + good.substr(0, 40);
  EXPECT_EQ(problem_of([&] { parse_route_records(text, "f"); }),
            "f:3:41: the line ends here; expected a record, one JSON object a line (likely cause: the file was cut off)");
}

TEST(RouteRecords, Every_prefix_of_a_record_is_refused) {
  for (std::size_t size = 1; size < good.size(); size++) EXPECT_THROW(parse_route_records(good.substr(0, size), "f"), Error) << good.substr(0, size);
}

TEST(RouteRecords, What_is_no_JSON_object_is_refused_also_in_fields_that_are_not_used) {
  for (const char* line : {"5",
                           "null",
                           "[]",
                           "\"text\"",
                           "{",
                           "}",
                           "{} {}",
                           "{}]",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":+1}",
                           "{\"a\":nul}",
                           "{\"a\":truee}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}",
                           "{\"a\":{\"b\":1,}}",
                           "{\"a\":\"\\q\"}",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\xff\"}",
                           "{'a':1}",
                           "{\"a\":NaN}",
                           "{\"a\":.5}",
                           "{\"indices\":[1,2}",
                           "{\"row\":1e}",
                           "{\"row\":--1}"})
    EXPECT_THROW(parse_route_records(std::string(good) + "\n" + line + "\n", "f"), Error) << line;
}

TEST(RouteRecords, Unknown_fields_are_ignored_and_the_last_of_a_repeated_field_counts) {
  const auto records = parse_route_records(
      R"({"weights":[0.5,1e-3],"note":{"x":[null,true,{"y":"\u00e9\n"}]},"segment":"b:1","segment":"a:0","row":7,"forward":0,"row":1,"layer":3,"indices":[9],"indices":[5,4]})",
      "f");
  EXPECT_FALSE(route_record_problem(records.at(0), "a:0"));
  EXPECT_EQ(records[0].row, 1);
  EXPECT_EQ(records[0].indices, (std::vector<double>{5, 4}));
}

TEST(RouteRecords, A_field_name_may_be_written_with_escapes) {
  EXPECT_EQ(problem_in(with("row", "\\u0072ow")), "");
  EXPECT_EQ(problem_in(with("a:0", "\\u0061:0")), "");
}

TEST(RouteRecords, Deeply_nested_fields_do_not_exhaust_the_stack) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(parse_route_records("{\"x\":" + deep + "}", "f").size(), 1U);
}

TEST(RouteRecords, A_line_of_more_than_a_mebibyte_is_refused_before_it_is_parsed) {
  EXPECT_EQ(problem_of([] { parse_route_records("\n[" + std::string(max_record_bytes, ' ') + "]", "f"); }),
            "f:2: a line of more than 1048576 bytes; expected one record a line (likely cause: the records stand in one list instead of one a line)");
  const std::string padded = good + std::string(max_record_bytes - good.size(), ' ');
  EXPECT_EQ(parse_route_records(padded + "\n" + padded, "f").size(), 2U);
}

TEST(RouteRecords, Values_of_other_types_are_kept_as_no_number_and_refused_when_judged) {
  EXPECT_EQ(problem_in(with("\"forward\":0", "\"forward\":\"0\"")), "forward: no number; expected a whole number from 0 to 2^53 - 1");
  EXPECT_EQ(problem_in(with("\"row\":1", "\"row\":null")), "row: no number; expected a whole number from 0 to 2^53 - 1");
  EXPECT_EQ(problem_in(with("\"layer\":3,", "")), "layer: no number; expected a whole number from 0 to 2^53 - 1");
  EXPECT_EQ(problem_in(with("5,4", "5,\"4\"")), "indices: no number; expected a whole number from 0 to 2^53 - 1");
  EXPECT_EQ(problem_in(with("5,4", "null,null")), "indices: no number twice; expected experts that differ");
  EXPECT_EQ(problem_in(with("[5,4]", "\"54\"")), "indices: no experts; expected at least one");
  EXPECT_EQ(problem_in(with("\"a:0\"", "null")),
            "segment: \"null\"; expected \"a:0\", the run of this file (likely cause: records of several runs in one file)");
}

TEST(RouteRecords, Numbers_are_refused_by_value) {
  const std::string whole = "; expected a whole number from 0 to 2^53 - 1";
  EXPECT_EQ(problem_in(with("\"forward\":0", "\"forward\":-1")), "forward: -1" + whole);
  EXPECT_EQ(problem_in(with("\"forward\":0", "\"forward\":9007199254740992")), "forward: 9007199254740992" + whole);
  EXPECT_EQ(problem_in(with("\"row\":1", "\"row\":1.5")), "row: 1.5" + whole);
  EXPECT_EQ(problem_in(with("\"layer\":3", "\"layer\":1e300")), "layer: 1e+300" + whole);
  EXPECT_EQ(problem_in(with("5,4", "5,-4")), "indices: -4" + whole);
  EXPECT_EQ(problem_in(with("5,4", "5,18446744073709551616")), "indices: 18446744073709551616" + whole);
  EXPECT_EQ(problem_in(with("5,4", "0,-0")), "indices: -0 twice; expected experts that differ");
  EXPECT_EQ(problem_in(with("5,4", "")), "indices: no experts; expected at least one");
  // 2^53 + 1 is no double: like JavaScript's parser, ours reads 2^53.
  EXPECT_EQ(problem_in(with("\"row\":1", "\"row\":9007199254740993")), "row: 9007199254740992" + whole);
  EXPECT_EQ(problem_in(with("\"row\":1", "\"row\":9007199254740991")), "");
  EXPECT_EQ(problem_in(with("\"row\":1", "\"row\":1e-400")), "");  // 0, as a double
}

TEST(RouteRecords, Checks_come_in_the_order_of_the_reference) {
  const std::string all_wrong = R"({"segment":"b:0","forward":-1,"row":-1,"layer":-1,"indices":[-1,-1]})";
  EXPECT_EQ(problem_in(all_wrong).substr(0, 8), "segment:");
  EXPECT_EQ(problem_in(all_wrong, "b:0").substr(0, 8), "forward:");
  EXPECT_EQ(problem_in(R"({"segment":"a:0","forward":0,"row":-1,"layer":-1,"indices":[]})").substr(0, 4), "row:");
  EXPECT_EQ(problem_in(R"({"segment":"a:0","forward":0,"row":0,"layer":-1,"indices":[]})").substr(0, 6), "layer:");
  EXPECT_EQ(problem_in(R"({"segment":"a:0","forward":0,"row":0,"layer":0,"indices":[-1,-1]})"), "indices: -1 twice; expected experts that differ");
  EXPECT_EQ(problem_in(R"({"segment":"a:0","forward":0,"row":0,"layer":0,"indices":[1,-2,-3]})").substr(0, 11), "indices: -2");
}

TEST(RouteRecords, A_repeat_among_many_experts_is_found) {
  std::string list;
  for (int expert = 0; expert < 100; expert++) list += std::to_string(expert) + ",";
  EXPECT_EQ(problem_in(with("5,4", list + "100")), "");
  EXPECT_EQ(problem_in(with("5,4", list + "41")), "indices: 41 twice; expected experts that differ");
}

}  // namespace
}  // namespace atlas
