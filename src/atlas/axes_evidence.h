// The evidence on every label axis of a crossed probe set, over all tokens: each axis as the topics, each with another held fixed, and how the
// variance of routing is shared between them; and how often a prompt of an unseen topic gets a label. Made by gather_axes(); in atlas.json.
#pragma once

#include <string>
#include <vector>

#include "atlas/evidence.h"
#include "stats/axis_variance.h"
#include "stats/crossed.h"
#include "stats/unseen_topic.h"

namespace atlas {

struct CrossedAxis {
  std::string other;  // the axis held fixed
  CrossedResult result;
};

struct AxisEvidence {
  std::string axis;
  std::vector<std::string> labels;  // code-unit order
  HeldOutResult held_out;           // this axis as the topics
  std::vector<CrossedAxis> crossed;
};

struct AxesEvidence {
  std::vector<AxisEvidence> axes;  // in code-unit order of their names; those on which probes have at least two labels
  AxisVariance variance;           // of the same axes, in the same order
  UnseenTopicResult unseen_topic;  // on the topic axis
};

AxesEvidence gather_axes(const Counts& counts, const EvidenceOptions& options);

// The entries of atlas.json that hold it: axes, unseen_topic.
Json axes_to_json(const AxesEvidence& evidence);

}  // namespace atlas
