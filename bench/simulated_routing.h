// Routing of a router that we know everything about: what the calibration of the statistics runs on. Filled by SimulatedRouter, read by
// calibration.cpp.
//
// logit(token, expert) = N(0,1) for the expert + topic_effect * N(0,1) for the topic and expert + prompt_effect * N(0,1) for the prompt and
// expert + token_effect * N(0,1); the top_k greatest of each layer are selected. Without a topic effect topics are mere names.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/random.h"
#include "trace/counts.h"

namespace atlas {

struct RouterDesign {
  std::uint32_t layer_count = 8;
  std::uint32_t expert_count = 64;
  std::uint32_t top_k = 8;
  std::uint32_t topic_count = 10;
  std::uint32_t prompt_count = 3;  // a topic
  std::uint32_t token_count = 80;  // a prompt
  double topic_effect = 0;
  std::uint32_t topic_layer_count = ~0U;  // the first so many layers have the topic effect: in the others every expert is exactly null
  double prompt_effect = 0;
  double token_effect = 1.5;
};

class SimulatedRouter {
 public:
  // A world: the experts' popularity and the topics' effects. Data sets of one world differ in prompts and tokens only.
  SimulatedRouter(const RouterDesign& design, std::uint64_t world);

  Counts draw(std::uint64_t data_set) const;  // topics t00, t01, ...; one phase, unknown; only experts that were selected

  // Mean share of each expert in each topic over so many prompts of its own, [topic_count, layer_count * expert_count]: the truth for many.
  std::vector<double> mean_shares(std::uint32_t prompt_count) const;

 private:
  void route_prompt(const float* topic_logits, Random& random, std::uint32_t* selections) const;

  RouterDesign design_;
  std::uint64_t world_;
  std::vector<float> logits_;  // [topic_count, layer_count, expert_count]
};

}  // namespace atlas
