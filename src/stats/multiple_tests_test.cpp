// Decisions from many p-values, against worked examples and the definition. Against statsmodels: expert_tests_golden_test.cpp.
#include "stats/multiple_tests.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stats/random.h"

namespace atlas {
namespace {

TEST(BenjaminiHochberg, FollowsAnExampleWorkedByHand) {
  // p = 0.01, 0.02, 0.40, 0.41, 1: 5 p / rank = 0.05, 0.05, 0.667, 0.5125, 1, then the least from the right.
  const std::vector<double> q = benjamini_hochberg({40, 1, 100, 2, 41}, 100);
  EXPECT_EQ(q, (std::vector<double>{0.5125, 0.05, 1, 0.05, 0.5125}));
}

TEST(BenjaminiHochberg, HasNoTestsOrOne) {
  EXPECT_TRUE(benjamini_hochberg({}, 10).empty());
  EXPECT_EQ(benjamini_hochberg({3}, 10), std::vector<double>{0.3});
}

TEST(BenjaminiHochberg, IsTheLeastScaledPOfAllThatAreNoSmaller) {
  Random random(4, 0, 0);
  for (int round = 0; round < 50; round++) {
    std::vector<std::uint32_t> at_least(1 + random.below(30));
    for (std::uint32_t& n : at_least) n = 1 + random.below(20);
    const std::vector<double> q = benjamini_hochberg(at_least, 20);
    for (std::size_t i = 0; i < q.size(); i++) {
      double expected = 1;
      for (const std::uint32_t n : at_least) {
        const auto up_to = static_cast<double>(std::count_if(at_least.begin(), at_least.end(), [&](std::uint32_t other) { return other <= n; }));
        if (n >= at_least[i]) expected = std::min(expected, static_cast<double>(at_least.size() * n) / 20 / up_to);
      }
      EXPECT_NEAR(q[i], expected, 1e-15);
    }
  }
}

TEST(NeededAtSmallestP, IsTheFewestTestsThereThatBenjaminiHochbergFinds) {
  for (const std::size_t denominator : {10U, 20U, 280U, 1000U, 10001U})
    for (const std::size_t tests : {1U, 2U, 13U, 50U, 500U}) {
      const std::size_t needed = needed_at_smallest_p(tests, denominator);
      for (std::size_t k = 1; k <= tests; k++) {
        std::vector<std::uint32_t> at_least(tests, static_cast<std::uint32_t>(denominator));
        std::fill(at_least.begin(), at_least.begin() + static_cast<std::ptrdiff_t>(k), 1);
        EXPECT_EQ(benjamini_hochberg(at_least, denominator)[0] <= 0.05, k >= needed)
            << tests << " tests of 1/" << denominator << ", " << k << " there";
      }
    }
}

TEST(StepDown, CountsRelabelingsWhoseSmallestPSoFarIsAsSmall) {
  StepDown step_down(4);
  const std::uint16_t weak[] = {4, 1, 2, 3}, strong[] = {1, 4, 3, 2};
  EXPECT_EQ(step_down.add(weak, 3), 3U);    // least so far 4 1 2 3
  EXPECT_EQ(step_down.add(strong, 1), 2U);  // least so far 1 1 2 2
}

}  // namespace
}  // namespace atlas
