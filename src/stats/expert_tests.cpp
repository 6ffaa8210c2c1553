// See expert_tests.h.
#include "stats/expert_tests.h"

#include <algorithm>
#include <numeric>

#include "stats/eta_squared.h"
#include "stats/expert_bootstrap.h"
#include "stats/multiple_tests.h"
#include "stats/random.h"

namespace atlas {

namespace {

using Indices = std::vector<std::uint32_t>;

bool any_negative(const Shares& shares) {
  return std::any_of(shares.values.begin(), shares.values.end(), [](std::int32_t value) { return value < 0; });
}

// Runs of a topic, under one labeling, in which the feature was selected.
std::uint32_t count_fired(const Shares& shares, std::uint32_t feature, const Deals& deals, std::size_t deal, std::uint32_t topic) {
  std::uint32_t fired = 0;
  for (std::uint32_t i = deals.topic_begin[topic]; i < deals.topic_begin[topic + 1]; i++) {
    const std::size_t at = deals.at(deal)[i] * shares.feature_count + feature;
    fired += (shares.selections.empty() ? shares.values[at] > 0 : shares.selections[at] > 0) ? 1 : 0;
  }
  return fired;
}

// The two rules' parts that follow from a profile, under one labeling; [features].
struct RuleFlags {
  std::vector<std::uint8_t> reaches_specialist, is_strong;
};

RuleFlags flags_of(const Shares& shares, const Indices& features, const ProfileList& profiles, const Deals& deals, std::size_t deal,
                   const ExpertOptions& options) {
  RuleFlags flags{std::vector<std::uint8_t>(features.size()), std::vector<std::uint8_t>(features.size())};
  for (std::size_t i = 0; i < features.size(); i++) {
    if (!(profiles.total[i] > 0)) continue;
    const double specialisation = rounded(profiles.specialisation[i]);
    flags.reaches_specialist[i] = specialisation >= options.specialist_threshold ? 1 : 0;
    if (specialisation >= options.strong_threshold)
      flags.is_strong[i] = count_fired(shares, features[i], deals, deal, profiles.top_topic[i]) >= options.min_runs ? 1 : 0;
  }
  return flags;
}

void finish(RuleCount& rule) {
  if (rule.null_counts.empty()) return;
  const double sum = static_cast<double>(std::accumulate(rule.null_counts.begin(), rule.null_counts.end(), std::size_t{0}));
  rule.null_mean = sum / static_cast<double>(rule.null_counts.size());
  if (rule.count > 0) rule.false_discovery_share = std::min(1.0, *rule.null_mean / static_cast<double>(rule.count));
}

// stable of draws are at least 0.9
bool is_stable(std::uint32_t stable, std::size_t draws) { return std::uint64_t{stable} * 10 >= draws * 9; }

// The computation in its order; each step fills its part of the result.
class ExpertTest {
 public:
  ExpertTest(const Shares& shares, const Relabelings& relabelings, const ExpertOptions& options)
      : shares_(shares), relabelings_(relabelings), options_(options), family_(features_at_floor(shares, options.min_count)),
        truth_(no_deals(shares)) {
    add_true_deal(truth_, shares);
  }

  ExpertResult run() {
    size_result();
    result_.eta_squared = eta_squared(shares_);
    result_.family_size = family_.size();
    for (const std::uint32_t e : family_) result_.in_family[e] = 1;
    for (const std::uint32_t b : choose_relabelings(relabelings_, options_.rule_relabelings, options_.seed))
      add_deal(rule_deals_, relabelings_.at(b));
    if (relabelings_.count() > 0) {
      test_family();
      test_min_p();
    }
    if (!result_.profiles_not_computed.empty()) return std::move(result_);
    profile_all();
    if (relabelings_.count() > 0) profile_null();
    if (result_.intervals_not_computed.empty()) bootstrap_family();
    apply_rules();
    return std::move(result_);
  }

 private:
  void size_result() {
    const std::size_t count = shares_.feature_count;
    ExpertResult& r = result_;
    r.in_family.resize(count), r.is_specialist.resize(count), r.is_strong.resize(count);
    r.p_value.resize(count), r.q_value.resize(count), r.p_value_min_p.resize(count);
    r.specialisation.resize(count), r.lift.resize(count), r.top_topic.resize(count), r.specialisation_above_null.resize(count);
    r.specialisation_interval_95.resize(count), r.lift_interval_95.resize(count), r.top_topic_stability.resize(count);
    rule_deals_ = no_deals(shares_);
    if (relabelings_.count() == 0) r.p_values_not_computed = "no relabelings (permutations are switched off)";
    if (any_negative(shares_)) r.profiles_not_computed = "shares are residuals, which may be negative and have no split over topics";
    const std::string few = why_not_testable(shares_, least_bootstrap_runs);
    if (!r.profiles_not_computed.empty()) r.intervals_not_computed = r.profiles_not_computed;
    else if (options_.bootstrap_draws == 0) r.intervals_not_computed = "the bootstrap is switched off";
    else if (!few.empty()) r.intervals_not_computed = "too few prompts: " + few;
  }

  // p and q under the true labels, and the ranks of the relabelings under which the rules are counted, from one pass.
  void test_family() {
    const Deals all = reference_set(shares_, relabelings_, choose_relabelings(relabelings_, relabelings_.count(), options_.seed));
    Deals of = truth_;
    of.runs.insert(of.runs.end(), rule_deals_.runs.begin(), rule_deals_.runs.end());
    of.count += rule_deals_.count;
    const Indices ranks = count_at_least(shares_, family_, all, of);
    for (std::size_t j = 0; j < of.count; j++) {
      const auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(j * family_.size());
      q_values_.push_back(benjamini_hochberg(Indices(begin, begin + static_cast<std::ptrdiff_t>(family_.size())), all.count));
    }
    for (std::size_t i = 0; i < family_.size(); i++) {
      result_.p_value[family_[i]] = static_cast<double>(ranks[i]) / static_cast<double>(all.count);
      result_.q_value[family_[i]] = q_values_[0][i];
    }
    result_.relabeling_count = relabelings_.count();
    result_.enumerated = relabelings_.enumerated;
    result_.smallest_p_value = relabelings_.smallest_p_value();
    result_.needed_at_smallest_p = needed_at_smallest_p(family_.size(), all.count);
  }

  void test_min_p() {
    const Indices chosen = choose_relabelings(relabelings_, options_.min_p_relabelings, options_.seed);
    result_.min_p_relabeling_count = chosen.size();
    if (chosen.empty()) return;
    const Deals all = reference_set(shares_, relabelings_, chosen);
    const Indices adjusted = step_down_min_p(shares_, family_, all, count_at_least(shares_, family_, all, truth_));
    for (std::size_t i = 0; i < family_.size(); i++)
      result_.p_value_min_p[family_[i]] = static_cast<double>(adjusted[i]) / static_cast<double>(all.count);
  }

  void profile_all() {
    Indices every(shares_.feature_count);
    std::iota(every.begin(), every.end(), 0);
    const ProfileList all = profile_features(shares_, every, truth_, 0);
    for (std::size_t e = 0; e < every.size(); e++) {
      if (!(all.total[e] > 0)) continue;
      result_.specialisation[e] = all.specialisation[e];
      result_.lift[e] = all.lift[e];
      result_.top_topic[e] = all.top_topic[e];
    }
    for (const std::uint32_t e : family_) {
      observed_.total.push_back(all.total[e]);
      observed_.specialisation.push_back(all.specialisation[e]);
      observed_.lift.push_back(all.lift[e]);
      observed_.top_topic.push_back(all.top_topic[e]);
    }
  }

  void profile_null() {
    Deals deals = no_deals(shares_);
    for (const std::uint32_t b : choose_relabelings(relabelings_, options_.above_null_relabelings, options_.seed))
      add_deal(deals, relabelings_.at(b));
    result_.above_null_relabeling_count = deals.count;
    if (deals.count == 0) return;
    const std::vector<double> mean = mean_specialisation(shares_, family_, deals);
    for (std::size_t i = 0; i < family_.size(); i++)
      if (observed_.total[i] > 0) result_.specialisation_above_null[family_[i]] = observed_.specialisation[i] - mean[i];
  }

  void bootstrap_family() {
    const Deals resamples = bootstrap_deals(truth_, 0, options_.bootstrap_draws, options_.seed, random_purpose::bootstrap, 0);
    const BootstrapList list = bootstrap_features(shares_, family_, observed_, resamples);
    for (std::size_t i = 0; i < family_.size(); i++) {
      if (!(observed_.total[i] > 0)) continue;
      result_.specialisation_interval_95[family_[i]] = list.specialisation_95[i];
      result_.lift_interval_95[family_[i]] = list.lift_95[i];
      result_.top_topic_stability[family_[i]] = static_cast<double>(list.stable_count[i]) / static_cast<double>(options_.bootstrap_draws);
    }
    stable_count_ = list.stable_count;
  }

  void apply_rules() {
    const RuleFlags flags = flags_of(shares_, family_, observed_, truth_, 0, options_);
    for (std::size_t i = 0; i < family_.size(); i++) {
      const bool stable = stable_count_.empty() || is_stable(stable_count_[i], options_.bootstrap_draws);
      const bool found = !q_values_.empty() && q_values_[0][i] <= 0.05 && flags.reaches_specialist[i] && stable;
      result_.is_specialist[family_[i]] = found ? 1 : 0;
      result_.is_strong[family_[i]] = flags.is_strong[i];
      result_.specialists.count += found ? 1 : 0;
      result_.strong.count += flags.is_strong[i];
    }
    for (std::size_t k = 0; k < rule_deals_.count; k++) count_under_relabeling(k);
    finish(result_.specialists);
    finish(result_.strong);
  }

  // Both rules from start to end with the labels of rule_deals_[k]. Few features pass q and specialisation: only those are resampled.
  void count_under_relabeling(std::size_t k) {
    const ProfileList profiles = profile_features(shares_, family_, rule_deals_, k);
    const RuleFlags flags = flags_of(shares_, family_, profiles, rule_deals_, k, options_);
    Indices candidates, top_topic;
    for (std::size_t i = 0; i < family_.size(); i++) {
      if (!flags.reaches_specialist[i] || !(q_values_[k + 1][i] <= 0.05)) continue;
      candidates.push_back(family_[i]);
      top_topic.push_back(profiles.top_topic[i]);
    }
    std::size_t count = candidates.size();
    if (count > 0 && !stable_count_.empty()) {
      const std::size_t draws = options_.bootstrap_draws;
      const Deals resamples = bootstrap_deals(rule_deals_, k, draws, options_.seed, random_purpose::permuted_bootstrap, k * draws);
      const Indices stable = count_stable(shares_, candidates, top_topic, resamples);
      count = static_cast<std::size_t>(std::count_if(stable.begin(), stable.end(), [&](std::uint32_t n) { return is_stable(n, draws); }));
    }
    result_.specialists.null_counts.push_back(count);
    result_.strong.null_counts.push_back(std::accumulate(flags.is_strong.begin(), flags.is_strong.end(), std::size_t{0}));
  }

  const Shares& shares_;
  const Relabelings& relabelings_;
  const ExpertOptions& options_;
  const Indices family_;                       // features that are tested
  Deals truth_, rule_deals_;                   // the true labels; the relabelings under which rules are counted
  std::vector<std::vector<double>> q_values_;  // [1 + rule_deals_.count, family]: under the true labels, then under those
  ProfileList observed_;                       // [family]
  Indices stable_count_;                       // [family], empty without a bootstrap
  ExpertResult result_;
};

}  // namespace

ExpertResult test_experts(const Shares& shares, const Relabelings& relabelings, const ExpertOptions& options) {
  ExpertResult result;
  result.not_computed = why_not_testable(shares, 2);
  if (result.not_computed.empty() && shares.feature_count == 0) result.not_computed = "no expert was selected";
  if (!result.not_computed.empty()) return result;
  return ExpertTest(shares, relabelings, options).run();
}

}  // namespace atlas
