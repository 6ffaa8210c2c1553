// Counting a trace. See counts.h; the file form and merging are in counts_file.cpp and merge.cpp.
#include "trace/counts.h"

#include <algorithm>

#include "base/parallel.h"

namespace atlas {

namespace {

// Rows [begin, end) that share one probe and one phase; counting goes segment by segment.
struct Segment {
  std::uint64_t row_begin = 0;
  std::uint64_t row_end = 0;
  std::uint32_t cell = 0;  // probe * phase_present_count + phase
};

std::vector<Segment> segments_of(const Trace& trace, const std::vector<Phase>& phases) {
  std::vector<Segment> segments;
  std::array<std::uint32_t, phase_count> slot{};
  for (std::size_t i = 0; i < phases.size(); i++) slot.at(static_cast<std::size_t>(phases[i])) = static_cast<std::uint32_t>(i);
  for (std::uint64_t row = 0; row < trace.phase().size(); row++) {
    const auto probe = static_cast<std::uint32_t>(trace.probe_index()[row]);
    const std::uint32_t cell = probe * static_cast<std::uint32_t>(phases.size()) + slot.at(trace.phase()[row]);
    if (!segments.empty() && segments.back().cell == cell) segments.back().row_end = row + 1;
    else segments.push_back({row, row + 1, cell});
  }
  return segments;
}

// One layer's counts: [cell, width], where `width` covers every id of the type or, for u32, of expert_count.
struct LayerHistogram {
  std::size_t width = 0;
  std::vector<std::uint32_t> selections;  // [cell_count, width]
  std::vector<double> router_weight_sum;  // [cell_count, width], or empty
};

// Four partial histograms, because consecutive tokens often choose the same expert and an increment must not wait for the one before.
constexpr std::size_t lane_count = 4;

template <typename Id>
void count_ids(const Id* ids, std::size_t id_count, std::uint32_t* lanes, std::size_t width) {
  std::uint32_t* lane_0 = lanes;
  std::uint32_t* lane_1 = lanes + width;
  std::uint32_t* lane_2 = lanes + 2 * width;
  std::uint32_t* lane_3 = lanes + 3 * width;
  std::size_t i = 0;
  for (; i + lane_count <= id_count; i += lane_count) {
    lane_0[ids[i]]++;
    lane_1[ids[i + 1]]++;
    lane_2[ids[i + 2]]++;
    lane_3[ids[i + 3]]++;
  }
  for (; i < id_count; i++) lane_0[ids[i]]++;
}

void fold_lanes(std::uint32_t* lanes, std::size_t lane_width, std::uint32_t* row, std::size_t width) {
  for (std::size_t e = 0; e < width; e++) row[e] += lanes[e] + lanes[lane_width + e] + lanes[2 * lane_width + e] + lanes[3 * lane_width + e];
  for (std::size_t lane = 0; lane < lane_count; lane++) std::fill_n(lanes + lane * lane_width, width, 0U);
}

// The lanes cover every value of the id's type, so that no id can fall outside; what lies at or above expert_count and is not the mark for
// "none" is found afterwards, by the sum.
template <typename Id>
LayerHistogram narrow_histogram(const LayerView& layer, const std::vector<Segment>& segments, std::size_t cell_count, std::uint32_t expert_count) {
  constexpr std::size_t lane_width = std::size_t{1} << (8 * sizeof(Id));
  LayerHistogram result{expert_count, std::vector<std::uint32_t>(cell_count * expert_count), {}};
  std::vector<std::uint32_t> lanes(lane_count * lane_width);
  const Id* ids = reinterpret_cast<const Id*>(layer.expert_ids.data());
  for (const Segment& segment : segments) {
    const std::uint64_t begin = segment.row_begin * layer.expert_top_k, end = segment.row_end * layer.expert_top_k;
    count_ids(ids + begin, end - begin, lanes.data(), lane_width);
    fold_lanes(lanes.data(), lane_width, result.selections.data() + segment.cell * result.width, result.width);
  }
  return result;
}

LayerHistogram wide_histogram(const LayerView& layer, const std::vector<Segment>& segments, std::size_t cell_count,
                              const std::vector<std::uint32_t>& seen) {
  LayerHistogram result{seen.size(), std::vector<std::uint32_t>(cell_count * seen.size()), {}};
  for (const Segment& segment : segments)
    for (std::uint64_t row = segment.row_begin; row < segment.row_end; row++)
      for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) {
        const auto found = std::lower_bound(seen.begin(), seen.end(), layer.expert_id(row, slot));
        result.selections[segment.cell * seen.size() + static_cast<std::size_t>(found - seen.begin())]++;
      }
  return result;
}

// Weights are added in row order in double, so the sums do not depend on threads. `seen` as in wide_histogram; empty: the id is the column.
void add_router_weights(const LayerView& layer, const std::vector<Segment>& segments, const std::vector<std::uint32_t>& seen, LayerHistogram& into) {
  into.router_weight_sum.resize(into.selections.size());
  for (const Segment& segment : segments) {
    double* sums = into.router_weight_sum.data() + segment.cell * into.width;
    for (std::uint64_t row = segment.row_begin; row < segment.row_end; row++)
      for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) {
        const std::uint32_t id = layer.expert_id(row, slot);
        const std::size_t column = seen.empty() ? id : static_cast<std::size_t>(std::lower_bound(seen.begin(), seen.end(), id) - seen.begin());
        sums[column] += static_cast<double>(layer.router_weights[row * layer.expert_top_k + slot]);
      }
  }
}

std::uint64_t selection_total(const LayerView& layer) {
  if (layer.selected_count.empty()) return layer.row_count * layer.expert_top_k;
  std::uint64_t total = 0;
  for (const std::uint8_t count : layer.selected_count) total += count;
  return total;
}

std::vector<std::uint32_t> ids_seen(const LayerView& layer) {
  std::vector<std::uint32_t> ids;
  for (std::uint64_t row = 0; row < layer.row_count; row++)
    for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) {
      ids.push_back(layer.expert_id(row, slot));
      if (ids.size() < (std::size_t{1} << 22)) continue;  // keep memory bounded: thin out now and then
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// What one layer adds to the result: its histogram and the columns of it that somebody chose.
struct LayerCounts {
  LayerHistogram histogram;
  std::vector<std::uint32_t> columns;  // [seen], rising
  std::vector<std::uint32_t> experts;  // [seen], their ids
};

LayerCounts with_seen_columns(LayerHistogram histogram, std::size_t cell_count, const std::vector<std::uint32_t>& id_of_column) {
  std::vector<std::uint64_t> totals(histogram.width);
  for (std::size_t cell = 0; cell < cell_count; cell++)
    for (std::size_t c = 0; c < histogram.width; c++) totals[c] += histogram.selections[cell * histogram.width + c];
  LayerCounts counts;
  for (std::uint32_t c = 0; c < histogram.width; c++) {
    if (totals[c] == 0) continue;
    counts.columns.push_back(c);
    counts.experts.push_back(id_of_column.empty() ? c : id_of_column[c]);
  }
  counts.histogram = std::move(histogram);
  return counts;
}

LayerCounts count_layer(const Trace& trace, std::size_t index, const std::vector<Segment>& segments, std::size_t cell_count) {
  SafetensorsFile file = trace.open_layer(index);
  const LayerView layer = trace.layer(index, file);
  if (layer.id_dtype == Dtype::u32) {
    check_layer_ids(trace, layer);
    const std::vector<std::uint32_t> seen = ids_seen(layer);
    LayerHistogram histogram = wide_histogram(layer, segments, cell_count, seen);
    if (!layer.router_weights.empty()) add_router_weights(layer, segments, seen, histogram);
    return with_seen_columns(std::move(histogram), cell_count, seen);
  }
  const std::uint32_t expert_count = trace.manifest().expert_count;
  LayerHistogram histogram = layer.id_dtype == Dtype::u8 ? narrow_histogram<std::uint8_t>(layer, segments, cell_count, expert_count)
                                                         : narrow_histogram<std::uint16_t>(layer, segments, cell_count, expert_count);
  std::uint64_t counted = 0;
  for (const std::uint32_t count : histogram.selections) counted += count;
  if (counted != selection_total(layer) || !layer.selected_count.empty()) check_layer_ids(trace, layer);
  if (!layer.router_weights.empty()) add_router_weights(layer, segments, {}, histogram);
  return with_seen_columns(std::move(histogram), cell_count, {});
}

// Puts one layer's columns into the result, from expert `begin` on.
void place_layer(const LayerCounts& layer, std::size_t cell_count, std::size_t begin, Counts& counts) {
  const LayerHistogram& histogram = layer.histogram;
  for (std::size_t cell = 0; cell < cell_count; cell++) {
    const std::size_t into = cell * counts.experts.size() + begin, from = cell * histogram.width;
    for (std::size_t c = 0; c < layer.columns.size(); c++) counts.selections[into + c] = histogram.selections[from + layer.columns[c]];
    if (histogram.router_weight_sum.empty()) continue;
    for (std::size_t c = 0; c < layer.columns.size(); c++)
      counts.router_weight_sum[into + c] = static_cast<float>(histogram.router_weight_sum[from + layer.columns[c]]);
  }
}

std::vector<Phase> phases_present(const TraceManifest& manifest) {
  std::vector<Phase> phases;
  for (std::size_t phase = 0; phase < phase_count; phase++) {
    const auto has_phase = [phase](const TraceProbe& probe) { return probe.token_count.at(phase) > 0; };
    if (std::any_of(manifest.probes.begin(), manifest.probes.end(), has_phase)) phases.push_back(static_cast<Phase>(phase));
  }
  return phases;
}

}  // namespace

Counts count(const Trace& trace) {
  Counts counts;
  counts.manifest = trace.manifest();
  counts.phases = phases_present(trace.manifest());
  const std::vector<Segment> segments = segments_of(trace, counts.phases);
  const std::size_t cell_count = counts.probe_count() * counts.phases.size();
  std::vector<LayerCounts> layers(trace.manifest().layers.size());
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) layers[i] = count_layer(trace, i, segments, cell_count);
  });
  std::vector<std::size_t> begin_of;  // [layer], its first expert
  for (std::size_t i = 0; i < layers.size(); i++) {
    begin_of.push_back(counts.experts.size());
    for (const std::uint32_t expert : layers[i].experts) counts.experts.push_back({trace.manifest().layers[i], expert});
  }
  counts.selections.resize(cell_count * counts.experts.size());
  if (trace.manifest().has_router_weights) counts.router_weight_sum.resize(counts.selections.size());
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) place_layer(layers[i], cell_count, begin_of[i], counts);
  });
  return counts;
}

}  // namespace atlas
