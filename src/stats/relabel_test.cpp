// Tests of permuted labels: enumeration against every order of the labels, the number against that, samples for uniformity.
#include "stats/relabel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace atlas {
namespace {

using Partition = std::set<std::vector<std::size_t>>;  // the sets of runs, whatever their topics are called

std::vector<std::uint32_t> labels_of(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> labels;
  for (std::uint32_t c = 0; c < sizes.size(); c++) labels.insert(labels.end(), sizes[c], c);
  return labels;
}

template <typename Label>
Partition partition_of(const Label* labels, std::size_t run_count) {
  std::map<std::size_t, std::vector<std::size_t>> sets;
  for (std::size_t run = 0; run < run_count; run++) sets[labels[run]].push_back(run);
  Partition partition;
  for (const auto& [label, runs] : sets) partition.insert(runs);
  return partition;
}

// All orders of the labels, made by next_permutation, as partitions.
std::set<Partition> every_partition(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> labels = labels_of(sizes);
  std::set<Partition> partitions;
  do partitions.insert(partition_of(labels.data(), labels.size()));
  while (std::next_permutation(labels.begin(), labels.end()));
  return partitions;
}

const std::vector<std::vector<std::uint32_t>> designs{{2, 2},    {3, 3},    {2, 3},       {2, 2, 2}, {2, 2, 3},
                                                      {4, 1, 4}, {3, 2, 3}, {1, 1, 1, 1}, {5},       {2, 4, 2, 1}};

TEST(Relabelings, Enumerated_are_every_partition_once) {
  for (const auto& sizes : designs) {
    const std::vector<std::uint32_t> labels = labels_of(sizes);
    const Relabelings relabelings = make_relabelings(labels, sizes.size(), 100000, 0);
    ASSERT_TRUE(relabelings.enumerated);
    std::set<Partition> seen;
    for (std::size_t i = 0; i < relabelings.count(); i++) {
      seen.insert(partition_of(relabelings.at(i), labels.size()));
      for (std::size_t c = 0; c < sizes.size(); c++)
        ASSERT_EQ(static_cast<std::uint32_t>(std::count(relabelings.at(i), relabelings.at(i) + labels.size(), c)), sizes[c]);
    }
    EXPECT_EQ(seen.size(), relabelings.count());
    EXPECT_EQ(seen, every_partition(sizes));
    EXPECT_EQ(distinct_relabelings(sizes), static_cast<double>(seen.size()));
  }
}

TEST(Relabelings, Number_of_distinct_ones_follows_the_formula_and_becomes_infinite) {
  EXPECT_EQ(distinct_relabelings({3, 3}), 10);           // 20 / 2
  EXPECT_EQ(distinct_relabelings({2, 3}), 10);           // not interchangeable
  EXPECT_EQ(distinct_relabelings({3, 3, 3, 3}), 15400);  // 369600 / 24
  EXPECT_EQ(distinct_relabelings({3, 4, 4}), 5775);      // 11! / (3! 4! 4!) / 2
  EXPECT_EQ(distinct_relabelings({2, 2, 0, 0}), 3);      // empty topics hold no run to exchange
  EXPECT_TRUE(std::isinf(distinct_relabelings(std::vector<std::uint32_t>(100, 20))));
}

TEST(Relabelings, Are_enumerated_just_when_they_fit) {
  const std::vector<std::uint32_t> labels = labels_of({3, 3});
  EXPECT_TRUE(make_relabelings(labels, 2, 10, 0).enumerated);
  const Relabelings sampled = make_relabelings(labels, 2, 9, 0);
  EXPECT_FALSE(sampled.enumerated);
  EXPECT_EQ(sampled.count(), 9U);
  EXPECT_EQ(make_relabelings(labels, 2, 0, 0).count(), 0U);
  EXPECT_EQ(make_relabelings({}, 0, 10, 0).count(), 0U);
}

TEST(Relabelings, Sampled_give_every_order_of_the_labels_equally_often) {
  const std::vector<std::uint32_t> labels = labels_of({3, 4});  // 35 orders; all are sampled if fewer are asked for
  std::map<std::vector<std::uint16_t>, std::size_t> seen;
  for (std::uint64_t seed = 0; seed < 1000; seed++) {
    const Relabelings relabelings = make_relabelings(labels, 2, 34, seed);
    for (std::size_t i = 0; i < relabelings.count(); i++) seen[{relabelings.at(i), relabelings.at(i) + labels.size()}]++;
  }
  ASSERT_EQ(seen.size(), 35U);
  double chi_squared = 0;
  const double expected = 34000.0 / 35;
  for (const auto& [order, count] : seen) chi_squared += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  EXPECT_LT(chi_squared, 65.3);  // 99.9 % point at 34 degrees of freedom
}

TEST(Relabelings, Sampled_depend_on_the_seed_alone) {
  const std::vector<std::uint32_t> labels = labels_of({8, 8, 8});
  EXPECT_EQ(make_relabelings(labels, 3, 50, 1).labels, make_relabelings(labels, 3, 50, 1).labels);
  EXPECT_NE(make_relabelings(labels, 3, 50, 1).labels, make_relabelings(labels, 3, 50, 2).labels);
}

TEST(Relabelings, P_values_count_the_true_labels_once) {
  const std::vector<std::uint32_t> labels = labels_of({3, 3});
  const Relabelings enumerated = make_relabelings(labels, 2, 10, 0), sampled = make_relabelings(labels, 2, 9, 0),
                    none = make_relabelings(labels, 2, 0, 0);
  EXPECT_EQ(enumerated.p_value(1), 0.1);
  EXPECT_EQ(enumerated.smallest_p_value(), 0.1);
  EXPECT_EQ(sampled.p_value(0), 0.1);
  EXPECT_EQ(sampled.p_value(9), 1);
  EXPECT_EQ(sampled.smallest_p_value(), 0.1);
  EXPECT_EQ(none.p_value(0), 1);
  EXPECT_EQ(none.smallest_p_value(), 1);
}

// All ways to permute labels within levels, by permuting all labels and dropping what moves a label to another level.
std::set<Partition> every_partition_within(const std::vector<std::uint32_t>& labels, const std::vector<std::uint32_t>& level) {
  using Pairs = std::multiset<std::pair<std::uint32_t, std::uint32_t>>;
  const auto pairs_of = [&](const std::vector<std::uint32_t>& permuted) {
    Pairs pairs;
    for (std::size_t run = 0; run < level.size(); run++) pairs.insert({level[run], permuted[run]});
    return pairs;
  };
  std::vector<std::uint32_t> permuted = labels;
  std::sort(permuted.begin(), permuted.end());
  std::set<Partition> partitions;
  do {
    if (pairs_of(permuted) == pairs_of(labels)) partitions.insert(partition_of(permuted.data(), permuted.size()));
  } while (std::next_permutation(permuted.begin(), permuted.end()));
  return partitions;
}

TEST(RelabelingsWithin, Enumerated_are_every_partition_that_keeps_labels_in_their_level) {
  struct Design {
    std::vector<std::uint32_t> labels, level;
  };
  const std::vector<Design> crossed{{{0, 0, 1, 1, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}},
                                    {{0, 1, 0, 1, 0, 1}, {0, 0, 1, 1, 2, 2}},
                                    {{0, 0, 1, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 1, 1, 0, 1}},
                                    {{0, 1, 2, 0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2}},
                                    {{0, 0, 1, 1}, {0, 0, 1, 1}}};
  for (const Design& design : crossed) {
    const std::size_t topics = *std::max_element(design.labels.begin(), design.labels.end()) + 1;
    const std::size_t levels = *std::max_element(design.level.begin(), design.level.end()) + 1;
    const Relabelings relabelings = make_relabelings_within(design.labels, topics, design.level, levels, 10000, 0);
    ASSERT_TRUE(relabelings.enumerated);
    std::set<Partition> seen;
    for (std::size_t i = 0; i < relabelings.count(); i++) seen.insert(partition_of(relabelings.at(i), design.labels.size()));
    EXPECT_EQ(seen.size(), relabelings.count());
    EXPECT_EQ(seen, every_partition_within(design.labels, design.level));
  }
}

TEST(RelabelingsWithin, Sampled_keep_the_number_of_each_label_in_each_level) {
  std::vector<std::uint32_t> labels, level;
  for (std::uint32_t run = 0; run < 40; run++) {
    labels.push_back(run * 7 % 5);
    level.push_back(run * 11 % 3);
  }
  const Relabelings relabelings = make_relabelings_within(labels, 5, level, 3, 50, 4);
  ASSERT_FALSE(relabelings.enumerated);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> expected;
  for (std::size_t run = 0; run < 40; run++) expected[{level[run], labels[run]}]++;
  for (std::size_t b = 0; b < relabelings.count(); b++) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> seen;
    for (std::size_t run = 0; run < 40; run++) seen[{level[run], relabelings.at(b)[run]}]++;
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace atlas
