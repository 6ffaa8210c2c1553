// See expert_bootstrap.h.
#include "stats/expert_bootstrap.h"

#include <algorithm>

#include "base/parallel.h"

namespace atlas {

namespace {

// Calls work(first feature, width, block) for blocks of features, on all threads.
template <typename Work>
void for_each_block(const Shares& shares, const std::vector<std::uint32_t>& features, const Deals& deals, const Work& work) {
  parallel_for((features.size() + block_width - 1) / block_width, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin * block_width; at < std::min(features.size(), end * block_width); at += block_width) {
      const std::size_t width = std::min(block_width, features.size() - at);
      work(at, width, pack_block(shares, features.data() + at, width, deals));
    }
  });
}

// values: [count], put into another order.
std::array<double, 2> basic_interval(double observed, double* values, std::size_t count, double least, double greatest) {
  const std::size_t low = (count - 1) * 25 / 1000, high = ((count - 1) * 975 + 999) / 1000;
  std::nth_element(values, values + low, values + count);
  const double low_value = values[low];
  std::nth_element(values, values + high, values + count);
  return {std::clamp(2 * observed - values[high], least, greatest), std::clamp(2 * observed - low_value, least, greatest)};
}

bool is_stable(const TopicProfile& profile, std::size_t lane, std::uint32_t top_topic) {
  return profile.top_topic[lane] == top_topic && profile.total[lane] > 0;
}

}  // namespace

ProfileList profile_features(const Shares& shares, const std::vector<std::uint32_t>& features, const Deals& deals, std::size_t deal) {
  ProfileList list{std::vector<double>(features.size()), std::vector<double>(features.size()), std::vector<double>(features.size()),
                   std::vector<std::uint32_t>(features.size())};
  for_each_block(shares, features, deals, [&](std::size_t at, std::size_t width, const FeatureBlock& block) {
    std::vector<Lanes> sums(deals.topic_count());
    TopicProfile profile;
    add_up(block, deals, deal, sums.data());
    profile_topics(sums.data(), deals, profile);
    for (std::size_t lane = 0; lane < width; lane++) {
      list.total[at + lane] = profile.total[lane];
      list.specialisation[at + lane] = profile.specialisation[lane];
      list.lift[at + lane] = profile.lift[lane];
      list.top_topic[at + lane] = profile.top_topic[lane];
    }
  });
  return list;
}

std::vector<double> mean_specialisation(const Shares& shares, const std::vector<std::uint32_t>& features, const Deals& deals) {
  std::vector<double> mean(features.size());
  for_each_block(shares, features, deals, [&](std::size_t at, std::size_t width, const FeatureBlock& block) {
    std::vector<Lanes> sums(deals.topic_count());
    TopicProfile profile;
    for (std::size_t deal = 0; deal < deals.count; deal++) {
      add_up(block, deals, deal, sums.data());
      profile_topics(sums.data(), deals, profile);
      for (std::size_t lane = 0; lane < width; lane++) mean[at + lane] += profile.specialisation[lane];
    }
    for (std::size_t lane = 0; lane < width; lane++) mean[at + lane] /= static_cast<double>(deals.count);
  });
  return mean;
}

BootstrapList bootstrap_features(const Shares& shares, const std::vector<std::uint32_t>& features, const ProfileList& observed,
                                 const Deals& resamples) {
  BootstrapList list{std::vector<std::array<double, 2>>(features.size()), std::vector<std::array<double, 2>>(features.size()),
                     std::vector<std::uint32_t>(features.size())};
  for_each_block(shares, features, resamples, [&](std::size_t at, std::size_t width, const FeatureBlock& block) {
    std::vector<Lanes> sums(resamples.topic_count());
    std::vector<double> specialisation(width * resamples.count), lift(width * resamples.count);  // [lane, resample]
    TopicProfile profile;
    for (std::size_t draw = 0; draw < resamples.count; draw++) {
      add_up(block, resamples, draw, sums.data());
      profile_topics(sums.data(), resamples, profile);
      for (std::size_t lane = 0; lane < width; lane++) {
        specialisation[lane * resamples.count + draw] = profile.specialisation[lane];
        lift[lane * resamples.count + draw] = profile.lift[lane];
        list.stable_count[at + lane] += is_stable(profile, lane, observed.top_topic[at + lane]) ? 1 : 0;
      }
    }
    const auto topics = static_cast<double>(resamples.topic_count());
    for (std::size_t lane = 0; lane < width; lane++) {
      const std::size_t e = at + lane, first = lane * resamples.count;
      list.specialisation_95[e] = basic_interval(observed.specialisation[e], specialisation.data() + first, resamples.count, 0, 1);
      list.lift_95[e] = basic_interval(observed.lift[e], lift.data() + first, resamples.count, 1, topics);
    }
  });
  return list;
}

std::vector<std::uint32_t> count_stable(const Shares& shares, const std::vector<std::uint32_t>& features, const std::vector<std::uint32_t>& top_topic,
                                        const Deals& resamples) {
  std::vector<std::uint32_t> count(features.size());
  for_each_block(shares, features, resamples, [&](std::size_t at, std::size_t width, const FeatureBlock& block) {
    std::vector<Lanes> sums(resamples.topic_count());
    TopicProfile profile;
    for (std::size_t draw = 0; draw < resamples.count; draw++) {
      add_up(block, resamples, draw, sums.data());
      profile_topics(sums.data(), resamples, profile);
      for (std::size_t lane = 0; lane < width; lane++) count[at + lane] += is_stable(profile, lane, top_topic[at + lane]) ? 1 : 0;
    }
  });
  return count;
}

}  // namespace atlas
