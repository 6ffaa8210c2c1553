// See axes_evidence.h.
#include "atlas/axes_evidence.h"

#include <algorithm>
#include <set>

namespace atlas {

namespace {

// [probe]: the label on `axis`, "" for none.
std::vector<std::string> labels_on(const Counts& counts, const std::string& axis) {
  std::vector<std::string> labels;
  for (const TraceProbe& probe : counts.manifest.probes) {
    const auto found = probe.labels.find(axis);
    labels.push_back(found == probe.labels.end() ? "" : found->second);
  }
  return labels;
}

// Axes that tell probes apart. One that gives the same groups as another (a domain that repeats the topic) stays: the reader named it.
std::vector<std::string> usable_axes(const Counts& counts) {
  std::set<std::string> names;
  for (const TraceProbe& probe : counts.manifest.probes)
    for (const auto& [axis, label] : probe.labels) names.insert(axis);
  std::vector<std::string> axes;
  for (const std::string& axis : names) {
    const std::vector<std::string> labels = labels_on(counts, axis);
    std::set<std::string> levels(labels.begin(), labels.end());
    levels.erase("");
    if (levels.size() >= 2 && axes.size() < max_variance_axes) axes.push_back(axis);
  }
  return axes;
}

AxisEvidence gather_axis(const Counts& counts, const Shares& shares, const std::string& axis, const std::vector<std::string>& axes,
                         const EvidenceOptions& options) {
  AxisEvidence evidence;
  evidence.axis = axis;
  const Shares on_axis = with_topics(shares, labels_on(counts, axis));
  evidence.labels = on_axis.topics;
  const std::size_t permutations = std::min(options.permutations, options.control_permutations);
  HeldOutOptions held_out;
  held_out.pairings = std::min(options.pairings, options.set_pairings);
  held_out.seed = options.seed;
  evidence.held_out.not_computed = why_not_testable(on_axis, 2);
  if (evidence.held_out.not_computed.empty())
    evidence.held_out = test_cosine(on_axis, make_relabelings(on_axis.topic, on_axis.topic_count(), permutations, options.seed), held_out);
  for (const std::string& other : axes)
    if (other != axis) evidence.crossed.push_back({other, test_crossed(on_axis, labels_on(counts, other), permutations, held_out)});
  return evidence;
}

Json crossed_json(const CrossedAxis& crossed) {
  Json json{{"other", crossed.other}, {"held_out", held_out_json(crossed.result.held_out)}};
  json["levels"] = crossed.result.levels;
  json["levels_left_out"] = crossed.result.levels_left_out;
  json["level_accuracy"] = crossed.result.level_accuracy;
  return json;
}

Json unseen_topic_json(const UnseenTopicResult& result) {
  if (!result.not_computed.empty()) return {{"not_computed", result.not_computed}};
  return {{"wished_rate", UnseenTopicOptions{}.wished_rate},
          {"false_label_rate", result.false_label_rate},
          {"known_label_rate", result.known_label_rate},
          {"known_accuracy", result.known_accuracy},
          {"separation", result.separation},
          {"topic_false_labels", result.topic_false_labels}};
}

}  // namespace

AxesEvidence gather_axes(const Counts& counts, const EvidenceOptions& options) {
  AxesEvidence evidence;
  const PhaseShares input = phase_shares(counts, std::nullopt);
  const std::vector<std::string> axes = usable_axes(counts);
  std::vector<std::vector<std::string>> labels;
  for (const std::string& axis : axes) {
    evidence.axes.push_back(gather_axis(counts, input.shares, axis, axes, options));
    labels.push_back(labels_on(counts, axis));
  }
  evidence.variance = share_variance(input.shares, labels);
  UnseenTopicOptions unseen;
  unseen.seed = options.seed;
  unseen.pairings = options.pairings;
  evidence.unseen_topic = test_unseen_topics(input.shares, unseen);
  return evidence;
}

Json axes_to_json(const AxesEvidence& evidence) {
  Json json{{"axes", Json::array()}, {"unseen_topic", unseen_topic_json(evidence.unseen_topic)}};
  for (std::size_t a = 0; a < evidence.axes.size(); a++) {
    const AxisEvidence& axis = evidence.axes[a];
    Json entry{{"axis", axis.axis}, {"labels", axis.labels}, {"held_out", held_out_json(axis.held_out)}, {"crossed", Json::array()}};
    for (const CrossedAxis& crossed : axis.crossed) entry["crossed"].push_back(crossed_json(crossed));
    if (evidence.variance.not_computed.empty()) {
      entry["variance_share"] = evidence.variance.share[a];
      entry["variance_share_by_chance"] = evidence.variance.by_chance[a];
    } else {
      entry["variance_not_computed"] = evidence.variance.not_computed;
    }
    json["axes"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace atlas
