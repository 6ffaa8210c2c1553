// `expert-atlas count X.trace --out X.counts` and `expert-atlas merge A.counts B.counts --out C.counts`
#include <fmt/format.h>

#include "cli/command.h"
#include "trace/counts.h"

namespace atlas::cli {

static void report(const Counts& counts, const std::string& out, const Console& console) {
  std::uint64_t selections = 0;
  for (const std::uint32_t count : counts.selections) selections += count;
  Json phases = Json::array();
  for (const Phase phase : counts.phases) phases.push_back(phase_names.at(static_cast<std::size_t>(phase)));
  console.result(fmt::format("{}: {} probes, {} experts seen in {} layers, {} selections\n", out, counts.probe_count(), counts.experts.size(),
                             counts.manifest.layers.size(), count_text(selections)),
                 {{"out", out},
                  {"probes", counts.probe_count()},
                  {"experts_seen", counts.experts.size()},
                  {"phases", phases},
                  {"selections", selections}});
}

void add_count(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("count", "Count a trace: selections of each expert by probe and phase");
  command->footer("Example: expert-atlas count my.trace --out my.counts");
  struct Options {
    std::string trace, out;
  };
  auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->trace, "the folder NAME.trace")->required();
  command->add_option("-o,--out", options->out, "the counts file to write")->required();
  command->callback([options, &console] {
    const Counts counts = count(Trace(options->trace));
    write_counts(options->out, counts);
    report(counts, options->out, console);
  });
}

void add_merge(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("merge", "Join counts of disjoint probes, so that a large capture can be counted in parts");
  command->footer("Example: expert-atlas merge part1.counts part2.counts --out all.counts");
  struct Options {
    std::vector<std::string> parts;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  command->add_option("COUNTS", options->parts, "the counts files to join; with different probe sets, probes keep this order")->required();
  command->add_option("-o,--out", options->out, "the counts file to write")->required();
  command->callback([options, &console] {
    std::vector<Counts> parts;
    for (const std::string& path : options->parts) parts.push_back(read_counts(path));
    const Counts merged = merge(parts);
    write_counts(options->out, merged);
    report(merged, options->out, console);
  });
}

}  // namespace atlas::cli
