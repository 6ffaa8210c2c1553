// The test of each feature: does its share differ between topics more than under permuted labels? Statistic: eta squared. Used for experts
// and, in the token controls, for residual selections.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/topic_sums.h"

namespace atlas {

// Between-topic / total sum of squares of a feature's shares over runs, in [0, 1]; 0 where all shares are equal. Source: Fisher's analysis of
// variance. Runs are told apart to 2^-30 of a share (shares.h).
std::vector<double> eta_squared(const Shares& shares);  // [feature_count]

// The features that are tested, chosen without labels: those whose selections over all runs reach min_count; all if floors do not apply.
std::vector<std::uint32_t> features_at_floor(const Shares& shares, std::uint64_t min_count);

// Some of the relabelings: the first `most`, or, if all are enumerated (in an order that keeps neighbours alike), that many drawn at random.
std::vector<std::uint32_t> choose_relabelings(const Relabelings& relabelings, std::size_t most, std::uint64_t seed);

// The reference set of a permutation test: the chosen relabelings, and before them the true labels unless all of an enumeration are chosen
// (which has them). A p-value is then the share of the set whose statistic is at least as great, as Relabelings::p_value has it.
Deals reference_set(const Shares& shares, const Relabelings& relabelings, const std::vector<std::uint32_t>& chosen);

// For each labeling in `of` and each feature of the family: how many of `all` have an eta squared at least as great. Exact: the statistic that
// is compared is the whole number sum of weight * (topic sum)^2, which neither the order nor the names of topics can change.
std::vector<std::uint32_t> count_at_least(const Shares& shares, const std::vector<std::uint32_t>& family, const Deals& all,
                                          const Deals& of);  // [of.count, family]

// Step-down min-P over the family with the reference set `all` (at most 65,535): at_least as above for the true labels. Returns p-values in
// whole multiples of 1 / all.count. Memory: two bytes for each labeling and feature of a stretch of 2,048 features.
std::vector<std::uint32_t> step_down_min_p(const Shares& shares, const std::vector<std::uint32_t>& family, const Deals& all,
                                           const std::vector<std::uint32_t>& at_least);  // [family], times 1 / all.count

}  // namespace atlas
