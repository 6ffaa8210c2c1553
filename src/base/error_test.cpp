// Tests of how problems are worded and carried.
#include "base/error.h"

#include <gtest/gtest.h>

namespace atlas {
namespace {

TEST(Error, A_problem_reads_as_one_sentence_and_leaves_out_what_is_not_known) {
  EXPECT_EQ(to_string(Problem{"f:3", "x", "y", "z"}), "f:3: x; expected y (likely cause: z)");
  EXPECT_EQ(to_string(Problem{"f:3", "x", "", ""}), "f:3: x");
  EXPECT_EQ(to_string(Problem{"", "x", "y", ""}), "x; expected y");
  EXPECT_EQ(to_string(Problem{"f", "", "y", ""}), "f; expected y");
}

TEST(Error, Carries_all_problems_one_a_line_and_its_kind) {
  const Error error({{"a", "1", "", ""}, {"b", "2", "", ""}}, ErrorKind::out_of_range);
  EXPECT_STREQ(error.what(), "a: 1\nb: 2");
  EXPECT_EQ(error.problems().size(), 2U);
  EXPECT_EQ(error.kind(), ErrorKind::out_of_range);
  EXPECT_EQ(Error(Problem{"a", "1", "", ""}).kind(), ErrorKind::invalid);
}

TEST(Error, Nothing_is_thrown_for_no_problems) {
  EXPECT_NO_THROW(throw_if_any({}));
  EXPECT_THROW(throw_if_any({{"a", "1", "", ""}}), Error);
}

}  // namespace
}  // namespace atlas
