// Counting, atlas and validation on a synthetic capture of GLM-5.2's size: 96 prompts of 12 topics, 75 layers x 256 experts, top 8,
// 7.4 M selections. Counting is set beside a bare histogram loop over the same mapped bytes, in the same run. With ATLAS_BENCH_TRACE set to a
// trace, that one is taken instead of the smaller synthetic one (compare_reference.py does, to give the reference the same input).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/parallel.h"
#include "stats/reference.h"
#include "trace/counts.h"
#include "trace/trace_writer.h"

namespace {

using namespace atlas;
namespace fs = std::filesystem;

constexpr std::uint32_t topic_total = 12, probes_per_topic = 8, layer_total = 75, expert_total = 256, top_k = 8;

TraceManifest synthetic_manifest(std::uint64_t rows_per_probe) {
  TraceManifest manifest;
  manifest.model.name = "synthetic";
  manifest.engine_name = "core_bench";
  for (std::uint32_t layer = 0; layer < layer_total; layer++) manifest.layers.push_back(3 + layer);
  manifest.expert_count = expert_total;
  manifest.expert_top_k = top_k;
  for (std::uint32_t p = 0; p < topic_total * probes_per_topic; p++) {
    TraceProbe probe;
    probe.topic = "topic_" + std::to_string(p / probes_per_topic);
    probe.id = probe.topic + ":" + std::to_string(p % probes_per_topic);
    probe.row_begin = p * rows_per_probe;
    probe.row_end = probe.row_begin + rows_per_probe;
    probe.token_count[static_cast<std::size_t>(Phase::unknown)] = rows_per_probe;
    manifest.probes.push_back(probe);
  }
  return manifest;
}

// Skewed popularity, and a preference of each topic for some experts; 8 different ids a row.
LayerRoutes synthetic_layer(const TraceManifest& manifest, std::uint32_t layer, std::mt19937& random) {
  LayerRoutes routes;
  routes.layer = layer;
  std::vector<double> weight(expert_total);
  std::exponential_distribution<double> skew(1.0);
  std::uint32_t row_ids[top_k];
  for (std::size_t p = 0; p < manifest.probes.size(); p++) {
    if (p % probes_per_topic == 0)
      for (double& w : weight) w = 0.05 + skew(random);
    std::discrete_distribution<std::uint32_t> choose(weight.begin(), weight.end());
    for (std::uint64_t row = manifest.probes[p].row_begin; row < manifest.probes[p].row_end; row++) {
      for (std::uint32_t k = 0; k < top_k;) {
        row_ids[k] = choose(random);
        if (std::find(row_ids, row_ids + k, row_ids[k]) == row_ids + k) k++;
      }
      routes.expert_ids.insert(routes.expert_ids.end(), row_ids, row_ids + top_k);
    }
  }
  return routes;
}

// Written once a run of the program, removed at its end.
struct SyntheticTrace {
  fs::path folder;
  explicit SyntheticTrace(std::uint64_t rows_per_probe)
      : folder(fs::temp_directory_path() / ("core_bench_" + std::to_string(rows_per_probe) + ".trace")) {
    fs::remove_all(folder);
    const TraceManifest manifest = synthetic_manifest(rows_per_probe);
    TokenTable tokens;
    for (std::size_t p = 0; p < manifest.probes.size(); p++)
      for (std::uint64_t row = 0; row < rows_per_probe; row++) {
        tokens.probe_index.push_back(static_cast<std::int32_t>(p));
        tokens.position.push_back(static_cast<std::int32_t>(row));
        tokens.phase.push_back(static_cast<std::uint8_t>(Phase::unknown));
      }
    TraceWriter writer(folder, manifest, tokens);
    std::mt19937 random(1);
    for (const std::uint32_t layer : manifest.layers) writer.write_layer(synthetic_layer(manifest, layer, random));
  }
  ~SyntheticTrace() { fs::remove_all(folder); }
};

fs::path trace_of(std::uint64_t rows_per_probe) {
  if (const char* given = std::getenv("ATLAS_BENCH_TRACE"); given != nullptr && rows_per_probe == 128) return given;
  if (rows_per_probe == 128) {
    static const SyntheticTrace small(128);
    return small.folder;
  }
  static const SyntheticTrace large(2048);
  return large.folder;
}

std::uint64_t id_total(const TraceManifest& manifest) { return manifest.row_count() * manifest.expert_top_k * manifest.layers.size(); }

void set_id_rate(benchmark::State& state, const TraceManifest& manifest) {
  state.counters["ids/s"] =
      benchmark::Counter(static_cast<double>(id_total(manifest)) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// The limit: one histogram a layer over the same bytes, four lanes, nothing told apart, on all cores.
void bare_histogram(benchmark::State& state) {
  const Trace trace(trace_of(static_cast<std::uint64_t>(state.range(0))));
  std::vector<SafetensorsFile> files;
  for (std::size_t i = 0; i < trace.manifest().layers.size(); i++) files.push_back(trace.open_layer(i));
  for ([[maybe_unused]] auto _ : state) {
    parallel_for(files.size(), 1, [&](std::size_t begin, std::size_t end) {
      std::vector<std::uint32_t> lanes(4 * 65536);
      for (std::size_t i = begin; i < end; i++) {
        const TensorView* tensor = files[i].find("expert_ids");
        if (tensor->dtype != Dtype::u16) return;  // this loop is for the ids of 256 experts
        const auto* ids = reinterpret_cast<const std::uint16_t*>(tensor->bytes.data());
        for (std::size_t at = 0; at + 4 <= tensor->element_count(); at += 4)
          for (std::size_t lane = 0; lane < 4; lane++) lanes[lane * 65536 + ids[at + lane]]++;
      }
      benchmark::DoNotOptimize(lanes.data());
    });
  }
  set_id_rate(state, trace.manifest());
}

void count_mapped_trace(benchmark::State& state) {
  const Trace trace(trace_of(static_cast<std::uint64_t>(state.range(0))));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(count(trace));
  set_id_rate(state, trace.manifest());
}

const Counts& synthetic_counts() {
  static const Counts counts = count(Trace(trace_of(128)));
  return counts;
}

void reference_atlas(benchmark::State& state) {
  const Counts& counts = synthetic_counts();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(build_reference_atlas(counts));
}

void reference_validation(benchmark::State& state) {
  const Counts& counts = synthetic_counts();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(validate_reference(counts));
}

BENCHMARK(bare_histogram)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(count_mapped_trace)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(reference_atlas)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(reference_validation)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
