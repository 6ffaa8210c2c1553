// Topic labels permuted over runs: the null hypothesis of every test here (prompts are exchangeable between topics). All tests of one
// analysis use the same relabelings.
#pragma once

#include <cstdint>
#include <vector>

namespace atlas {

// Either every distinct relabeling (topics of equal size are interchangeable, so renaming them is no new one; the true labels are among
// them), or `count` random ones.
struct Relabelings {
  std::size_t run_count = 0;
  bool enumerated = false;
  std::vector<std::uint16_t> labels;  // [count, run_count]

  std::size_t count() const { return run_count == 0 ? 0 : labels.size() / run_count; }
  const std::uint16_t* at(std::size_t index) const { return labels.data() + index * run_count; }

  // at_least: relabelings whose statistic is at least that of the true labels. Enumerated: at_least / count, where the true ones count too;
  // sampled: (1 + at_least) / (1 + count). In (0, 1]. Source: Phipson and Smyth 2010.
  double p_value(std::size_t at_least) const;
  double smallest_p_value() const { return p_value(enumerated ? 1 : 0); }
};

// The number of distinct relabelings of topics with these sizes: n! / (product of size!) / (product of m! over sets of m equal sizes);
// as a double, infinity where it is past one.
double distinct_relabelings(const std::vector<std::uint32_t>& sizes);

// Enumerates if there are at most max_count of them, else samples max_count. max_count 0 gives none. topic: [run_count].
Relabelings make_relabelings(const std::vector<std::uint32_t>& topic, std::size_t topic_count, std::size_t max_count, std::uint64_t seed);

// The same with labels permuted only among runs of one level of another axis (the language, say): the null hypothesis that prompts are
// exchangeable between topics within each level. sizes: [level_count, topic_count]; level: [run_count]. Topics are interchangeable if they have
// equal sizes in every level.
double distinct_relabelings_within(const std::vector<std::vector<std::uint32_t>>& sizes);
Relabelings make_relabelings_within(const std::vector<std::uint32_t>& topic, std::size_t topic_count, const std::vector<std::uint32_t>& level,
                                    std::size_t level_count, std::size_t max_count, std::uint64_t seed);

}  // namespace atlas
