// See planning.h.
#include "stats/planning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "stats/expert_tests.h"
#include "stats/held_out.h"
#include "stats/random.h"

namespace atlas {

namespace {

// How many of `count` stay if each does with the chance threshold / 2^32. Two decisions a random number, and no library function that differs
// between machines.
std::uint32_t thin(std::uint32_t count, std::uint64_t threshold, Random& random) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; i += 2) {
    const std::uint64_t bits = random.next();
    kept += (bits >> 32) < threshold ? 1 : 0;
    kept += i + 1 < count && (bits & 0xFFFFFFFFULL) < threshold ? 1 : 0;
  }
  return kept;
}

// prompt_count of each topic's runs, rising.
std::vector<std::uint32_t> choose_runs(const Shares& shares, std::uint32_t prompt_count, Random& random) {
  std::vector<std::vector<std::uint32_t>> members(shares.topic_count());
  for (std::uint32_t run = 0; run < shares.run_count(); run++) members[shares.topic[run]].push_back(run);
  std::vector<std::uint32_t> chosen;
  for (auto& runs : members) {
    random.shuffle(runs);
    runs.resize(std::min<std::size_t>(runs.size(), prompt_count));
    chosen.insert(chosen.end(), runs.begin(), runs.end());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string why_not(const Shares& shares, const PlanOptions& options) {
  const std::string reason = why_not_testable(shares, 2);
  if (!reason.empty()) return reason;
  if (shares.selections.empty()) return "no counts to draw from";
  if (options.subsamples == 0) return "no subsamples asked for";
  if (options.pairings == 0) return "no pairings asked for";
  for (const double share : options.token_shares)
    if (!(share > 0 && share <= 1)) return "a share of the tokens that is not in (0, 1]";
  return "";
}

double smallest_p_value(std::size_t topic_count, std::uint32_t prompt_count) {
  // Where their number is past what a double holds, the least that it holds: p is never 0.
  return std::max(1 / distinct_relabelings(std::vector<std::uint32_t>(topic_count, prompt_count)), std::numeric_limits<double>::min());
}

double count_specialists(const Shares& shares, const PlanOptions& options, std::uint64_t seed) {
  ExpertOptions expert_options;
  expert_options.min_count = options.min_count;
  expert_options.bootstrap_draws = 200;
  expert_options.min_p_relabelings = expert_options.above_null_relabelings = expert_options.rule_relabelings = 0;
  expert_options.seed = seed;
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), options.specialist_relabelings, seed);
  return static_cast<double>(test_experts(shares, relabelings, expert_options).specialists.count);
}

PlanPoint examine(const Shares& shares, const PlanOptions& options, std::uint32_t prompt_count, double token_share) {
  PlanPoint point;
  point.prompt_count = prompt_count;
  point.token_share = token_share;
  point.smallest_p_value = smallest_p_value(shares.topic_count(), prompt_count);
  std::vector<double> accuracies;
  double significant = 0, specialists = 0;
  for (std::size_t i = 0; i < options.subsamples; i++) {
    const Shares part = subsample(shares, prompt_count, token_share, options.seed, i);
    const Relabelings relabelings = make_relabelings(part.topic, part.topic_count(), options.relabelings, options.seed + i);
    const HeldOutResult result = test_cosine(part, relabelings, {options.pairings, 0, options.seed + i});
    accuracies.push_back(result.accuracy);
    significant += result.p_value <= 0.05 ? 1 : 0;
    if (options.specialist_relabelings > 0) specialists += count_specialists(part, options, options.seed + i);
  }
  const auto count = static_cast<double>(options.subsamples);
  for (const double accuracy : accuracies) point.accuracy += accuracy / count;
  double squares = 0;
  for (const double accuracy : accuracies) squares += (accuracy - point.accuracy) * (accuracy - point.accuracy);
  point.accuracy_deviation = std::sqrt(squares / std::max(1.0, count - 1));
  if (options.relabelings > 0) point.significant_share = significant / count;
  if (options.specialist_relabelings > 0) point.specialist_count = specialists / count;
  return point;
}

// The points of one token share.
void plan_prompts(const Shares& shares, const PlanOptions& options, double token_share, Plan& plan) {
  const std::vector<std::uint32_t> sizes = topic_sizes(shares);
  const std::uint32_t most = *std::min_element(sizes.begin(), sizes.end());
  const std::set<std::uint32_t> prompt_counts(options.prompt_counts.begin(), options.prompt_counts.end());
  std::vector<PlanPoint> computed;
  for (const std::uint32_t prompt_count : prompt_counts)
    if (prompt_count >= 2 && prompt_count <= most) computed.push_back(examine(shares, options, prompt_count, token_share));
  plan.points.insert(plan.points.end(), computed.begin(), computed.end());
  for (const std::uint32_t prompt_count : prompt_counts) {
    if (prompt_count <= most) continue;
    if (computed.size() < 3) {
      plan.extrapolation_not_computed = "fewer than three numbers of prompts to go by";
      return;
    }
    PlanPoint point;
    point.prompt_count = prompt_count;
    point.token_share = token_share;
    point.is_extrapolated = true;
    point.accuracy = extrapolate_accuracy(computed, plan.chance, prompt_count);
    point.smallest_p_value = smallest_p_value(shares.topic_count(), prompt_count);
    plan.points.push_back(point);
  }
}

}  // namespace

Shares subsample(const Shares& shares, std::uint32_t prompt_count, double token_share, std::uint64_t seed, std::uint64_t index) {
  Random random(seed, random_purpose::subsample, index);
  const auto threshold = static_cast<std::uint64_t>(std::floor(token_share * 0x1.0p32 + 0.5));
  const std::size_t features = shares.feature_count;
  Shares result;
  result.feature_count = features;
  result.topics = shares.topics;
  for (const std::uint32_t run : choose_runs(shares, prompt_count, random)) {
    result.topic.push_back(shares.topic[run]);
    result.probe.push_back(shares.probe[run]);
    std::uint64_t total = 0;
    for (std::size_t e = 0; e < features; e++) {
      const std::uint32_t count = shares.selections[run * features + e];
      result.selections.push_back(token_share < 1 ? thin(count, threshold, random) : count);
      total += result.selections.back();
    }
    for (std::size_t e = result.selections.size() - features; e < result.selections.size(); e++)
      result.values.push_back(fixed_share(result.selections[e], std::max<std::uint64_t>(1, total)));
  }
  return result;
}

double extrapolate_accuracy(const std::vector<PlanPoint>& points, double chance, std::uint32_t prompt_count) {
  double count = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  const auto x_of = [](const PlanPoint& point) { return std::log(static_cast<double>(point.prompt_count)); };
  const auto y_of = [&](const PlanPoint& point) {
    const double above = std::clamp((point.accuracy - chance) / (1 - chance), 0.005, 0.995);
    return std::log(above / (1 - above));
  };
  for (const PlanPoint& point : points) {
    count++;
    x_mean += x_of(point);
    y_mean += y_of(point);
  }
  x_mean /= count;
  y_mean /= count;
  for (const PlanPoint& point : points) {
    xx += (x_of(point) - x_mean) * (x_of(point) - x_mean);
    xy += (x_of(point) - x_mean) * (y_of(point) - y_mean);
  }
  const double y = y_mean + xy / xx * (std::log(static_cast<double>(prompt_count)) - x_mean);
  return chance + (1 - chance) / (1 + std::exp(-y));
}

Plan plan(const Shares& shares, const PlanOptions& options) {
  Plan result;
  result.not_computed = why_not(shares, options);
  if (!result.not_computed.empty()) return result;
  result.chance = 1 / static_cast<double>(shares.topic_count());
  for (const double token_share : options.token_shares) plan_prompts(shares, options, token_share, result);
  return result;
}

ReachOfQ reach_of_q(double q, std::size_t found, std::size_t family_size, std::size_t topic_count) {
  ReachOfQ reach;
  reach.found = found;
  reach.needed_p_value = std::min(1.0, q * static_cast<double>(found) / static_cast<double>(family_size));
  const double needed = std::ceil(1 / reach.needed_p_value - 1e-9);  // relabelings with the true one, so that one of them is rare enough
  reach.needed_relabelings = needed - 1;
  constexpr std::uint32_t most_prompts = 1000;
  for (std::uint32_t prompts = 1; prompts <= most_prompts && reach.needed_prompt_count == 0; prompts++)
    if (distinct_relabelings(std::vector<std::uint32_t>(topic_count, prompts)) >= needed) reach.needed_prompt_count = prompts;
  return reach;
}

}  // namespace atlas
