// None of these: how often does a prompt of a topic that the model never saw get a known topic's label? A pure function of shares.
#pragma once

#include <string>
#include <vector>

#include "stats/shares.h"

namespace atlas {

struct UnseenTopicOptions {
  double wished_rate = 0.1;   // of unseen prompts that may get a label, in (0, 1)
  std::size_t pairings = 20;  // random ways of forming folds; decisions are averaged over them, never scores
  std::uint64_t seed = 0;
};

struct UnseenTopicResult {
  std::string not_computed;     // why, or empty
  double false_label_rate = 0;  // unseen prompts that got a label, in [0, 1]; to be compared with the wished rate
  double known_label_rate = 0;  // held-out prompts of known topics that got a label, in [0, 1]
  double known_accuracy = 0;    // of those labelled, how many rightly, in [0, 1]; 0 if none was
  double separation = 0;        // chance that a known prompt scores above an unseen one, ties half, in [0, 1]; 1/2: they cannot be told apart
  std::vector<double> topic_false_labels;  // [topic_count], false_label_rate of each topic when it was the unseen one
};

// Each topic v in turn is the unseen one. The others are trained in balanced folds, one prompt of each held out (draws as in held_out.h), and every
// held-out prompt, v's too, is scored by its greatest cosine with a known topic (held_out.h's formula over the known topics). A prompt gets the
// label of that topic if the score exceeds v's threshold.
//
// v's threshold comes from other topics alone: the scores of the prompts of each u but v, when u was the one left out. Of these n scores it is the
// ceil((n + 1) (1 - wished_rate))-th smallest, so that if topics were exchangeable an unseen prompt would exceed it at the wished rate at most
// (split conformal prediction: Vovk, Gammerman, Shafer 2005). Prompts of one topic are alike, so with few topics the rate itself is uncertain:
// topic_false_labels shows by how much.
//
// Not computed: fewer than three topics, a topic with fewer than two prompts, too few left-out prompts for the wished rate, no pairings.
UnseenTopicResult test_unseen_topics(const Shares& shares, const UnseenTopicOptions& options);

}  // namespace atlas
