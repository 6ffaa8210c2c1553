// Reference mode: the reference document's statistics to the last bit (GLM-5.2's Expert Atlas). Pure functions of run counts.
//
// Every double is computed in the reference's order of operations; files that include this compile with -ffp-contract=off. Names follow our
// glossary; atlas/reference_json.h gives the results their original camelCase names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/counts.h"

namespace atlas {

// One expert's count in a run. Numbers are doubles, as the reference has them, so that a fraction can be refused as it refuses one.
struct ReferenceCount {
  double layer = 0;
  double expert = 0;
  double count = 0;
};

// One prompt's counts. From a trace, from route records, or as a finished table.
struct ReferenceRun {
  std::string topic;
  double prompt_index = 0;
  double total_selections = 0;
  std::vector<ReferenceCount> counts;  // an expert once
};

// Topic -> number of prompts, in code-unit order of the topics. All that reference mode needs of a probe set.
using PromptCounts = std::map<std::string, std::uint32_t>;

struct ReferenceOptions {
  double min_count = 30;          // floor: selections of an expert over all runs
  double min_runs = 2;            // floor: runs of its top topic in which an expert fires
  double strong_threshold = 0.5;  // specialisation, after rounding, from which an expert is strong
  double top_k = 200;             // experts in a topic's set (validation)
};

enum class ExpertStatus : std::uint8_t { kept = 0, sparse = 1, unreplicated = 2 };

// Every value of the reference for one expert; affinity, specialisation and lift are rounded to six decimals, halves upward.
struct ReferenceExpert {
  std::uint64_t layer = 0;
  std::uint64_t expert = 0;
  std::uint64_t total = 0;  // selections over all runs
  ExpertStatus status = ExpertStatus::kept;
  std::uint32_t top_topic = 0;   // index into topics
  double specialisation = 0;     // 1 - H(affinity) / ln(topic_count), in [0, 1]
  double top_lift = 0;           // affinity of the top topic * topic_count
  std::uint32_t fired_runs = 0;  // runs of the top topic with at least one selection
  std::uint32_t total_runs = 0;  // runs of the top topic
  std::vector<double> affinity;  // [topic_count]: mean share in each topic / sum of them; sums to 1 before rounding
};

struct ReferenceSummary {
  std::uint64_t experts_seen = 0;
  std::uint64_t experts_kept = 0;
  std::uint64_t dropped_sparse = 0;
  std::uint64_t dropped_unreplicated = 0;
  std::uint64_t strong_specialists = 0;
  double strong_specialist_rate = 0;  // of the kept, rounded
};

struct ReferenceAtlas {
  std::vector<std::string> topics;  // code-unit order
  std::uint64_t run_count = 0;
  ReferenceOptions options;
  ReferenceSummary summary;
  std::vector<ReferenceExpert> experts;       // the kept, by specialisation and total falling, then layer and expert
  std::vector<ReferenceExpert> every_expert;  // all that were seen, with their status, by layer and expert
};

struct ReferenceTrial {
  std::string topic;
  std::uint64_t prompt_index = 0;
  std::uint32_t predicted = 0;  // index into topics
  bool correct = false;
  double own_share = 0;  // rounded, as are the next two
  double best_other_share = 0;
  std::vector<double> scores;  // [topic_count]: share of the prompt's selections that fall into the topic's set
};

struct ReferenceValidation {
  std::vector<std::string> topics;
  std::uint64_t top_k = 0;
  std::uint64_t hits = 0;
  double accuracy = 0;                 // rounded
  double chance = 0;                   // 1 / topic_count, rounded
  std::vector<ReferenceTrial> trials;  // by topic in the Unicode root collation's order, then prompt index
};

// Throws Error as the reference refuses: options (out_of_range), then the runs in the order given, then missing runs, then min_runs.
ReferenceAtlas build_reference_atlas(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs, const ReferenceOptions& options = {});
ReferenceAtlas build_reference_atlas(const Counts& counts, const ReferenceOptions& options = {});

// Fills `experts` and `summary` from `every_expert` and the options.
void rank_experts(ReferenceAtlas& atlas);

// Global leave-one-prompt-out. With fewer experts than a few times top_k the sets become whole lists and say little.
ReferenceValidation validate_reference(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs, double top_k = 200);
ReferenceValidation validate_reference(const Counts& counts, double top_k = 200);

// "topic:index"; throws Error for a name or an index that the reference refuses.
std::string reference_run_id(const std::string& topic, double prompt_index);

// Runs over all phases, in probe order; probes without rows make no run (the checks then report them missing).
std::vector<ReferenceRun> reference_runs(const Counts& counts);
PromptCounts prompt_counts(const ProbeSet& probe_set);

double round_half_up(double value, int digits = 6);                // Math.round(value * 10^digits) / 10^digits
bool topic_before(std::string_view left, std::string_view right);  // the order of trials: '_' < digits < letters, the shorter first

}  // namespace atlas
