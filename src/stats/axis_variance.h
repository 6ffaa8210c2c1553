// How much of what differs between prompts' routing goes with each axis of labels (topic, language, form, ...). Pure functions of shares and labels.
#pragma once

#include <string>
#include <vector>

#include "stats/shares.h"

namespace atlas {

struct AxisVariance {
  std::string not_computed;       // why, or empty
  std::uint32_t run_count = 0;    // runs with a label on every axis; only they count
  std::vector<double> share;      // [axis], in [0, 1]; sums to all_axes
  std::vector<double> by_chance;  // [axis], in [0, 1]: the mean of share if the labels were dealt at random. Compare with this, not with 0
  double all_axes = 0;            // R^2 of all axes together, in [0, 1]; the rest goes with no axis
};

// The Shapley value of R^2, also called LMG (Lindeman, Merenda, Gold 1980; Shapley 1953), which does not depend on the order of the axes: with
// R^2(S) = (sum of squares between the fitted values of the additive least-squares model of the levels of all axes in S, over all experts) /
// (total sum of squares of shares about their mean), share(a) = mean of R^2(before and a) - R^2(before) over all orders of the axes, `before`
// being the axes that come before a. In a balanced design that is the axis's between-levels sum of squares / total.
//
// by_chance is the Shapley value of rank(S) / (run_count - 1), the mean of R^2(S) under permutation of the runs; rank(S) the model's degrees of
// freedom without the mean. labels: [axis][probe], "" for none.
//
// Not computed: no axis or more than max_variance_axes, fewer than two runs with all labels, all of their shares equal.
inline constexpr std::size_t max_variance_axes = 8;
AxisVariance share_variance(const Shares& shares, const std::vector<std::vector<std::string>>& labels);

}  // namespace atlas
