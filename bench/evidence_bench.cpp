// The evidence on a capture of GLM-5.2's size: 10 topics x 10 prompts, 19,200 experts, about 80 k selections a prompt; and how it grows with prompts
// and experts. Shares are drawn at random: time does not depend on what they say. Memory is the program's peak so far, printed last.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>

#include "stats/expert_tests.h"
#include "stats/held_out.h"
#include "stats/random.h"

namespace {

using namespace atlas;

constexpr std::uint32_t topic_total = 10;

Shares random_shares(std::size_t prompts_per_topic, std::size_t experts) {
  Shares shares;
  shares.feature_count = experts;
  Random random(1, random_purpose::subsample, 0);
  for (std::uint32_t c = 0; c < topic_total; c++) shares.topics.push_back("topic_" + std::to_string(c));
  std::vector<std::uint32_t> counts(experts);
  for (std::uint32_t p = 0; p < topic_total * prompts_per_topic; p++) {
    shares.topic.push_back(p % topic_total);
    shares.probe.push_back(p);
    std::uint64_t total = 0;
    for (std::uint32_t& count : counts) total += count = static_cast<std::uint32_t>(-4 * std::log(1 - random.unit()));
    for (const std::uint32_t count : counts) shares.values.push_back(fixed_share(count, total));
    shares.selections.insert(shares.selections.end(), counts.begin(), counts.end());
  }
  return shares;
}

HeldOutOptions one_pairing() {
  HeldOutOptions options;
  options.pairings = 1;
  return options;
}

// Arguments everywhere: prompts a topic, experts, relabelings or draws.
void cosine_one_pairing(benchmark::State& state) {
  const Shares shares = random_shares(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Relabelings relabelings = make_relabelings(shares.topic, topic_total, static_cast<std::size_t>(state.range(2)), 0);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(test_cosine(shares, relabelings, one_pairing()));
}

void set_one_pairing(benchmark::State& state) {
  const Shares shares = random_shares(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Relabelings relabelings = make_relabelings(shares.topic, topic_total, static_cast<std::size_t>(state.range(2)), 0);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(test_set(shares, 200, 30, relabelings, one_pairing()));
}

ExpertOptions expert_options(std::size_t bootstrap_draws) {
  ExpertOptions options;
  options.bootstrap_draws = bootstrap_draws;
  return options;
}

void expert_p_values(benchmark::State& state) {
  const Shares shares = random_shares(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Relabelings relabelings = make_relabelings(shares.topic, topic_total, static_cast<std::size_t>(state.range(2)), 0);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(test_experts(shares, relabelings, expert_options(0)));
}

void expert_bootstrap(benchmark::State& state) {
  const Shares shares = random_shares(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(test_experts(shares, Relabelings{}, expert_options(static_cast<std::size_t>(state.range(2)))));
}

void scaling(benchmark::internal::Benchmark* bench, std::int64_t draws) {
  bench->Args({10, 19200, draws})->Args({10, 4800, draws})->Args({20, 19200, draws})->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);
}

BENCHMARK(cosine_one_pairing)->Apply([](auto* bench) { scaling(bench, 10000); });
BENCHMARK(set_one_pairing)->Apply([](auto* bench) { scaling(bench, 100); });
BENCHMARK(expert_p_values)->Apply([](auto* bench) { scaling(bench, 10000); });
BENCHMARK(expert_bootstrap)->Apply([](auto* bench) { scaling(bench, 1000); });

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory: %ld MB\n", usage.ru_maxrss / 1024);
  return 0;
}
