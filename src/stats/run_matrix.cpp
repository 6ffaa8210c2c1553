// See run_matrix.h.
#include "stats/run_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/parallel.h"
#include "probes/probe_set.h"

namespace atlas {

namespace {

std::string number_text(double value) {
  const std::string text = Json(value).dump();
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

[[noreturn]] void refuse(const std::string& where, const std::string& found, const std::string& expected, ErrorKind kind = ErrorKind::invalid) {
  throw Error(Problem{where, found, expected, ""}, kind);
}

void check_counts(const ReferenceRun& run, const std::string& id) {
  if (!is_positive_integer(run.total_selections))
    refuse("run " + id, "a total of " + number_text(run.total_selections) + " selections", "at least one selection");
  double counted = 0;
  for (const ReferenceCount& entry : run.counts) {
    if (!is_safe_index(entry.layer) || !is_safe_index(entry.expert))
      refuse("run " + id, "an expert that is no pair of layer and id", "whole numbers from 0 to 2^53 - 1");
    if (!is_positive_integer(entry.count)) {
      refuse("run " + id + ", expert " + number_text(entry.layer) + ":" + number_text(entry.expert), "a count of " + number_text(entry.count),
             "a positive whole number", ErrorKind::out_of_range);
    }
    counted += entry.count;
  }
  if (counted != run.total_selections)
    refuse("run " + id, "counts that sum to " + number_text(counted), "its total of " + number_text(run.total_selections));
}

void refuse_missing(const PromptCounts& prompt_counts, const std::set<std::string>& seen) {
  std::string missing;
  for (const auto& [topic, count] : prompt_counts)
    for (std::uint32_t i = 0; i < count; i++) {
      const std::string id = topic + ":" + std::to_string(i);
      if (!seen.contains(id)) missing += (missing.empty() ? "" : ", ") + id;
    }
  if (!missing.empty()) refuse("runs", "no run of " + missing, "one run for each prompt of the probe set");
}

void check_each(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs) {
  std::set<std::string> seen;
  for (const ReferenceRun& run : runs) {
    const std::string id = reference_run_id(run.topic, run.prompt_index);
    const auto topic = prompt_counts.find(run.topic);
    if (topic == prompt_counts.end() || run.prompt_index >= topic->second)
      refuse("run " + id, "a run that the probe set lacks", "one of its prompts");
    if (seen.contains(id)) refuse("run " + id, "the same run twice", "each run once");
    check_counts(run, id);
    seen.insert(id);
  }
  refuse_missing(prompt_counts, seen);
}

bool expert_before(const ReferenceCount& left, const ReferenceCount& right) {
  return left.layer != right.layer ? left.layer < right.layer : left.expert < right.expert;
}

bool same_expert(const ReferenceCount& left, const ReferenceCount& right) { return left.layer == right.layer && left.expert == right.expert; }

std::vector<ReferenceCount> sorted_counts(const ReferenceRun& run) {
  std::vector<ReferenceCount> counts = run.counts;
  if (!std::is_sorted(counts.begin(), counts.end(), expert_before)) std::sort(counts.begin(), counts.end(), expert_before);
  if (std::adjacent_find(counts.begin(), counts.end(), same_expert) != counts.end())
    refuse("run " + reference_run_id(run.topic, run.prompt_index), "one expert twice in its table", "each expert once");
  return counts;
}

}  // namespace

bool is_safe_index(double value) { return value >= 0 && value <= max_safe_integer && std::trunc(value) == value; }
bool is_positive_integer(double value) { return is_safe_index(value) && value > 0; }

bool topic_before(std::string_view left, std::string_view right) {
  const auto rank = [](char c) { return c == '_' ? 0 : static_cast<int>(static_cast<unsigned char>(c)); };
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(), [&](char a, char b) { return rank(a) < rank(b); });
}

std::string reference_run_id(const std::string& topic, double prompt_index) {
  if (!is_topic_name(topic)) refuse("run", "the topic name '" + topic + "'", "lower-case letters, digits and _, not starting with _");
  if (!is_safe_index(prompt_index))
    refuse("run of topic " + topic, "the prompt index " + number_text(prompt_index), "a whole number from 0", ErrorKind::out_of_range);
  return topic + ":" + number_text(prompt_index);
}

static RunMatrix with_topics(const PromptCounts& prompt_counts) {
  RunMatrix matrix;
  for (const auto& [topic, count] : prompt_counts) {
    matrix.topics.push_back(topic);
    matrix.topic_runs.push_back(count);
  }
  return matrix;
}

static void add_run(RunMatrix& matrix, const std::string& topic, std::uint64_t prompt_index, double total) {
  const auto found = std::lower_bound(matrix.topics.begin(), matrix.topics.end(), topic);
  matrix.run_topic.push_back(static_cast<std::uint32_t>(found - matrix.topics.begin()));
  matrix.run_index.push_back(prompt_index);
  matrix.totals.push_back(total);
}

RunMatrix check_runs(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs) {
  check_each(prompt_counts, runs);
  RunMatrix matrix = with_topics(prompt_counts);
  std::vector<const ReferenceRun*> ordered;
  for (const ReferenceRun& run : runs) ordered.push_back(&run);
  std::sort(ordered.begin(), ordered.end(), [](const ReferenceRun* left, const ReferenceRun* right) {
    return left->topic != right->topic ? topic_before(left->topic, right->topic) : left->prompt_index < right->prompt_index;
  });
  std::vector<std::vector<ReferenceCount>> tables;
  std::vector<ReferenceCount> all, merged;
  for (const ReferenceRun* run : ordered) {
    tables.push_back(sorted_counts(*run));
    merged.clear();
    std::set_union(all.begin(), all.end(), tables.back().begin(), tables.back().end(), std::back_inserter(merged), expert_before);
    all.swap(merged);
    add_run(matrix, run->topic, static_cast<std::uint64_t>(run->prompt_index), run->total_selections);
  }
  for (const ReferenceCount& entry : all) {
    matrix.layers.push_back(static_cast<std::uint64_t>(entry.layer));
    matrix.experts.push_back(static_cast<std::uint64_t>(entry.expert));
  }
  matrix.counts = std::make_unique<double[]>(ordered.size() * all.size());
  for (std::size_t run = 0; run < tables.size(); run++) {
    std::size_t e = 0;
    for (const ReferenceCount& entry : tables[run]) {
      while (!same_expert(all[e], entry)) e++;
      matrix.row(run)[e] = entry.count;
    }
  }
  return matrix;
}

PromptCounts prompt_counts(const ProbeSet& probe_set) {
  PromptCounts counts;
  for (const Probe& probe : probe_set.probes) counts[probe.topic]++;
  return counts;
}

namespace {

// A probe of the counts, before it has a row in the matrix.
struct CountedRun {
  std::size_t probe = 0;
  std::uint32_t prompt_index = 0;  // within its topic, in file order
};

double selection_total(const Counts& counts, std::size_t probe) {
  const auto begin = counts.selections.begin() + static_cast<std::ptrdiff_t>(counts.at(probe, 0, 0));
  const auto end = begin + static_cast<std::ptrdiff_t>(counts.phases.size() * counts.experts.size());
  return static_cast<double>(std::accumulate(begin, end, std::uint64_t{0}));
}

}  // namespace

RunMatrix run_matrix(const Counts& counts) {
  PromptCounts prompts;
  std::vector<CountedRun> runs;
  std::set<std::string> seen;
  const auto& probes = counts.manifest.probes;
  std::vector<double> totals(probes.size());
  for (std::size_t p = 0; p < probes.size(); p++) {
    const std::uint32_t index = prompts[probes[p].topic]++;
    totals[p] = selection_total(counts, p);
    if (totals[p] > 0) seen.insert(probes[p].topic + ":" + std::to_string(index));
    runs.push_back({p, index});
  }
  refuse_missing(prompts, seen);
  std::sort(runs.begin(), runs.end(), [&](const CountedRun& left, const CountedRun& right) {
    const std::string &left_topic = probes[left.probe].topic, &right_topic = probes[right.probe].topic;
    return left_topic != right_topic ? topic_before(left_topic, right_topic) : left.prompt_index < right.prompt_index;
  });
  RunMatrix matrix = with_topics(prompts);
  for (const Expert& expert : counts.experts) {
    matrix.layers.push_back(expert.layer);
    matrix.experts.push_back(expert.expert);
  }
  for (const CountedRun& run : runs) add_run(matrix, probes[run.probe].topic, run.prompt_index, totals[run.probe]);
  matrix.counts = std::make_unique_for_overwrite<double[]>(runs.size() * counts.experts.size());
  parallel_for(runs.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t run = begin; run < end; run++) {
      double* row = matrix.row(run);
      std::fill_n(row, counts.experts.size(), 0.0);
      for (std::size_t f = 0; f < counts.phases.size(); f++) {
        const std::uint32_t* selections = counts.selections.data() + counts.at(runs[run].probe, f, 0);
        for (std::size_t e = 0; e < counts.experts.size(); e++) row[e] += selections[e];
      }
    }
  });
  return matrix;
}

std::vector<ReferenceRun> reference_runs(const Counts& counts) {
  std::vector<ReferenceRun> runs;
  PromptCounts next;
  for (std::size_t p = 0; p < counts.probe_count(); p++) {
    const TraceProbe& probe = counts.manifest.probes[p];
    ReferenceRun run{probe.topic, static_cast<double>(next[probe.topic]++), 0, {}};
    for (std::size_t e = 0; e < counts.experts.size(); e++) {
      std::uint64_t selections = 0;
      for (std::size_t f = 0; f < counts.phases.size(); f++) selections += counts.selections[counts.at(p, f, e)];
      if (selections == 0) continue;
      const Expert& expert = counts.experts[e];
      run.counts.push_back({static_cast<double>(expert.layer), static_cast<double>(expert.expert), static_cast<double>(selections)});
      run.total_selections += static_cast<double>(selections);
    }
    if (run.total_selections > 0) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace atlas
