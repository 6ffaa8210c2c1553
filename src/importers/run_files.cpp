// See run_files.h.
#include "importers/run_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mapped_file.h"

namespace atlas {

namespace {

namespace fs = std::filesystem;

bool is_blank_file(const MappedFile& file) { return file.text().find_first_not_of(" \t\r\n") == std::string_view::npos; }

// The run index in `digits`: a whole number up to 2^53 - 1 as the reference writes it, without a sign or leading zeros.
bool is_run_index(const std::string& digits) {
  if (digits.empty() || digits.size() > 16 || (digits.size() > 1 && digits[0] == '0')) return false;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  return static_cast<double>(std::stoull(digits)) <= max_safe_integer;
}

struct FileFaults {
  std::vector<Problem> of_runs;     // names and empty files: the reference meets these when it builds a run
  std::vector<Problem> unexpected;  // runs that the probe set lacks: met later, by the atlas
  ErrorKind kind = ErrorKind::invalid;

  void add(Problem problem, ErrorKind its_kind = ErrorKind::invalid) {
    if (of_runs.empty()) kind = its_kind;
    of_runs.push_back(std::move(problem));
  }
  void throw_if_any() {
    of_runs.insert(of_runs.end(), std::make_move_iterator(unexpected.begin()), std::make_move_iterator(unexpected.end()));
    if (!of_runs.empty()) throw Error(std::move(of_runs), kind);
  }
};

std::optional<RunFile> read_name(const fs::path& path, const std::unordered_map<std::string, std::uint32_t>& probe_by_run, FileFaults& faults) {
  const std::string stem = path.stem().string(), form = "<topic>_<index>.jsonl";
  const std::size_t mark = stem.rfind('_');
  const std::string topic = stem.substr(0, mark), index = mark == std::string::npos ? "" : stem.substr(mark + 1);
  if (mark == std::string::npos || !is_topic_name(topic)) {
    faults.add({path.string(), mark == std::string::npos ? "a name without _" : "the topic name '" + topic + "'",
                form + " with a topic of lower-case letters, digits and _, not starting with _", "a file of another kind"});
    return std::nullopt;
  }
  if (!is_run_index(index)) {
    faults.add({path.string(), "the index '" + index + "'", form + " with a whole number as index, without leading zeros", ""},
               ErrorKind::out_of_range);
    return std::nullopt;
  }
  const MappedFile file(path);
  if (is_blank_file(file)) faults.add({path.string(), "no route records", "at least one", "the capture of this run failed"});
  const auto probe = probe_by_run.find(topic + ":" + index);
  if (probe == probe_by_run.end()) {
    faults.unexpected.push_back({path.string(), "the run " + topic + ":" + index, "a run of the probe set", "another probe set"});
    return std::nullopt;
  }
  return RunFile{path, probe->second, file.bytes().size()};
}

std::vector<fs::path> route_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
  if (error) throw Error(Problem{folder.string(), "cannot read it: " + error.message(), "a folder with files <topic>_<index>.jsonl", ""});
  if (paths.empty()) throw Error(Problem{folder.string(), "no file *.jsonl", "files <topic>_<index>.jsonl, one a run", "another folder was named"});
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::vector<RunFile> find_run_files(const fs::path& folder, const ProbeSet& probe_set) {
  std::unordered_map<std::string, std::uint32_t> probe_by_run;
  for (std::size_t p = 0; p < probe_set.probes.size(); p++) probe_by_run[probe_set.probes[p].run_id] = static_cast<std::uint32_t>(p);
  std::vector<RunFile> runs;
  FileFaults faults;
  for (const fs::path& path : route_files(folder)) {
    try {
      if (auto run = read_name(path, probe_by_run, faults)) runs.push_back(std::move(*run));
    } catch (const Error& error) {
      for (const Problem& problem : error.problems()) faults.add(problem);
    }
  }
  faults.throw_if_any();
  std::sort(runs.begin(), runs.end(), [](const RunFile& left, const RunFile& right) { return left.probe < right.probe; });
  return runs;
}

}  // namespace atlas
