// Imports the reference document's route traces: a folder with one `<topic>_<index>.jsonl` a run. Ends in a trace folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "probes/probe_set.h"
#include "trace/trace.h"

namespace atlas {

struct ImportOptions {
  TraceModel model;        // the records say nothing of the model
  bool with_texts = true;  // keep the probes' texts in the manifest
  bool replace = false;    // put the new trace in the place of an old one
};

struct ImportReport {
  std::uint64_t file_count = 0;
  std::uint64_t record_count = 0;
  std::uint64_t repeated_count = 0;  // records whose (forward, row, layer) was there before; they have rows of their own
  std::uint64_t row_count = 0;
  std::uint64_t selection_count = 0;
  std::uint32_t layer_count = 0;
  std::uint32_t expert_count = 0;
  std::uint32_t expert_top_k = 0;
  std::vector<std::string> missing_runs;  // run ids of the probe set without a file
  std::uint64_t missing_layer_rows = 0;   // rows that some layer lacks, summed over layers, missing runs apart
};

using ImportProgress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

// A row of the trace for each (forward, row) of a run, sorted by them, and one more for each time a layer repeats it. The result is the same
// bytes whatever the order of files and records. `out` appears when all is done; on an Error it does not, and what was there stays.
// Memory grows with tokens and probes; the files may be larger than memory, each is read twice.
// Throws Error: every file that is no run of the probe set or has no records; else the first fault of every file, with its line.
ImportReport import_reference_jsonl(const std::filesystem::path& folder, const ProbeSet& probe_set, const std::filesystem::path& out,
                                    const ImportOptions& options = {}, const ImportProgress& progress = {});

}  // namespace atlas
