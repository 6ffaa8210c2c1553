// Simulated routing for the tests of the token controls: experts depend on the token, the prompt and the topic, each as much as asked.
// Included by tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "stats/controls_test_data.h"

namespace atlas {

struct Simulation {
  double vocabulary = 0;  // how much topics prefer some tokens: the deviation of a token's log frequency
  double context = 0;     // of a topic's taste in experts; a token's has deviation 1
  double prompt = 0;      // of a prompt's
};

// 3 topics of 6 prompts of 60 tokens out of 30; 2 layers, 32 experts, 4 a token.
inline TestTrace simulated_trace(const Simulation& simulation, unsigned seed) {
  constexpr std::size_t topics = 3, prompts = 6, tokens = 30, layers = 2, experts = 32, top_k = 4;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto tastes = [&](std::size_t count, double deviation) {
    std::vector<std::vector<double>> rows(count, std::vector<double>(layers * experts));
    for (auto& row : rows)
      for (double& value : row) value = deviation * normal(random);
    return rows;
  };
  const auto of_token = tastes(tokens, 1), of_topic = tastes(topics, simulation.context);
  std::vector<TestPrompt> result;
  for (std::size_t c = 0; c < topics; c++) {
    std::vector<double> frequency;
    for (std::size_t t = 0; t < tokens; t++) frequency.push_back(std::exp(simulation.vocabulary * normal(random)));
    std::discrete_distribution<int> draw_token(frequency.begin(), frequency.end());
    for (const auto& of_prompt : tastes(prompts, simulation.prompt)) {
      TestPrompt prompt{std::string(1, static_cast<char>('a' + c)), {}};
      for (int i = 0; i < 60; i++) {
        TestRow row{draw_token(random), Phase::prompt, {}, {}};
        for (std::size_t layer = 0; layer < layers; layer++) {
          std::vector<std::pair<double, std::uint32_t>> scores;
          for (std::size_t e = layer * experts; e < (layer + 1) * experts; e++) {
            const double score = of_token[static_cast<std::size_t>(row.token)][e] + of_topic[c][e] + of_prompt[e] + 0.5 * normal(random);
            scores.push_back({score, static_cast<std::uint32_t>(e - layer * experts)});
          }
          std::partial_sort(scores.begin(), scores.begin() + top_k, scores.end(), std::greater<>());
          row.experts.emplace_back();
          for (std::size_t slot = 0; slot < top_k; slot++) row.experts.back().push_back(scores[slot].second);
        }
        prompt.rows.push_back(std::move(row));
      }
      result.push_back(std::move(prompt));
    }
  }
  return TestTrace(result, {0, 1}, experts);
}

}  // namespace atlas
