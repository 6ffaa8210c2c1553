// One axis of labels with another held fixed: can the topic be told in a language whose prompts the model never saw? Pure functions of shares and
// labels; for probe sets whose probes have labels on several axes.
#pragma once

#include <string>
#include <vector>

#include "stats/held_out.h"

namespace atlas {

// The same runs with another axis as their topics. label: [probe], "" for none: those runs leave. Everything else here is computed on the result.
Shares with_topics(const Shares& shares, const std::vector<std::string>& label);

struct CrossedResult {
  HeldOutResult held_out;                    // hits are of prompts in levels that the model was not trained on; trials name runs of `shares`
  std::vector<std::string> levels;           // of the other axis, code-unit order: those with prompts of every topic
  std::vector<std::string> levels_left_out;  // the others: a topic that a level lacks cannot be told from that level
  std::vector<double> level_accuracy;        // [level], balanced over topics
};

// Tests shares.topic with the axis `other` ([probe], "" for none: those runs leave) held fixed. Null hypothesis: prompts are exchangeable between
// topics within each level of the other axis; a difference between levels alone does not reject it.
//
// Every run's shares have the mean of its level taken off (a mean without regard to topics, so that no label leaks). A fold is one run of each
// topic in one level; topics are trained on the runs of all other levels, equally many for every topic and from every level. Score: cosine of the
// run with (m_c - m), m_c the mean of the topic's training runs and m the mean of the m_c; -2 where m_c equals m, 0 where the run equals its
// level's mean. Cells of unequal size: the level's smallest cell decides, and runs take turns as in make_draws.
//
// Not computed: fewer than two topics, or fewer than two levels with prompts of every topic. max_relabelings: see make_relabelings_within.
CrossedResult test_crossed(const Shares& shares, const std::vector<std::string>& other, std::size_t max_relabelings, const HeldOutOptions& options);

}  // namespace atlas
