// How far an expert's profile would move with other prompts: runs drawn again within topics, with replacement. And its level when labels mean
// nothing: profiles under relabelings.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stats/topic_profile.h"
#include "stats/topic_sums.h"

namespace atlas {

// Profiles of some features under one labeling.
struct ProfileList {
  std::vector<double> total;             // [features], 0: no shares, so no profile
  std::vector<double> specialisation;    // [features], in [0, 1]
  std::vector<double> lift;              // [features], in [1, topic_count]
  std::vector<std::uint32_t> top_topic;  // [features]
};

ProfileList profile_features(const Shares& shares, const std::vector<std::uint32_t>& features, const Deals& deals, std::size_t deal);

// Mean specialisation over all of these deals.
std::vector<double> mean_specialisation(const Shares& shares, const std::vector<std::uint32_t>& features, const Deals& deals);  // [features]

// Basic bootstrap intervals (Davison and Hinkley 1997, 5.2): [2 t - upper quantile, 2 t - lower quantile] of the resampled values around the
// observed t, clipped to the range. Not percentile intervals: few prompts make specialisation and lift too great, in a resample once more so,
// and the basic interval takes that off where the percentile interval adds it. Quantiles at 2.5 and 97.5 %, the outer of the two neighbours.
// Lift is that of whichever topic is on top in the resample, like the observed one. A resample in which the feature has no share counts as
// specialisation 0, lift 1 and another top topic.
struct BootstrapList {
  std::vector<std::array<double, 2>> specialisation_95;  // [features], in [0, 1]
  std::vector<std::array<double, 2>> lift_95;            // [features], in [1, topic_count]
  std::vector<std::uint32_t> stable_count;               // [features], resamples whose top topic is the observed one
};

BootstrapList bootstrap_features(const Shares& shares, const std::vector<std::uint32_t>& features, const ProfileList& observed,
                                 const Deals& resamples);

// Only the last of these: what the specialist rule asks of candidates under permuted labels.
std::vector<std::uint32_t> count_stable(const Shares& shares, const std::vector<std::uint32_t>& features, const std::vector<std::uint32_t>& top_topic,
                                        const Deals& resamples);

}  // namespace atlas
