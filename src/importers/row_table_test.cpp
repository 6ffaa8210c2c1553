// Tests of the rows that records ask for, by hand and against counting in a map.
#include "importers/row_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace atlas {
namespace {

TEST(RowTable, Rows_are_sorted_by_forward_then_row_and_repeats_lie_together) {
  RowCounter counter;
  counter.add({1, 0}, 0);
  counter.add({0, 5}, 0);
  counter.add({0, 5}, 1);
  counter.add({0, 2}, 1);
  counter.add({0, 5}, 1);
  const RunRows rows = counter.rows();
  EXPECT_EQ(rows.keys, (std::vector<RowKey>{{0, 2}, {0, 5}, {1, 0}}));
  EXPECT_EQ(rows.first_row, (std::vector<std::uint64_t>{0, 1, 3, 4}));
  EXPECT_EQ(rows.row_count(), 4U);
  EXPECT_EQ(counter.repeated_count(), 1U);
  EXPECT_EQ(rows.find({0, 5}, 0), 1U);
  EXPECT_EQ(rows.find({0, 5}, 1), 1U);
  EXPECT_EQ(rows.find({0, 3}, 7), 3U);
}

TEST(RowTable, An_empty_counter_has_no_rows) { EXPECT_EQ(RowCounter().rows().row_count(), 0U); }

// Against counting in a map, which is what the chunks of bits stand in for.
TEST(RowTable, Random_records_get_the_rows_that_a_map_of_counts_gives) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; round++) {
    RowCounter counter;
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, std::uint64_t> counts;
    for (int record = 0; record < 2000; record++) {
      const std::uint64_t forward = random() % 3, row = random() % 400;
      const auto layer = static_cast<std::uint32_t>(random() % 5);
      counter.add({forward, row}, layer);
      counts[{forward, row, layer}]++;
    }
    std::map<RowKey, std::uint64_t> copies;
    std::uint64_t row_count = 0;
    for (const auto& [key, count] : counts) {
      std::uint64_t& most = copies[{std::get<0>(key), std::get<1>(key)}];
      most = std::max(most, count);
    }
    const RunRows rows = counter.rows();
    ASSERT_EQ(rows.keys.size(), copies.size());
    for (const auto& [key, count] : copies) {
      const std::size_t at = rows.find(key, 0);
      ASSERT_LT(at, rows.keys.size());
      EXPECT_EQ(rows.first_row[at], row_count);
      row_count += count;
    }
    EXPECT_EQ(rows.row_count(), row_count);
    EXPECT_EQ(counter.repeated_count(), 2000 - counts.size());
  }
}

}  // namespace
}  // namespace atlas
