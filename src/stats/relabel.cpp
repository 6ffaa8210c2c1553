// See relabel.h.
#include "stats/relabel.h"

#include <cmath>
#include <map>

#include "stats/random.h"

namespace atlas {

double Relabelings::p_value(std::size_t at_least) const {
  if (count() == 0) return 1;
  return enumerated ? static_cast<double>(at_least) / static_cast<double>(count())
                    : static_cast<double>(1 + at_least) / static_cast<double>(1 + count());
}

double distinct_relabelings(const std::vector<std::uint32_t>& sizes) { return distinct_relabelings_within({sizes}); }

double distinct_relabelings_within(const std::vector<std::vector<std::uint32_t>>& sizes) {
  // Multiplying binomials in this order keeps every step a whole number, exact while below 2^53.
  double result = 1;
  for (const auto& level : sizes) {
    std::uint32_t placed = 0;
    for (const std::uint32_t size : level)
      for (std::uint32_t i = 1; i <= size; i++) result = result * ++placed / i;
  }
  std::map<std::vector<std::uint32_t>, std::uint32_t> equal;
  for (std::size_t c = 0; c < sizes.front().size(); c++) {
    std::vector<std::uint32_t> column;
    for (const auto& level : sizes) column.push_back(level[c]);
    const bool has_runs = column != std::vector<std::uint32_t>(column.size());
    if (has_runs) result /= ++equal[column];  // exchanging topics without runs changes nothing
  }
  return std::round(result);
}

namespace {

// Deals runs to topics one after another. Of topics with equal sizes in all levels and no run yet, only the first may take one: the others
// would only rename it.
class Enumeration {
 public:
  Enumeration(const std::vector<std::vector<std::uint32_t>>& sizes, const std::vector<std::uint32_t>& level, std::vector<std::uint16_t>& out)
      : sizes_(sizes), room_(sizes), level_(level), labels_(level.size()), out_(out) {}

  void deal(std::size_t run) {
    if (run == labels_.size()) {
      out_.insert(out_.end(), labels_.begin(), labels_.end());
      return;
    }
    std::vector<std::uint32_t>& room = room_[level_[run]];
    for (std::size_t c = 0; c < room.size(); c++) {
      if (room[c] == 0 || renames_an_earlier(c)) continue;
      room[c]--;
      labels_[run] = static_cast<std::uint16_t>(c);
      deal(run + 1);
      room[c]++;
    }
  }

 private:
  bool is_untouched(std::size_t c) const {
    for (std::size_t level = 0; level < room_.size(); level++)
      if (room_[level][c] != sizes_[level][c]) return false;
    return true;
  }

  bool has_sizes_of(std::size_t c, std::size_t d) const {
    for (const auto& level : sizes_)
      if (level[c] != level[d]) return false;
    return true;
  }

  bool renames_an_earlier(std::size_t c) const {
    if (!is_untouched(c)) return false;
    for (std::size_t d = 0; d < c; d++)
      if (has_sizes_of(c, d) && is_untouched(d)) return true;
    return false;
  }

  std::vector<std::vector<std::uint32_t>> sizes_, room_;  // [level_count, topic_count]
  const std::vector<std::uint32_t>& level_;               // [run_count]
  std::vector<std::uint16_t> labels_;                     // [run_count]
  std::vector<std::uint16_t>& out_;
};

// One random order of the labels of each level.
void append_shuffled(const std::vector<std::uint32_t>& topic, const std::vector<std::vector<std::uint32_t>>& runs, Random& random,
                     std::vector<std::uint16_t>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + topic.size());
  std::vector<std::uint32_t> labels;
  for (const auto& level : runs) {
    labels.clear();
    for (const std::uint32_t run : level) labels.push_back(topic[run]);
    random.shuffle(labels);
    for (std::size_t i = 0; i < level.size(); i++) out[begin + level[i]] = static_cast<std::uint16_t>(labels[i]);
  }
}

}  // namespace

Relabelings make_relabelings(const std::vector<std::uint32_t>& topic, std::size_t topic_count, std::size_t max_count, std::uint64_t seed) {
  return make_relabelings_within(topic, topic_count, std::vector<std::uint32_t>(topic.size()), 1, max_count, seed);
}

Relabelings make_relabelings_within(const std::vector<std::uint32_t>& topic, std::size_t topic_count, const std::vector<std::uint32_t>& level,
                                    std::size_t level_count, std::size_t max_count, std::uint64_t seed) {
  Relabelings result;
  result.run_count = topic.size();
  std::vector<std::vector<std::uint32_t>> sizes(level_count, std::vector<std::uint32_t>(topic_count)), runs(level_count);
  for (std::uint32_t run = 0; run < topic.size(); run++) {
    sizes[level[run]][topic[run]]++;
    runs[level[run]].push_back(run);
  }
  if (max_count == 0) return result;
  if (distinct_relabelings_within(sizes) <= static_cast<double>(max_count)) {
    result.enumerated = true;
    Enumeration(sizes, level, result.labels).deal(0);
    return result;
  }
  result.labels.reserve(max_count * topic.size());
  for (std::size_t b = 0; b < max_count; b++) {
    Random random(seed, random_purpose::relabel, b);
    append_shuffled(topic, runs, random, result.labels);
  }
  return result;
}

}  // namespace atlas
