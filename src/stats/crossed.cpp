// See crossed.h.
#include "stats/crossed.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "stats/held_out_scores.h"

namespace atlas {

namespace {

// Keeps the runs for which keep[run] holds.
Shares select_runs(const Shares& shares, const std::vector<bool>& keep) {
  Shares result;
  result.feature_count = shares.feature_count;
  result.topics = shares.topics;
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    if (!keep[run]) continue;
    result.topic.push_back(shares.topic[run]);
    result.probe.push_back(shares.probe[run]);
    result.values.insert(result.values.end(), shares.row(run), shares.row(run) + shares.feature_count);
    if (shares.selections.empty()) continue;
    const auto begin = shares.selections.begin() + static_cast<std::ptrdiff_t>(run * shares.feature_count);
    result.selections.insert(result.selections.end(), begin, begin + static_cast<std::ptrdiff_t>(shares.feature_count));
  }
  return result;
}

std::uint32_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::uint32_t>(std::lower_bound(names.begin(), names.end(), name) - names.begin());
}

// Runs of levels with prompts of every topic, and their levels.
struct Crossing {
  Shares shares;
  std::vector<std::uint32_t> run;    // [run_count], index into the shares given
  std::vector<std::uint32_t> level;  // [run_count], index into levels
  std::vector<std::string> levels, levels_left_out;
};

Crossing cross(const Shares& shares, const std::vector<std::string>& other) {
  Crossing crossing;
  std::set<std::string> names;
  std::set<std::pair<std::string, std::uint32_t>> cells;
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    const std::string& name = other[shares.probe[run]];
    if (name.empty()) continue;
    names.insert(name);
    cells.insert({name, shares.topic[run]});
  }
  for (const std::string& name : names) {
    bool has_every_topic = true;
    for (std::uint32_t c = 0; c < shares.topic_count(); c++) has_every_topic = has_every_topic && cells.contains({name, c});
    (has_every_topic ? crossing.levels : crossing.levels_left_out).push_back(name);
  }
  std::vector<bool> keep(shares.run_count());
  for (std::uint32_t run = 0; run < shares.run_count(); run++) {
    const std::string& name = other[shares.probe[run]];
    keep[run] = std::binary_search(crossing.levels.begin(), crossing.levels.end(), name);
    if (!keep[run]) continue;
    crossing.run.push_back(run);
    crossing.level.push_back(index_of(crossing.levels, name));
  }
  crossing.shares = select_runs(shares, keep);
  return crossing;
}

// round(sum / count), halves upward.
std::int64_t rounded_mean(std::int64_t sum, std::int64_t count) {
  const std::int64_t doubled = 2 * sum + count, divisor = 2 * count;
  return doubled >= 0 ? doubled / divisor : -((-doubled + divisor - 1) / divisor);
}

// Every run minus the mean of its level.
Shares centred(const Crossing& crossing) {
  Shares result = crossing.shares;
  const std::size_t features = result.feature_count;
  std::vector<std::int64_t> sum(crossing.levels.size() * features), count(crossing.levels.size());
  for (std::size_t run = 0; run < result.run_count(); run++) {
    count[crossing.level[run]]++;
    for (std::size_t e = 0; e < features; e++) sum[crossing.level[run] * features + e] += result.row(run)[e];
  }
  for (std::size_t run = 0; run < result.run_count(); run++)
    for (std::size_t e = 0; e < features; e++)
      result.values[run * features + e] -=
          static_cast<std::int32_t>(rounded_mean(sum[crossing.level[run] * features + e], count[crossing.level[run]]));
  return result;
}

// Draws within each level, one after another.
std::vector<Draw> make_crossed_draws(const Crossing& crossing, const std::uint16_t* labels, const HeldOutOptions& options, std::uint64_t index) {
  const std::size_t levels = crossing.levels.size();
  std::vector<Draw> draws(options.pairings);
  for (std::size_t level = 0; level < levels; level++) {
    std::vector<std::uint32_t> runs;
    std::vector<std::uint16_t> level_labels;
    for (std::uint32_t run = 0; run < crossing.level.size(); run++) {
      if (crossing.level[run] != level) continue;
      runs.push_back(run);
      level_labels.push_back(labels[run]);
    }
    const std::vector<Draw> within =
        make_draws(level_labels.data(), runs.size(), crossing.shares.topic_count(), options.pairings, options.seed, index * levels + level);
    for (std::size_t i = 0; i < draws.size(); i++) {
      draws[i].fold_count += within[i].fold_count;
      for (const std::uint32_t at : within[i].held) draws[i].held.push_back(runs[at]);
    }
  }
  return draws;
}

// As the cosine of held_out_scores.cpp, with the runs of a level as the unit that is held out.
class CrossedScorer final : public FoldScorer {
 public:
  CrossedScorer(const Gram& gram, const Crossing& crossing)
      : gram_(gram), level_(crossing.level), topics_(crossing.shares.topic_count()), levels_(crossing.levels.size()),
        level_sum_(gram.run_count * levels_ * topics_), model_(levels_) {}

  void begin_labels(const std::uint16_t*) override { same_members_ = false; }

  void begin_draw(const Draw& draw) override {
    // Where a draw has all runs, other draws only deal them to other folds, and folds of a level share their model.
    if (same_members_ && draw.held.size() == gram_.run_count) return;
    same_members_ = true;
    std::fill(level_sum_.begin(), level_sum_.end(), 0);
    for (std::size_t at = 0; at < draw.held.size(); at++) {
      const std::size_t cell = level_[draw.held[at]] * topics_ + at % topics_;
      for (std::size_t run = 0; run < gram_.run_count; run++) level_sum_[run * levels_ * topics_ + cell] += gram_.at(draw.held[at], run);
    }
    for (std::size_t level = 0; level < levels_; level++) model_[level] = train_without(level, draw);
  }

  void score_fold(const std::uint32_t* held, double* scores) override {
    const auto count = static_cast<double>(topics_);
    for (std::size_t t = 0; t < topics_; t++) {
      const std::size_t level = level_[held[t]];
      const Model& model = model_[level];
      const std::vector<std::int64_t> products = with_topics_of_others(held[t], level);
      std::int64_t sum = 0;
      for (const std::int64_t product : products) sum += product;
      const auto own_norm = static_cast<double>(gram_.at(held[t], held[t]));
      const double inverse = own_norm > 0 ? 1 / std::sqrt(own_norm) : 0;
      for (std::size_t c = 0; c < topics_; c++) {
        const double product = count * static_cast<double>(products[c]) - static_cast<double>(sum);
        scores[t * topics_ + c] = model.inverse_norm[c] > 0 ? product * model.inverse_norm[c] * inverse : -2;
      }
    }
  }

 private:
  struct Model {
    std::vector<double> inverse_norm;  // [topic]: 1 / |topic_count * (sum of its training runs) - sum of all training runs|, 0 if that is 0
  };

  // Inner products of a run with the sum of each topic's runs in all levels but one.
  std::vector<std::int64_t> with_topics_of_others(std::size_t run, std::size_t but) const {
    std::vector<std::int64_t> products(topics_);
    for (std::size_t level = 0; level < levels_; level++)
      for (std::size_t c = 0; level != but && c < topics_; c++) products[c] += level_sum_[(run * levels_ + level) * topics_ + c];
    return products;
  }

  Model train_without(std::size_t but, const Draw& draw) const {
    std::vector<std::int64_t> product(topics_ * topics_), row(topics_);
    for (std::size_t at = 0; at < draw.held.size(); at++) {
      if (level_[draw.held[at]] == but) continue;
      const std::vector<std::int64_t> products = with_topics_of_others(draw.held[at], but);
      for (std::size_t c = 0; c < topics_; c++) product[at % topics_ * topics_ + c] += products[c];
    }
    std::int64_t total = 0;
    for (std::size_t c = 0; c < topics_; c++)
      for (std::size_t d = 0; d < topics_; d++) {
        row[c] += product[c * topics_ + d];
        total += product[c * topics_ + d];
      }
    Model model;
    const auto count = static_cast<double>(topics_);
    for (std::size_t c = 0; c < topics_; c++) {
      const double norm =
          count * count * static_cast<double>(product[c * topics_ + c]) - 2 * count * static_cast<double>(row[c]) + static_cast<double>(total);
      model.inverse_norm.push_back(norm > 0 ? 1 / std::sqrt(norm) : 0);
    }
    return model;
  }

  const Gram& gram_;
  const std::vector<std::uint32_t>& level_;  // [run]
  std::size_t topics_, levels_;
  bool same_members_ = false;
  std::vector<std::int64_t> level_sum_;  // [run, level, topic]: inner product of a run with the sum of the draw's runs of that cell
  std::vector<Model> model_;             // [level], trained on the others
};

std::vector<double> accuracy_by_level(const HeldOutResult& result, const Crossing& crossing) {
  std::vector<double> hits(crossing.levels.size()), draws(crossing.levels.size());
  for (const HeldOutTrial& trial : result.trials) {
    hits[crossing.level[trial.run]] += trial.hit_rate * trial.draw_count;
    draws[crossing.level[trial.run]] += trial.draw_count;
  }
  for (std::size_t level = 0; level < hits.size(); level++) hits[level] /= draws[level];
  return hits;
}

// With all runs in every draw, draws differ in nothing that counts.
bool has_equal_cells(const Crossing& crossing) {
  const std::vector<std::uint16_t> labels(crossing.shares.topic.begin(), crossing.shares.topic.end());
  return make_crossed_draws(crossing, labels.data(), {1, 0, 0}, 0).front().held.size() == crossing.level.size();
}

}  // namespace

Shares with_topics(const Shares& shares, const std::vector<std::string>& label) {
  std::vector<bool> keep(shares.run_count());
  std::set<std::string> names;
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    keep[run] = !label[shares.probe[run]].empty();
    if (keep[run]) names.insert(label[shares.probe[run]]);
  }
  Shares result = select_runs(shares, keep);
  result.topics.assign(names.begin(), names.end());
  for (std::size_t run = 0; run < result.run_count(); run++) result.topic[run] = index_of(result.topics, label[result.probe[run]]);
  return result;
}

CrossedResult test_crossed(const Shares& shares, const std::vector<std::string>& other, std::size_t max_relabelings, const HeldOutOptions& options) {
  CrossedResult result;
  const Crossing crossing = cross(shares, other);
  result.levels = crossing.levels;
  result.levels_left_out = crossing.levels_left_out;
  result.held_out.run_count = static_cast<std::uint32_t>(crossing.level.size());
  if (shares.topic_count() < 2) result.held_out.not_computed = "fewer than two topics";
  else if (crossing.levels.size() < 2) result.held_out.not_computed = "fewer than two levels of the other axis have prompts of every topic";
  if (!result.held_out.not_computed.empty()) return result;
  HeldOutOptions enough = options;
  if (has_equal_cells(crossing)) enough.pairings = std::min<std::size_t>(1, options.pairings);
  const Gram gram = gram_of(centred(crossing));
  const Relabelings relabelings = make_relabelings_within(crossing.shares.topic, crossing.shares.topic_count(), crossing.level,
                                                          crossing.levels.size(), max_relabelings, options.seed);
  result.held_out = run_held_out(
      crossing.shares, relabelings, enough, [&] { return std::make_unique<CrossedScorer>(gram, crossing); },
      [&](const std::uint16_t* labels, std::uint64_t index) { return make_crossed_draws(crossing, labels, enough, index); });
  if (!result.held_out.not_computed.empty()) return result;
  result.level_accuracy = accuracy_by_level(result.held_out, crossing);
  for (HeldOutTrial& trial : result.held_out.trials) trial.run = crossing.run[trial.run];
  return result;
}

}  // namespace atlas
