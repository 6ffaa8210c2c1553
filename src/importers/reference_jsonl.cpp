// See reference_jsonl.h. The first pass checks every record and learns rows, layers and sizes; the second fills the layer files in place.
#include "importers/reference_jsonl.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "importers/layer_fill.h"
#include "importers/route_records.h"
#include "importers/row_table.h"
#include "importers/run_files.h"
#include "trace/trace_writer.h"

namespace atlas {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t bytes_between_reports = std::uint64_t{8} << 20;
constexpr std::uint32_t max_index = 0xFFFFFFFEU;  // of a layer or an expert: 32 bits, and all ones is no id
constexpr std::uint32_t max_top_k = 255;
constexpr std::uint64_t max_rows = std::numeric_limits<std::int32_t>::max();
// A trace is a table of rows x layers. Records of a router fill it; a few records with random numbers would ask for a table of any size.
constexpr std::uint64_t always_allowed_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t max_growth = 64;

struct LayerFacts {
  std::uint32_t layer = 0;
  std::uint64_t record_count = 0;
  std::uint32_t least_selected = max_top_k;
};

// What the first pass learns. Layers have ordinals in the order in which they were met.
struct Survey {
  std::vector<RunRows> rows;                                  // [probe]
  std::vector<std::vector<std::uint64_t>> record_counts;      // [probe][layer ordinal, as far as the run met it]
  std::vector<LayerFacts> layers;                             // [layer ordinal]
  std::unordered_map<std::uint32_t, std::uint32_t> ordinals;  // layer -> ordinal
  ImportReport report;

  std::uint32_t ordinal_of(std::uint32_t layer) {
    const auto [entry, is_new] = ordinals.try_emplace(layer, static_cast<std::uint32_t>(layers.size()));
    if (is_new) layers.push_back({layer, 0, max_top_k});
    return entry->second;
  }
};

// Counts bytes over files of any size; `is_due` now and then, when there is something to report and memory to give back.
class Progress {
 public:
  Progress(const ImportProgress& callback, std::uint64_t total) : callback_(callback), total_(total) { report(0); }
  bool is_due(std::uint64_t in_file) const { return before_ + in_file >= reported_ + bytes_between_reports; }
  void report(std::uint64_t in_file) {
    reported_ = before_ + in_file;
    if (callback_) callback_(reported_, total_);
  }
  void end_file(std::uint64_t byte_count) { before_ += byte_count; }

 private:
  const ImportProgress& callback_;
  std::uint64_t total_ = 0, before_ = 0, reported_ = 0;
};

// --- First pass ----------------------------------------------------------------------------------------------------------------------

std::optional<Problem> beyond_format(const RouteRecord& record) {
  const std::string limit = "0 to 4294967294, the limit of the trace format";
  if (record.layer > max_index) return Problem{"layer", std::to_string(static_cast<std::uint64_t>(record.layer)), limit, ""};
  if (record.indices.size() > max_top_k)
    return Problem{"indices", std::to_string(record.indices.size()) + " experts", "255 at most, the limit of the trace format", ""};
  for (const double expert : record.indices)
    if (expert > max_index) return Problem{"indices", "the expert " + std::to_string(static_cast<std::uint64_t>(expert)), limit, ""};
  return std::nullopt;
}

// Calls `visit` with each record of the run once it has been checked, and `tell` now and then.
template <typename Visit, typename Tell>
void read_run(const RunFile& run, const std::string& run_id, Progress& progress, Visit visit, Tell tell) {
  const MappedFile file(run.path);
  RouteReader reader(file.text(), run.path.string());
  RouteRecord record;
  const auto tell_if_due = [&] {
    if (!progress.is_due(reader.bytes_read())) return;
    progress.report(reader.bytes_read());
    file.release(reader.bytes_read());
    tell();
  };
  while (reader.next(record)) {
    std::optional<Problem> problem = route_record_problem(record, run_id);
    if (!problem) problem = beyond_format(record);
    if (!problem) problem = visit(record);
    if (problem) {
      problem->where = reader.place() + (problem->where.empty() ? "" : ", " + problem->where);
      throw Error(std::move(*problem));
    }
    tell_if_due();
  }
  tell_if_due();
  progress.end_file(file.bytes().size());
}

RowKey key_of(const RouteRecord& record) { return {static_cast<std::uint64_t>(record.forward), static_cast<std::uint64_t>(record.row)}; }

void survey_run(const RunFile& run, const std::string& run_id, Progress& progress, Survey& survey) {
  RowCounter counter;
  std::vector<std::uint64_t>& record_counts = survey.record_counts[run.probe];
  ImportReport& report = survey.report;
  const auto visit = [&](const RouteRecord& record) -> std::optional<Problem> {
    const std::uint32_t ordinal = survey.ordinal_of(static_cast<std::uint32_t>(record.layer));
    const auto selected = static_cast<std::uint32_t>(record.indices.size());
    LayerFacts& layer = survey.layers[ordinal];
    layer.record_count++;
    layer.least_selected = std::min(layer.least_selected, selected);
    if (record_counts.size() <= ordinal) record_counts.resize(ordinal + std::size_t{1});
    record_counts[ordinal]++;
    report.record_count++;
    report.selection_count += selected;
    report.expert_top_k = std::max(report.expert_top_k, selected);
    for (const double expert : record.indices) report.expert_count = std::max(report.expert_count, static_cast<std::uint32_t>(expert) + 1);
    counter.add(key_of(record), ordinal);
    return std::nullopt;
  };
  read_run(run, run_id, progress, visit, [] {});
  survey.rows[run.probe] = counter.rows();
  report.repeated_count += counter.repeated_count();
  report.row_count += survey.rows[run.probe].row_count();
}

Survey survey_runs(const std::vector<RunFile>& runs, const ProbeSet& probe_set, Progress& progress) {
  Survey survey;
  survey.rows.resize(probe_set.probes.size());
  survey.record_counts.resize(probe_set.probes.size());
  std::vector<Problem> problems;
  for (const RunFile& run : runs) {
    try {
      survey_run(run, probe_set.probes[run.probe].run_id, progress, survey);
    } catch (const Error& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
      progress.end_file(run.byte_count);
    }
  }
  throw_if_any(std::move(problems));
  survey.report.file_count = runs.size();
  survey.report.layer_count = static_cast<std::uint32_t>(survey.layers.size());
  return survey;
}

void check_size(const Survey& survey, const fs::path& folder, std::uint64_t input_bytes) {
  const ImportReport& report = survey.report;
  if (report.row_count > max_rows)
    throw Error(Problem{folder.string(), std::to_string(report.row_count) + " rows",
                        std::to_string(max_rows) + " at most, the limit of the trace format", ""});
  const std::uint64_t row_bytes = report.expert_top_k * dtype_bytes(expert_id_dtype(report.expert_count)) + 1;
  const double trace_bytes = static_cast<double>(report.row_count * row_bytes) * report.layer_count;  // as a double: it may pass 64 bits
  if (trace_bytes <= static_cast<double>(std::max(always_allowed_bytes, input_bytes * max_growth))) return;
  throw Error(Problem{folder.string(),
                      std::to_string(report.record_count) + " records that spread over " + std::to_string(report.row_count) + " rows and " +
                          std::to_string(report.layer_count) + " layers",
                      "most rows to have a record in most layers", "forward, row or layer are not what they should be"});
}

// --- The trace -----------------------------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> ordinals_by_layer(const Survey& survey) {
  std::vector<std::uint32_t> order;
  for (const LayerFacts& layer : survey.layers) order.push_back(survey.ordinals.at(layer.layer));
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t left, std::uint32_t right) { return survey.layers[left].layer < survey.layers[right].layer; });
  return order;
}

std::vector<MissingRows> missing_rows(const Survey& survey, const std::vector<RunFile>& runs, const ProbeSet& probe_set) {
  std::vector<MissingRows> missing;
  std::size_t run = 0;
  const std::vector<std::uint32_t> order = ordinals_by_layer(survey);
  for (std::uint32_t p = 0; p < probe_set.probes.size(); p++) {
    const Probe& probe = probe_set.probes[p];
    if (run == runs.size() || runs[run].probe != p) {
      missing.push_back({p, std::nullopt, 0, "no file " + probe.topic + "_" + std::to_string(probe.ordinal) + ".jsonl"});
      continue;
    }
    run++;
    for (const std::uint32_t ordinal : order) {
      const std::uint64_t there = ordinal < survey.record_counts[p].size() ? survey.record_counts[p][ordinal] : 0;
      const std::uint64_t absent = survey.rows[p].row_count() - there;
      if (absent > 0) missing.push_back({p, survey.layers[ordinal].layer, absent, "no record of this layer"});
    }
  }
  return missing;
}

TraceManifest make_manifest(const Survey& survey, const std::vector<RunFile>& runs, const ProbeSet& probe_set, const ImportOptions& options) {
  TraceManifest manifest;
  manifest.model = options.model;
  manifest.engine_name = "reference-jsonl";
  manifest.probe_set = describe_probe_set(probe_set, options.with_texts);
  for (const std::uint32_t ordinal : ordinals_by_layer(survey)) manifest.layers.push_back(survey.layers[ordinal].layer);
  manifest.expert_count = survey.report.expert_count;
  manifest.expert_top_k = survey.report.expert_top_k;
  manifest.probes = trace_probes(probe_set);
  std::uint64_t row = 0;
  for (std::size_t p = 0; p < manifest.probes.size(); p++) {
    TraceProbe& probe = manifest.probes[p];
    const std::uint64_t row_count = survey.rows[p].row_count();
    probe.row_begin = row;
    probe.row_end = row += row_count;
    probe.token_count.at(static_cast<std::size_t>(Phase::unknown)) = row_count;
  }
  manifest.missing = missing_rows(survey, runs, probe_set);
  return manifest;
}

// The position of a row is the place of its (forward, row) among those of the run, so repeats share one.
TokenTable make_tokens(const Survey& survey) {
  TokenTable tokens;
  for (std::size_t p = 0; p < survey.rows.size(); p++) {
    const RunRows& rows = survey.rows[p];
    for (std::size_t key = 0; key < rows.keys.size(); key++)
      for (std::uint64_t row = rows.first_row[key]; row < rows.first_row[key + 1]; row++) tokens.position.push_back(static_cast<std::int32_t>(key));
    tokens.probe_index.resize(tokens.position.size(), static_cast<std::int32_t>(p));
  }
  tokens.phase.assign(tokens.position.size(), static_cast<std::uint8_t>(Phase::unknown));
  return tokens;
}

// --- Second pass ---------------------------------------------------------------------------------------------------------------------

std::vector<LayerFill> open_layers(const Survey& survey, const TraceWriter& writer) {
  std::vector<LayerFill> layers;  // [layer ordinal]
  const ImportReport& report = survey.report;
  for (const LayerFacts& layer : survey.layers) {
    const bool has_selected_count = layer.record_count < report.row_count || layer.least_selected < report.expert_top_k;
    layers.emplace_back(writer.layer_path(layer.layer),
                        LayerFill::Shape{report.row_count, report.expert_top_k, report.expert_count, has_selected_count});
  }
  return layers;
}

void fill_run(const RunFile& run, const TraceProbe& probe, const std::string& run_id, Progress& progress, Survey& survey,
              std::vector<LayerFill>& layers) {
  const RunRows& rows = survey.rows[run.probe];
  std::size_t last = 0;
  const auto visit = [&](const RouteRecord& record) -> std::optional<Problem> {
    const Problem changed{"", "a record that was not there when the file was read first", "a file that stays as it is during an import", ""};
    const auto layer = survey.ordinals.find(static_cast<std::uint32_t>(record.layer));
    const std::size_t key = rows.find(key_of(record), rows.keys[last] == key_of(record) ? last : last + 1);
    const bool fits = record.indices.size() <= survey.report.expert_top_k &&
                      std::all_of(record.indices.begin(), record.indices.end(), [&](double expert) { return expert < survey.report.expert_count; });
    if (layer == survey.ordinals.end() || key == rows.keys.size() || !fits) return changed;
    last = key;
    const std::uint64_t begin = probe.row_begin + rows.first_row[key], end = probe.row_begin + rows.first_row[key + 1];
    return layers[layer->second].put(begin, end, record.indices) ? std::nullopt : std::optional(changed);
  };
  read_run(run, run_id, progress, visit, [&] {
    for (const LayerFill& layer : layers) layer.release();
  });
}

void sort_repeats(const Survey& survey, const TraceManifest& manifest, std::vector<LayerFill>& layers) {
  for (std::size_t p = 0; p < survey.rows.size(); p++) {
    const RunRows& rows = survey.rows[p];
    for (std::size_t key = 0; key < rows.keys.size(); key++) {
      if (rows.first_row[key + 1] - rows.first_row[key] < 2) continue;
      const std::uint64_t row_begin = manifest.probes[p].row_begin;
      for (LayerFill& layer : layers) layer.sort_rows(row_begin + rows.first_row[key], row_begin + rows.first_row[key + 1]);
    }
  }
}

// The folder that the trace is built in, beside the name that it gets at the end; removed if it never gets there.
class BuildFolder {
 public:
  BuildFolder(fs::path out, bool replace) : out_(std::move(out)), partial_(out_) {
    partial_ += ".partial";
    is_there_ = fs::exists(out_) && !(fs::is_directory(out_) && fs::is_empty(out_));
    if (is_there_ && !replace)
      throw Error(Problem{out_.string(), "something with this name", "a new name", "an earlier run; remove it, or choose another --out"});
    if (is_there_) check_removable(out_);
    if (fs::exists(partial_)) remove_trace(partial_);  // of an import that was killed; an Error here leaves what is no trace alone
  }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
  }

  const fs::path& path() const { return partial_; }
  void publish() {
    sync_folder(partial_);
    if (is_there_) remove_trace(out_);
    std::error_code error;
    fs::rename(partial_, out_, error);
    if (error) throw Error(Problem{out_.string(), "cannot give the trace this name: " + error.message(), "", ""});
    sync_folder(fs::absolute(out_).parent_path());
  }

 private:
  fs::path out_;
  fs::path partial_;
  bool is_there_ = false;  // a trace at out_, to be replaced
};

}  // namespace

ImportReport import_reference_jsonl(const fs::path& folder, const ProbeSet& probe_set, const fs::path& out, const ImportOptions& options,
                                    const ImportProgress& callback) {
  BuildFolder build(out.has_filename() ? out : out.parent_path(), options.replace);
  const std::vector<RunFile> runs = find_run_files(folder, probe_set);
  std::uint64_t input_bytes = 0;
  for (const RunFile& run : runs) input_bytes += run.byte_count;
  Progress progress(callback, 2 * input_bytes);
  Survey survey = survey_runs(runs, probe_set, progress);
  check_size(survey, folder, input_bytes);

  const TraceManifest manifest = make_manifest(survey, runs, probe_set, options);
  const TraceWriter writer(build.path(), manifest, make_tokens(survey));
  std::vector<LayerFill> layers = open_layers(survey, writer);
  for (const RunFile& run : runs) fill_run(run, manifest.probes[run.probe], probe_set.probes[run.probe].run_id, progress, survey, layers);
  progress.report(0);
  sort_repeats(survey, manifest, layers);
  for (const LayerFill& layer : layers) layer.sync();
  build.publish();

  for (const MissingRows& missing : manifest.missing) {
    if (missing.layer) survey.report.missing_layer_rows += missing.row_count;
    else survey.report.missing_runs.push_back(probe_set.probes[missing.probe].run_id);
  }
  return survey.report;
}

}  // namespace atlas
