// See axis_variance.h.
#include "stats/axis_variance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace atlas {

namespace {

using Vector = std::vector<double>;  // [run_count]

double dot(const Vector& left, const Vector& right) {
  double sum = 0;
  for (std::size_t run = 0; run < left.size(); run++) sum += left[run] * right[run];
  return sum;
}

// Adds the part of `column` that is orthogonal to the basis, unless nothing is left of it.
void extend(std::vector<Vector>& basis, Vector column) {
  const double before = dot(column, column);
  for (int pass = 0; pass < 2; pass++)  // once more, for what rounding left
    for (const Vector& unit : basis) {
      const double along = dot(column, unit);
      for (std::size_t run = 0; run < column.size(); run++) column[run] -= along * unit[run];
    }
  const double after = dot(column, column);
  if (after <= 1e-9 * before) return;
  for (double& value : column) value /= std::sqrt(after);
  basis.push_back(std::move(column));
}

// What a set of axes explains, and with how many degrees of freedom.
struct Fit {
  double r_squared = 0;
  double by_chance = 0;
};

// columns: [level] of one axis, 1 for its runs.
std::vector<Vector> level_columns(const std::vector<std::string>& labels) {
  const std::set<std::string> levels(labels.begin(), labels.end());
  std::vector<Vector> columns;
  for (const std::string& level : levels) {
    columns.emplace_back();
    for (const std::string& label : labels) columns.back().push_back(label == level ? 1 : 0);
  }
  return columns;
}

// sum of squares of the projection onto `unit` over all features.
double explained(const Gram& gram, const Vector& unit) {
  double sum = 0;
  for (std::size_t i = 0; i < unit.size(); i++) {
    double row = 0;
    for (std::size_t j = 0; j < unit.size(); j++) row += static_cast<double>(gram.at(i, j)) * unit[j];
    sum += row * unit[i];
  }
  return sum;
}

Fit fit(const Gram& gram, double total, const std::vector<std::vector<Vector>>& axes, std::size_t set) {
  const auto runs = static_cast<double>(gram.run_count);
  std::vector<Vector> basis{Vector(gram.run_count, 1 / std::sqrt(runs))};
  for (std::size_t axis = 0; axis < axes.size(); axis++)
    if ((set >> axis & 1) != 0)
      for (const Vector& column : axes[axis]) extend(basis, column);
  Fit result;
  for (std::size_t i = 1; i < basis.size(); i++) result.r_squared += explained(gram, basis[i]) / total;
  result.r_squared = std::clamp(result.r_squared, 0.0, 1.0);
  result.by_chance = static_cast<double>(basis.size() - 1) / (runs - 1);
  return result;
}

// Total sum of squares about the mean, in the Gram matrix's unit; 0 if all runs are equal as far as its rounding lets tell.
double total_of(const Gram& gram) {
  __extension__ using Wide = __int128;
  Wide diagonal = 0, all = 0;
  for (std::size_t i = 0; i < gram.run_count; i++) {
    diagonal += gram.at(i, i);
    for (std::size_t j = 0; j < gram.run_count; j++) all += gram.at(i, j);
  }
  const auto runs = static_cast<Wide>(gram.run_count);
  const Wide spread = runs * diagonal - all;
  return spread > runs * runs ? static_cast<double>(spread) / static_cast<double>(runs) : 0;
}

// The share of orders in which just the axes of a set of this size come before one axis: size! (axes - size - 1)! / axes!.
double order_share(std::size_t size, std::size_t axes) {
  double share = 1.0 / static_cast<double>(axes);
  for (std::size_t i = 1; i <= size; i++) share *= static_cast<double>(i) / static_cast<double>(axes - i);
  return share;
}

Shares keep_labelled(const Shares& shares, const std::vector<std::vector<std::string>>& labels) {
  Shares result;
  result.feature_count = shares.feature_count;
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    const std::uint32_t probe = shares.probe[run];
    if (std::any_of(labels.begin(), labels.end(), [&](const auto& axis) { return axis[probe].empty(); })) continue;
    result.topic.push_back(shares.topic[run]);
    result.probe.push_back(probe);
    result.values.insert(result.values.end(), shares.row(run), shares.row(run) + shares.feature_count);
  }
  return result;
}

}  // namespace

AxisVariance share_variance(const Shares& all_shares, const std::vector<std::vector<std::string>>& labels) {
  AxisVariance result;
  const Shares shares = keep_labelled(all_shares, labels);
  result.run_count = static_cast<std::uint32_t>(shares.run_count());
  if (labels.empty()) result.not_computed = "no axis of labels";
  else if (labels.size() > max_variance_axes) result.not_computed = "more than " + std::to_string(max_variance_axes) + " axes of labels";
  else if (shares.run_count() < 2) result.not_computed = "fewer than two prompts with a label on every axis";
  if (!result.not_computed.empty()) return result;
  const Gram gram = gram_of(shares);
  const double total = total_of(gram);
  if (total == 0) result.not_computed = "all prompts have the same shares";
  if (!result.not_computed.empty()) return result;

  std::vector<std::vector<Vector>> axes;
  for (const auto& axis : labels) {
    std::vector<std::string> of_runs;
    for (const std::uint32_t probe : shares.probe) of_runs.push_back(axis[probe]);
    axes.push_back(level_columns(of_runs));
  }
  std::vector<Fit> fits;
  for (std::size_t set = 0; set < std::size_t{1} << axes.size(); set++) fits.push_back(fit(gram, total, axes, set));
  result.all_axes = fits.back().r_squared;
  for (std::size_t axis = 0; axis < axes.size(); axis++) {
    double share = 0, by_chance = 0;
    for (std::size_t before = 0; before < fits.size(); before++) {
      if ((before >> axis & 1) != 0) continue;
      const std::size_t with = before | std::size_t{1} << axis;
      const double weight = order_share(static_cast<std::size_t>(std::popcount(before)), axes.size());
      share += weight * (fits[with].r_squared - fits[before].r_squared);
      by_chance += weight * (fits[with].by_chance - fits[before].by_chance);
    }
    result.share.push_back(std::max(0.0, share));
    result.by_chance.push_back(by_chance);
  }
  return result;
}

}  // namespace atlas
