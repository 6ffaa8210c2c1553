// The balanced test on held-out prompts, with its null. A fold drops one prompt of every topic and trains each topic's model on equally many
// prompts, because plain leave-one-out leaves the true topic with fewer prompts than its rivals and is wrong by itself.
//
// Null hypothesis: prompts are exchangeable between topics. Differences in length or variance reject it too; a length-only control stands
// beside it. docs/statistics.md has formulas and sources.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stats/relabel.h"
#include "stats/shares.h"

namespace atlas {

struct HeldOutOptions {
  std::size_t pairings = 20;          // random ways of forming folds; hits are averaged over them, never scores. 0: no test
  std::size_t interval_draws = 2000;  // resamplings for the accuracy's interval; 0: Wilson's alone
  std::uint64_t seed = 0;
};

struct HeldOutTrial {
  std::uint32_t run = 0;
  std::uint32_t draw_count = 0;  // folds in which this run was held out; 0 only with fewer pairings than unequal topics need
  double hit_rate = 0;           // of them, how many were right
  std::uint32_t predicted = 0;   // the topic most often predicted, the first of equals
  double margin = 0;             // own score minus the best other, mean over draws; cosine in [-3, 3], set in [-1, 1]
  std::vector<double> scores;    // [topic_count], mean over draws; for reading, the decision is made in each draw
};

struct HeldOutResult {
  std::string not_computed;  // why, or empty
  double accuracy = 0;       // mean over topics of the mean over draws: balanced accuracy
  double hits = 0;           // accuracy * run_count
  std::uint32_t run_count = 0;
  double chance = 0;                    // 1 / topic_count
  std::array<double, 2> interval_95{};  // approximate: per-prompt hit rates resampled within topics, at least Wilson's
  double null_mean = 0;                 // accuracy under permuted labels; the next four need relabelings
  double null_quantile_95 = 0;
  double p_value = 1;
  double smallest_p_value = 1;  // that this design and number of relabelings can reach
  std::size_t relabeling_count = 0;
  bool enumerated = false;
  std::vector<double> null_accuracies;  // [relabeling_count]
  std::vector<double> confusion;        // [topic_count, topic_count], row true, column predicted; rows sum to 1
  std::vector<HeldOutTrial> trials;     // [run_count]
};

// Score of topic c for a held-out run x: cosine of (x - m) and (m_c - m), m_c the mean of the topic's training runs and m the mean of the m_c.
// A topic whose m_c equals m scores -2, below every cosine.
HeldOutResult test_cosine(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options);

// Score of topic c: the share of the run's selections that falls on the topic's top_k features by affinity, among features whose training
// selections reach min_count in this fold. Needs shares.selections.
HeldOutResult test_set(const Shares& shares, std::size_t top_k, std::uint64_t min_count, const Relabelings& relabelings,
                       const HeldOutOptions& options);

// Control: prompts told apart by one number each (their length). Score: minus the distance to the topic's mean. values: [run_count].
HeldOutResult test_number(const Shares& shares, const std::vector<double>& values, const Relabelings& relabelings, const HeldOutOptions& options);

// One draw of folds: the runs of each topic in the order in which they are held out. Equal topics: a random order of all. Unequal: the
// smallest topic's number of runs from each, going round each topic's runs from draw to draw so that all get their turn.
struct Draw {
  std::uint32_t fold_count = 0;
  std::vector<std::uint32_t> held;  // [fold_count, topic_count]
};
std::vector<Draw> make_draws(const std::uint16_t* labels, std::size_t run_count, std::size_t topic_count, std::size_t pairings, std::uint64_t seed,
                             std::uint64_t index);

}  // namespace atlas
