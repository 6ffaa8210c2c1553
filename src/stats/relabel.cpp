// See relabel.h.
#include "stats/relabel.h"

#include <cmath>
#include <map>

#include "stats/random.h"

namespace atlas {

double Relabelings::p_value(std::size_t at_least) const {
  if (count() == 0) return 1;
  return enumerated ? static_cast<double>(at_least) / static_cast<double>(count()) : static_cast<double>(1 + at_least) / static_cast<double>(1 + count());
}

double distinct_relabelings(const std::vector<std::uint32_t>& sizes) {
  // Multiplying binomials in this order keeps every step a whole number, exact while below 2^53.
  double result = 1;
  std::uint32_t placed = 0;
  std::map<std::uint32_t, std::uint32_t> equal;
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t i = 1; i <= size; i++) result = result * ++placed / i;
    if (size > 0) result /= ++equal[size];  // exchanging topics without runs changes nothing
  }
  return std::round(result);
}

namespace {

// Deals runs to topics one after another. Of topics with equal size and no run yet, only the first may take one: the others would only
// rename it.
class Enumeration {
 public:
  Enumeration(std::vector<std::uint32_t> sizes, std::size_t run_count, std::vector<std::uint16_t>& out)
      : sizes_(sizes), room_(std::move(sizes)), labels_(run_count), out_(out) {}

  void deal(std::size_t run) {
    if (run == labels_.size()) {
      out_.insert(out_.end(), labels_.begin(), labels_.end());
      return;
    }
    for (std::size_t c = 0; c < room_.size(); c++) {
      if (room_[c] == 0 || renames_an_earlier(c)) continue;
      room_[c]--;
      labels_[run] = static_cast<std::uint16_t>(c);
      deal(run + 1);
      room_[c]++;
    }
  }

 private:
  bool renames_an_earlier(std::size_t c) const {
    if (room_[c] != sizes_[c]) return false;
    for (std::size_t d = 0; d < c; d++)
      if (sizes_[d] == sizes_[c] && room_[d] == sizes_[d]) return true;
    return false;
  }

  std::vector<std::uint32_t> sizes_, room_;  // [topic_count]
  std::vector<std::uint16_t> labels_;        // [run_count]
  std::vector<std::uint16_t>& out_;
};

}  // namespace

Relabelings make_relabelings(const std::vector<std::uint32_t>& topic, std::size_t topic_count, std::size_t max_count, std::uint64_t seed) {
  Relabelings result;
  result.run_count = topic.size();
  std::vector<std::uint32_t> sizes(topic_count);
  for (const std::uint32_t c : topic) sizes[c]++;
  if (max_count == 0) return result;
  if (distinct_relabelings(sizes) <= static_cast<double>(max_count)) {
    result.enumerated = true;
    Enumeration(sizes, topic.size(), result.labels).deal(0);
    return result;
  }
  result.labels.reserve(max_count * topic.size());
  for (std::size_t b = 0; b < max_count; b++) {
    Random random(seed, random_purpose::relabel, b);
    std::vector<std::uint32_t> labels = topic;
    random.shuffle(labels);
    result.labels.insert(result.labels.end(), labels.begin(), labels.end());
  }
  return result;
}

}  // namespace atlas
