// How one feature's shares spread over the topics: specialisation, lift and top topic, from the sums of its shares over each topic's runs.
// Computed for the true labels, for relabelings and for bootstrap resamples by the same function.
//
// Only +, -, *, / on doubles and a logarithm made of them, so that every machine gets the same digits (compiled with -ffp-contract=off).
#pragma once

#include <array>
#include <cstdint>

#include "stats/topic_sums.h"

namespace atlas {

// p_c = (mean share in topic c) / (sum of the topics' mean shares), C topics.
//   specialisation  1 - H(p) / ln C, in [0, 1]; 0 where p is uniform, 1 where one topic has all. Source: the reference document.
//   lift            C * max p, in [1, C].
//   top_topic       the first of those with the greatest p, compared as whole numbers.
// A feature without any share has no p: total is 0, specialisation 0, lift 1.
struct TopicProfile {
  std::array<double, block_width> total{};  // sum of mean shares, in the block's units
  std::array<double, block_width> specialisation{};
  std::array<double, block_width> lift{};
  std::array<std::uint32_t, block_width> top_topic{};
};

void profile_topics(const Lanes* sums, const Deals& deals, TopicProfile& profile);

// Natural logarithm of a positive normal number, within 2 units in the last place of the true one.
double portable_log(double value);

// round(value * 10^6) / 10^6, halves upward: what reference mode does to a specialisation before it is compared with a threshold.
double rounded(double value);

}  // namespace atlas
