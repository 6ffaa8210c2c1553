// `expert-atlas import --from NAME --probes FILE --out X.trace INPUT`: routes of other engines, as a trace.
#include <fmt/format.h>

#include "cli/command.h"
#include "importers/reference_jsonl.h"

namespace atlas::cli {

namespace {

struct Options {
  std::string from, probes, input, out, model_name;
  bool no_text = false;
  bool replace = false;
};

std::string joined_start(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 5;
  const std::vector<std::string> start(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_shown)));
  return fmt::format("{}{}", fmt::join(start, ", "), names.size() > most_shown ? ", ..." : "");
}

void import(const Options& options, const Console& console) {
  Progress progress(console, "importing", "bytes");
  const ImportOptions import_options{{options.model_name, "", "", ""}, !options.no_text, options.replace};
  const ImportReport report = import_reference_jsonl(options.input, read_probe_set(options.probes), options.out, import_options,
                                                     [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
  std::string text =
      fmt::format("{}: {} runs, {} rows, {} layers, {} selections; {} experts a layer, at most {} a token\n", options.out, report.file_count,
                  report.row_count, report.layer_count, count_text(report.selection_count), report.expert_count, report.expert_top_k);
  if (report.repeated_count > 0) text += fmt::format("{} records repeat a row of their layer; each has a row of its own\n", report.repeated_count);
  if (report.missing_layer_rows > 0) text += fmt::format("{} rows are missing in some layer\n", report.missing_layer_rows);
  if (!report.missing_runs.empty())
    text += fmt::format("{} prompts have no run: {}\n", report.missing_runs.size(), joined_start(report.missing_runs));
  console.result(text, {{"out", options.out},
                        {"runs", report.file_count},
                        {"records", report.record_count},
                        {"repeated", report.repeated_count},
                        {"rows", report.row_count},
                        {"layers", report.layer_count},
                        {"selections", report.selection_count},
                        {"expert_count", report.expert_count},
                        {"expert_top_k", report.expert_top_k},
                        {"missing_runs", report.missing_runs},
                        {"missing_layer_rows", report.missing_layer_rows}});
}

}  // namespace

void add_import(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("import", "Make a trace of routes that another engine recorded");
  command->footer(
      "reference-jsonl: a folder with one <topic>_<index>.jsonl for each prompt, records\n"
      "  {\"segment\":\"topic:index\",\"forward\":0,\"row\":0,\"layer\":3,\"indices\":[5,4]}\n"
      "Example: expert-atlas import --from reference-jsonl --probes probes.json --out my.trace routes/");
  auto options = std::make_shared<Options>();
  command->add_option("--from", options->from, "what INPUT is: reference-jsonl")->required()->check(CLI::IsMember({"reference-jsonl"}));
  command->add_option("--probes", options->probes, "the probe set whose prompts were run")->required();
  command->add_option("-o,--out", options->out, "the trace to write, a folder")->required();
  command->add_option("INPUT", options->input, "the folder of route files")->required();
  command->add_option("--model-name", options->model_name, "the model's name, for the manifest");
  command->add_flag("--no-text", options->no_text, "leave prompts and answers out of the trace");
  command->add_flag("--replace", options->replace, "replace a trace of this name");
  command->callback([options, &console] { import(*options, console); });
}

}  // namespace atlas::cli
