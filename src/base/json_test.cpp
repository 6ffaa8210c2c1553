// Tests of JSON in: places of faults, repeated keys, nesting, and the reader that collects problems by path.
#include "base/json.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/test_support.h"

namespace atlas {
namespace {

std::string parse_problem(const std::string& text) {
  return problem_of([&] { parse_json(text, "f.json"); });
}

TEST(Json, Values_of_all_kinds_come_out_as_the_library_s_own_parser_gives_them) {
  const std::string text = R"({"a":[1,-2,3.5,1e3,18446744073709551615,true,false,null,"é\n\ud83d\ude00"],"b":{"c":{},"d":[]},"":""})";
  EXPECT_EQ(parse_json(text, "f"), Json::parse(text));
  for (const char* scalar : {"1", "\"x\"", "null", "true", " [ ] ", "-0", "2.5"}) EXPECT_EQ(parse_json(scalar, "f"), Json::parse(scalar)) << scalar;
}

TEST(Json, Keys_keep_their_order_and_a_repeated_key_its_first_place_and_last_value) {
  EXPECT_EQ(parse_json(R"({"b":1,"a":2,"b":{"x":1,"x":2},"c":4,"a":5})", "f").dump(), R"({"b":{"x":2},"a":5,"c":4})");
}

TEST(Json, A_fault_is_named_by_line_and_column) {
  EXPECT_EQ(parse_problem("{\n  \"a\": 1,\n  b\n}"), "f.json:3:3: not JSON; expected a complete JSON value");
  EXPECT_EQ(parse_problem("{} x"), "f.json:1:4: not JSON; expected a complete JSON value");
}

TEST(Json, An_empty_or_cut_off_text_says_so) {
  EXPECT_EQ(parse_problem(""), "f.json:1:1: the text ends here; expected a complete JSON value (likely cause: an empty file)");
  EXPECT_EQ(parse_problem("{\"a\":\n[1,"), "f.json:2:4: the text ends here; expected a complete JSON value (likely cause: the file was cut off)");
}

TEST(Json, Bytes_that_are_no_UTF_8_and_numbers_beyond_doubles_are_refused) {
  EXPECT_EQ(parse_problem("[\"\xff\"]"), "f.json:1:3: not JSON; expected a complete JSON value");
  EXPECT_EQ(parse_problem("[1e400]"), "f.json:1:6: a number that no double can hold; expected a complete JSON value");
}

TEST(Json, Nesting_beyond_200_is_refused_since_later_code_recurses) {
  EXPECT_EQ(parse_json(std::string(200, '[') + std::string(200, ']'), "f").size(), 1U);
  EXPECT_NE(parse_problem(std::string(201, '[') + std::string(201, ']')).find("more than 200 lists and objects in one another"), std::string::npos);
  EXPECT_NE(parse_problem(std::string(5'000'000, '[')).find("more than 200"), std::string::npos);
}

TEST(Json, An_object_of_very_many_keys_is_read_in_linear_time) {
  std::string text = "{";
  for (int i = 0; i < 200000; i++) text += "\"model.layers.experts." + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_json(text, "f").size(), 200000U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));  // in quadratic time: minutes
}

TEST(Json, A_missing_file_is_named) {
  EXPECT_NE(problem_of([] { read_json_file("absent/x.json"); }).find("absent/x.json: cannot open it: No such file"), std::string::npos);
}

TEST(ObjectReader, Every_problem_is_collected_with_its_path) {
  const Json json = parse_json(R"({"text":5,"count":-1,"ratio":"x","flag":1,"odd":0,"half":0.5,"big":4294967296})", "f");
  std::vector<Problem> problems;
  ObjectReader fields(json, "f: $.x", problems);
  EXPECT_EQ(fields.text("text"), "");
  EXPECT_EQ(fields.whole_number("count", 10), 0U);
  EXPECT_EQ(fields.number_or("ratio", 2.5), 2.5);
  EXPECT_TRUE(fields.boolean_or("flag", true));
  EXPECT_EQ(fields.whole_number("half", 10), 0U);
  EXPECT_EQ(fields.whole_number("big", 0xFFFFFFFFU), 0U);
  EXPECT_EQ(fields.text("absent"), "");
  EXPECT_EQ(fields.text_or("absent_too", "fallback"), "fallback");
  fields.refuse_unknown();
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(to_string(problem));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "f: $.x.text: 5; expected a text",
                       "f: $.x.count: -1; expected a whole number from 0 to 10",
                       "f: $.x.ratio: \"x\"; expected a number",
                       "f: $.x.flag: 1; expected true or false",
                       "f: $.x.half: 0.5; expected a whole number from 0 to 10",
                       "f: $.x.big: 4294967296; expected a whole number from 0 to 4294967295",
                       "f: $.x.absent: nothing; expected a value",
                       "f: $.x.odd: a field that is not known here; expected no such field (likely cause: a spelling slip, or a newer format)",
                   }));
}

TEST(ObjectReader, What_is_no_object_is_one_problem_however_many_fields_are_asked_for) {
  const Json json = Json::array();
  std::vector<Problem> problems;
  ObjectReader fields(json, "$", problems);
  fields.text("a");
  fields.whole_number("b", 1);
  fields.refuse_unknown();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(to_string(problems[0]), "$: a list; expected an object");
}

TEST(ObjectReader, A_long_value_is_shortened_in_its_problem) {
  const Json json{{"n", std::string(1000, 'x')}};
  std::vector<Problem> problems;
  ObjectReader(json, "$", problems).number_or("n", 0);
  EXPECT_LT(to_string(problems.at(0)).size(), 100U);
}

TEST(WholeNumber, Is_judged_by_value_up_to_its_limit) {
  const std::uint64_t safe = 9007199254740991U;
  EXPECT_EQ(whole_number(Json(3), 5), 3U);
  EXPECT_EQ(whole_number(Json(3.0), 5), 3U);
  EXPECT_EQ(whole_number(parse_json("3e0", ""), 5), 3U);
  EXPECT_EQ(whole_number(parse_json("-0", ""), 5), 0U);
  EXPECT_EQ(whole_number(parse_json("-0.0", ""), 5), 0U);
  EXPECT_EQ(whole_number(Json(5), 5), 5U);
  EXPECT_EQ(whole_number(Json(safe), safe), safe);
  for (const char* text : {"6", "-1", "0.5", "1e400", "\"3\"", "null", "[3]", "true"}) {
    if (std::string(text) == "1e400") continue;  // refused by the parser already
    EXPECT_EQ(whole_number(parse_json(text, ""), 5), std::nullopt) << text;
  }
  EXPECT_EQ(whole_number(parse_json("9007199254740992.0", ""), UINT64_MAX), std::nullopt);  // its neighbours are no longer told apart
}

TEST(JavascriptKeyOrder, Puts_array_indices_first_as_numbers_and_keeps_the_rest) {
  // 01 and 4294967295 are no array indices in JavaScript; 4294967294 is the last.
  const std::vector<std::string> keys{"b", "10", "01", "2", "a", "4294967295", "4294967294", "0", "-1"};
  EXPECT_EQ(javascript_key_order(keys), (std::vector<std::size_t>{7, 3, 1, 6, 0, 2, 4, 5, 8}));
}

}  // namespace
}  // namespace atlas
