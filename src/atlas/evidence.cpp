// Gathering the evidence: which tests run on what. See evidence.h; its JSON is in evidence_json.cpp.
#include "atlas/evidence.h"

#include <algorithm>

namespace atlas {

namespace {

HeldOutOptions held_out_options(const EvidenceOptions& options, std::size_t pairings) {
  HeldOutOptions result;
  result.pairings = std::min(pairings, options.pairings);
  result.seed = options.seed;
  return result;
}

ExpertOptions expert_options(const EvidenceOptions& options) {
  ExpertOptions result;
  result.min_count = options.min_count;
  result.min_runs = options.min_runs;
  result.strong_threshold = options.strong_threshold;
  result.specialist_threshold = options.strong_threshold;
  result.bootstrap_draws = options.bootstrap;
  result.seed = options.seed;
  return result;
}

std::string phase_name(std::optional<Phase> phase) { return phase ? phase_names.at(static_cast<std::size_t>(*phase)) : "all"; }

// The controls by token: only a trace with token ids has them.
void control_tokens(const Counts& counts, const Trace* trace, std::optional<Phase> phase, const PhaseEvidence& evidence,
                    const Relabelings& relabelings, const EvidenceOptions& options, Controls& controls) {
  if (trace == nullptr) {
    controls.tokens_not_computed = "made from counts alone, which do not know which token chose which expert";
    return;
  }
  const HeldOutOptions held_out = held_out_options(options, options.set_pairings);
  const TokenShares tokens = token_shares(*trace, counts, evidence.input, phase);
  controls.tokens_not_computed = tokens.not_computed;
  if (!tokens.not_computed.empty()) return;
  controls.token_counts = test_cosine(tokens.shares, relabelings, held_out);
  const TokenMatched matched = match_tokens(*trace, counts, evidence.input, phase);
  controls.tokens_not_computed = matched.not_computed;
  if (!matched.not_computed.empty()) return;
  controls.matched = matched.coverage;
  controls.token_matched_excess = matched.token_matched;
  controls.unmatched_excess = matched.unmatched;
  // Tested on similarities between prompts that never lend each other an expectation: match_tokens()' residuals push prompts with the same
  // vocabulary apart. Prompts without any matched row leave this control, so it has relabelings of its own.
  constexpr std::size_t draws = 8;
  const TokenContext context = token_context(*trace, counts, evidence.input, phase, draws, options.seed);
  controls.token_matched.not_computed = context.not_computed;
  const Shares& residual = context.shares;
  if (context.not_computed.empty())
    controls.token_matched =
        test_cosine(residual, make_relabelings(residual.topic, residual.topic_count(), relabelings.count(), options.seed), held_out);
  controls.context_share = context.coverage;
  constexpr std::size_t shuffles = 20;
  controls.information = token_information(*trace, counts, evidence.input, phase, shuffles, options.seed);
}

void control_router_weights(const Counts& counts, std::optional<Phase> phase, const PhaseEvidence& evidence, const EvidenceOptions& options,
                            Controls& controls) {
  if (counts.router_weight_sum.empty()) {
    controls.router_weight.not_computed = "the source of the routes does not give router weights";
    return;
  }
  const PhaseShares weighted = phase_shares(counts, phase, ShareBasis::router_weights);
  controls.router_weight = compare_affinity(evidence.input, weighted, options.min_count);
  if (weighted.expert == evidence.input.expert) controls.router_weight_affinity = affinity_of(weighted.shares).values;
}

PhaseEvidence phase_evidence(const Counts& counts, const Trace* trace, std::optional<Phase> phase, const EvidenceOptions& options,
                             const std::function<void(const std::string&)>& step) {
  PhaseEvidence evidence;
  evidence.phase = phase_name(phase);
  evidence.input = phase_shares(counts, phase);
  const Shares& shares = evidence.input.shares;
  evidence.not_computed = why_not_testable(shares, 2);
  if (!evidence.not_computed.empty()) return evidence;
  const auto relabelings_of = [&](std::size_t count) {
    return make_relabelings(shares.topic, shares.topic_count(), std::min(options.permutations, count), options.seed);
  };
  step(evidence.phase + ": held-out prompts");
  const Relabelings relabelings = relabelings_of(options.permutations);
  evidence.cosine = test_cosine(shares, relabelings, held_out_options(options, options.pairings));
  evidence.set =
      test_set(shares, options.top_k, options.min_count, relabelings_of(options.set_permutations), held_out_options(options, options.set_pairings));
  step(evidence.phase + ": experts");
  evidence.experts = test_experts(shares, relabelings, expert_options(options));
  evidence.affinity = affinity_of(shares);
  step(evidence.phase + ": layers");
  LayerOptions layer_options;
  layer_options.min_count = options.min_count;
  layer_options.held_out.seed = options.seed;
  evidence.layers = layer_stats(counts, evidence.input, relabelings, layer_options);
  step(evidence.phase + ": controls");
  const Relabelings fewer = relabelings_of(options.control_permutations);
  Controls& controls = evidence.controls;
  controls.length = test_number(shares, token_counts(counts, shares, phase), fewer, held_out_options(options, options.set_pairings));
  control_tokens(counts, trace, phase, evidence, fewer, options, controls);
  control_router_weights(counts, phase, evidence, options, controls);
  constexpr std::size_t splits = 20;
  controls.split_half = split_half(shares, options.min_count, splits, options.seed);
  return evidence;
}

const PhaseEvidence* find_phase(const Evidence& evidence, const std::string& name) {
  for (const PhaseEvidence& phase : evidence.phases)
    if (phase.phase == name && phase.not_computed.empty()) return &phase;
  return nullptr;
}

PhaseComparison compare_phases(const Evidence& evidence) {
  PhaseComparison comparison;
  const PhaseEvidence *prompt = find_phase(evidence, "prompt"), *answer = find_phase(evidence, "answer");
  if (prompt == nullptr || answer == nullptr) {
    comparison.not_computed = "there is no prompt and answer phase to compare";
    return comparison;
  }
  comparison.sets = compare_top_sets(prompt->input, answer->input, evidence.options.top_k, evidence.options.min_count);
  comparison.affinity = compare_affinity(prompt->input, answer->input, evidence.options.min_count);
  const Reliability &left = prompt->controls.split_half, &right = answer->controls.split_half;
  if (comparison.affinity.correlation && left.not_computed.empty() && right.not_computed.empty())
    comparison.disattenuated = disattenuated(*comparison.affinity.correlation, left.corrected, right.corrected);
  return comparison;
}

}  // namespace

Evidence gather_evidence(const Counts& counts, const Trace* trace, const EvidenceOptions& options,
                         const std::function<void(const std::string&)>& step) {
  const auto tell = [&](const std::string& what) {
    if (step) step(what);
  };
  Evidence evidence;
  evidence.options = options;
  evidence.phases.push_back(phase_evidence(counts, trace, std::nullopt, options, tell));
  for (const Phase phase : counts.phases)
    if (phase == Phase::prompt || phase == Phase::answer || phase == Phase::picture)
      evidence.phases.push_back(phase_evidence(counts, trace, phase, options, tell));
  evidence.prompt_against_answer = compare_phases(evidence);
  return evidence;
}

}  // namespace atlas
