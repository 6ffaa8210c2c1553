// Counts on disk, and joining them. See counts.h.
#include <algorithm>
#include <limits>
#include <set>

#include "trace/counts.h"

namespace atlas {

namespace {

constexpr const char* format_name = "expert-atlas counts";

std::string where_of(const SafetensorsFile& file) { return file.path().string(); }

const std::string& metadata_text(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw Error(Problem{where_of(file), "no " + key + " in its metadata", "a counts file", "another safetensors file was named"});
  return found->second;
}

void check_counts(const Counts& counts, const std::string& where) {
  std::vector<Problem> problems;
  for (std::size_t e = 1; e < counts.experts.size(); e++)
    if (counts.experts[e] <= counts.experts[e - 1]) {
      problems.push_back({where + ", experts " + std::to_string(e), "a pair out of order", "pairs of layer and expert that rise", ""});
      break;
    }
  for (std::size_t f = 1; f < counts.phases.size(); f++)
    if (counts.phases[f] <= counts.phases[f - 1]) problems.push_back({where + ", phases", "phases out of order", "phases that rise", ""});
  for (const Phase phase : counts.phases)
    if (static_cast<std::size_t>(phase) >= phase_count) problems.push_back({where + ", phases", "a phase above 4", "0 to 4", ""});
  throw_if_any(std::move(problems));
}

}  // namespace

void write_counts(const std::filesystem::path& path, const Counts& counts) {
  const std::uint64_t probe_count = counts.probe_count(), phases = counts.phases.size(), experts = counts.experts.size();
  std::vector<TensorOut> tensors{{"experts", Dtype::u32, {experts, 2}, std::as_bytes(std::span(counts.experts))},
                                 {"phases", Dtype::u8, {phases}, std::as_bytes(std::span(counts.phases))},
                                 {"selections", Dtype::u32, {probe_count, phases, experts}, std::as_bytes(std::span(counts.selections))}};
  if (!counts.router_weight_sum.empty())
    tensors.push_back({"router_weight_sum", Dtype::f32, {probe_count, phases, experts}, std::as_bytes(std::span(counts.router_weight_sum))});
  write_safetensors(path, std::move(tensors), {{"format", format_name}, {"version", "1"}, {"manifest", manifest_to_json(counts.manifest).dump()}});
}

Counts read_counts(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  const std::string where = where_of(file);
  const std::string format = metadata_text(file, "format"), version = metadata_text(file, "version");
  if (format != format_name || version != "1")
    throw Error(Problem{where, "format '" + format + "', version " + version, std::string("'") + format_name + "', version 1", "a newer version"});
  Counts counts;
  counts.manifest = manifest_from_json(parse_json(metadata_text(file, "manifest"), where + " (manifest)"), where + " (manifest)");
  const TensorView* experts = file.find("experts");
  const TensorView* phases = file.find("phases");
  if (experts == nullptr || phases == nullptr || experts->shape.empty() || phases->shape.size() != 1)
    throw Error(Problem{where, "no experts [n, 2] or phases [n]", "a counts file", ""});
  const std::uint64_t expert_count = experts->shape[0], present = phases->shape[0];
  static_assert(sizeof(Expert) == 2 * sizeof(std::uint32_t));
  const auto pairs = elements<std::uint32_t>(file.expect("experts", Dtype::u32, {expert_count, 2}), where);
  for (std::size_t e = 0; e < expert_count; e++) counts.experts.push_back({pairs[2 * e], pairs[2 * e + 1]});
  for (const std::uint8_t phase : elements<std::uint8_t>(file.expect("phases", Dtype::u8, {present}), where))
    counts.phases.push_back(static_cast<Phase>(phase));
  const std::vector<std::uint64_t> shape{counts.probe_count(), present, expert_count};
  const auto selections = elements<std::uint32_t>(file.expect("selections", Dtype::u32, shape), where);
  counts.selections.assign(selections.begin(), selections.end());
  if (file.find("router_weight_sum") != nullptr) {
    const auto sums = elements<float>(file.expect("router_weight_sum", Dtype::f32, shape), where);
    counts.router_weight_sum.assign(sums.begin(), sums.end());
  }
  check_counts(counts, where);
  return counts;
}

namespace {

bool has_rows(const TraceProbe& probe) { return probe.row_end > probe.row_begin; }

void check_alike(const std::vector<Counts>& parts) {
  const Json first = manifest_to_json(parts.front().manifest);
  std::vector<Problem> problems;
  for (std::size_t i = 1; i < parts.size(); i++) {
    const Json other = manifest_to_json(parts[i].manifest);
    for (const char* key : {"model", "engine", "settings", "layers", "expert_count", "expert_top_k"})
      if (first[key] != other[key])
        problems.push_back({"part " + std::to_string(i + 1) + ", " + key, other[key].dump(), first[key].dump() + ", as in part 1",
                            "captures of different models or with different options"});
  }
  throw_if_any(std::move(problems));
}

// Where each probe of the result comes from.
struct Source {
  std::size_t part = 0;
  std::size_t probe = 0;
};

bool same_probe_set(const std::vector<Counts>& parts) {
  const Json& first = parts.front().manifest.probe_set;
  return first.contains("sha256") && std::all_of(parts.begin(), parts.end(), [&](const Counts& part) {
           return part.manifest.probe_set.contains("sha256") && part.manifest.probe_set["sha256"] == first["sha256"];
         });
}

std::vector<Source> sources_of(const std::vector<Counts>& parts) {
  std::vector<Source> sources;
  std::vector<Problem> problems;
  if (same_probe_set(parts)) {
    for (std::size_t p = 0; p < parts.front().probe_count(); p++) {
      sources.push_back({0, p});
      std::size_t with_rows = 0;
      for (std::size_t i = 0; i < parts.size(); i++) {
        if (!has_rows(parts[i].manifest.probes.at(p))) continue;
        sources.back() = {i, p};
        with_rows++;
      }
      if (with_rows > 1)
        problems.push_back(
            {"probe " + parts.front().manifest.probes[p].id, "rows in " + std::to_string(with_rows) + " parts", "in one", "a part given twice"});
    }
  } else {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < parts.size(); i++)
      for (std::size_t p = 0; p < parts[i].probe_count(); p++) {
        sources.push_back({i, p});
        const std::string& id = parts[i].manifest.probes[p].id;
        if (!ids.insert(id).second) problems.push_back({"probe " + id, "the same id in two parts", "probes that differ", "a part given twice"});
      }
  }
  throw_if_any(std::move(problems));
  return sources;
}

TraceManifest merged_manifest(const std::vector<Counts>& parts, const std::vector<Source>& sources) {
  TraceManifest manifest = parts.front().manifest;
  const bool one_set = same_probe_set(parts);
  manifest.probes.clear();
  manifest.missing.clear();
  if (!one_set) {
    Json of = Json::array();
    for (const Counts& part : parts) of.push_back(part.manifest.probe_set);
    manifest.probe_set = {{"merged", of}};
  }
  std::uint64_t row = 0;
  for (std::size_t to = 0; to < sources.size(); to++) {
    const TraceManifest& from = parts[sources[to].part].manifest;
    TraceProbe probe = from.probes[sources[to].probe];
    const std::uint64_t rows = probe.row_end - probe.row_begin;
    probe.row_begin = row;
    row += rows;
    probe.row_end = row;
    manifest.probes.push_back(std::move(probe));
    for (MissingRows missing : from.missing) {
      if (missing.probe != sources[to].probe) continue;
      missing.probe = static_cast<std::uint32_t>(to);
      manifest.missing.push_back(std::move(missing));
    }
  }
  return manifest;
}

// The place of each of `part`'s experts (or phases) among the union's; both rise.
template <typename T>
std::vector<std::size_t> places(const std::vector<T>& part, const std::vector<T>& all) {
  std::vector<std::size_t> result;
  for (const T& value : part) result.push_back(static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), value) - all.begin()));
  return result;
}

template <typename T>
void unite(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

Counts merge(const std::vector<Counts>& parts) {
  if (parts.empty()) throw Error(Problem{"merge", "no counts", "at least one part", ""});
  check_alike(parts);
  const std::vector<Source> sources = sources_of(parts);
  Counts result;
  result.manifest = merged_manifest(parts, sources);
  bool weights = true;
  for (const Counts& part : parts) {
    unite(result.experts, part.experts);
    unite(result.phases, part.phases);
    weights = weights && (!part.router_weight_sum.empty() || part.selections.empty());
  }
  result.manifest.has_router_weights = weights;
  result.selections.resize(sources.size() * result.phases.size() * result.experts.size());
  if (weights) result.router_weight_sum.resize(result.selections.size());
  for (std::size_t to = 0; to < sources.size(); to++) {
    const Counts& part = parts[sources[to].part];
    const auto expert_places = places(part.experts, result.experts);
    const auto phase_places = places(part.phases, result.phases);
    for (std::size_t f = 0; f < part.phases.size(); f++)
      for (std::size_t e = 0; e < part.experts.size(); e++) {
        const std::size_t into = result.at(to, phase_places[f], expert_places[e]), from = part.at(sources[to].probe, f, e);
        result.selections[into] = part.selections[from];
        if (weights) result.router_weight_sum[into] = part.router_weight_sum[from];
      }
  }
  return result;
}

}  // namespace atlas
