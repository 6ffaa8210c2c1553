// Which file of a folder holds which run: `<topic>_<index>.jsonl`, the index being what follows the last underscore. Read by the import of
// reference JSONL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "probes/probe_set.h"

namespace atlas {

struct RunFile {
  std::filesystem::path path;
  std::uint32_t probe = 0;  // index into the probe set
  std::uint64_t byte_count = 0;
};

// The folder's *.jsonl files in the order of their probes; other files are passed over. Throws Error that lists every file that is no run: names
// of another form and files without a record first, then runs that the probe set lacks, as the reference meets them. A run without a
// file is no error here.
std::vector<RunFile> find_run_files(const std::filesystem::path& folder, const ProbeSet& probe_set);

}  // namespace atlas
