// The per-expert statistics against scipy's and statsmodels' answers (testdata/stats/expert_tests.py has made them).
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/test_support.h"
#include "stats/expert_test_data.h"
#include "stats/expert_tests.h"
#include "stats/multiple_tests.h"

namespace atlas {
namespace {

const Json& golden() {
  static const Json document = Json::parse(file_bytes(std::string(ATLAS_TESTDATA_DIR) + "/stats/expert_tests.json"));
  return document;
}

TEST(ExpertTestsGolden, BenjaminiHochbergIsThatOfStatsmodels) {
  for (const Json& list : golden()["p_lists"]) {
    const auto at_least = list["at_least"].get<std::vector<std::uint32_t>>();
    const std::vector<double> q = benjamini_hochberg(at_least, list["denominator"]);
    for (std::size_t i = 0; i < q.size(); i++) {
      EXPECT_NEAR(q[i], list["q_value"][i], 1e-12);
      EXPECT_EQ(q[i] <= 0.05, list["rejected"][i].get<bool>());
    }
  }
}

ExpertResult result_of(const Json& wanted) {
  const Shares shares = shares_of_counts(wanted["sizes"], wanted["total"], wanted["counts"]);
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), 2000, 0);
  EXPECT_TRUE(relabelings.enumerated);
  ExpertOptions options;
  options.min_count = 1;
  options.bootstrap_draws = 20000;
  options.rule_relabelings = 0;
  return test_experts(shares, relabelings, options);
}

TEST(ExpertTestsGolden, TestsAndProfilesAreThoseOfScipyAndStatsmodels) {
  for (const Json& wanted : golden()["cases"]) {
    SCOPED_TRACE(wanted["name"].get<std::string>());
    const ExpertResult result = result_of(wanted);
    for (std::size_t e = 0; e < result.eta_squared.size(); e++) {
      EXPECT_NEAR(result.eta_squared[e], wanted["eta_squared"][e], 1e-9);
      EXPECT_NEAR(*result.p_value[e], wanted["p_value"][e], 1e-12);
      EXPECT_NEAR(*result.q_value[e], wanted["q_value"][e], 1e-12);
      EXPECT_NEAR(*result.p_value_min_p[e], wanted["p_value_min_p"][e], 1e-12);
      EXPECT_NEAR(*result.specialisation[e], wanted["specialisation"][e], 1e-9);
      EXPECT_NEAR(*result.lift[e], wanted["lift"][e], 1e-9);
    }
  }
}

// Other draws of the same bootstrap: 20,000 on both sides, so a quantile in the tail wanders by a few hundredths of the interval's width.
TEST(ExpertTestsGolden, IntervalsAreScipysBasicIntervals) {
  std::size_t cases = 0;
  for (const Json& wanted : golden()["cases"]) {
    if (!wanted.contains("lift_interval_95")) continue;
    SCOPED_TRACE(wanted["name"].get<std::string>());
    const ExpertResult result = result_of(wanted);
    cases++;
    for (std::size_t e = 0; e < result.eta_squared.size(); e++)
      for (std::size_t side = 0; side < 2; side++) {
        EXPECT_NEAR((*result.specialisation_interval_95[e])[side], wanted["specialisation_interval_95"][e][side], 0.005) << "feature " << e;
        EXPECT_NEAR((*result.lift_interval_95[e])[side], wanted["lift_interval_95"][e][side], 0.02) << "feature " << e;
      }
  }
  EXPECT_EQ(cases, 2U);
}

}  // namespace
}  // namespace atlas
