// `expert-atlas build X.trace|X.counts --out atlas.json`
#include <fmt/format.h>

#include <optional>

#include "atlas/atlas.h"
#include "atlas/reference_json.h"
#include "atlas/show.h"
#include "base/mapped_file.h"
#include "cli/command.h"

namespace atlas::cli {

namespace {

struct Options {
  std::string input, out, reference_out;
  ReferenceOptions reference;
  EvidenceOptions evidence;
  bool no_text = false;
};

// What the reference document's own functions would have returned, as one object.
void write_reference(const std::string& path, const Atlas& atlas) {
  const Json json{{"runs", reference_runs_json(reference_runs(atlas.counts))},
                  {"atlas", reference_atlas_json(atlas.reference)},
                  {"validation", reference_validation_json(atlas.validation)},
                  {"webExperts", reference_web_experts_json(atlas.reference)}};
  write_file(path, json.dump() + "\n");
}

void build(const Options& options, const Console& console) {
  std::optional<Trace> trace;
  if (std::filesystem::is_directory(options.input)) trace.emplace(options.input);
  Counts counts = trace ? count(*trace) : read_counts(options.input);
  Steps steps(console);
  Atlas atlas = build_atlas(std::move(counts), trace ? &*trace : nullptr, options.reference, options.evidence,
                            [&](const std::string& what) { steps.begin(what); });
  steps.end();
  if (options.no_text) leave_out_texts(atlas);
  if (!options.reference_out.empty()) write_reference(options.reference_out, atlas);
  write_atlas(options.out, atlas);
  if (sets_are_whole_lists(atlas)) {
    console.note(fmt::format("note: {} experts were seen and --top-k is {}: topic sets become nearly whole lists and say little; try --top-k {}",
                             atlas.counts.experts.size(), atlas.validation.top_k, suggested_top_k(atlas)));
  }
  console.result(summary_text(atlas) + fmt::format("Written to {}\n", options.out), summary_json(atlas));
}

}  // namespace

void add_build(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("build", "Build the atlas: affinities, specialisation, and the test on held-out prompts");
  command->footer("Example: expert-atlas build my.trace --out atlas.json --top-k 20");
  auto options = std::make_shared<Options>();
  command->add_option("INPUT", options->input, "a trace (folder) or a counts file")->required();
  command->add_option("-o,--out", options->out, "the atlas file to write")->required();
  command->add_option("--min-count", options->reference.min_count, "floor: selections that an expert must reach")->capture_default_str();
  command->add_option("--min-runs", options->reference.min_runs, "floor: prompts of its top topic in which it must fire")->capture_default_str();
  command->add_option("--strong", options->reference.strong_threshold, "specialisation from which an expert is strong")->capture_default_str();
  command->add_option("--top-k", options->reference.top_k, "experts in a topic's set, for the test on held-out prompts")->capture_default_str();
  command->add_option("--permutations", options->evidence.permutations, "relabelings of the null; 0 switches it off")->capture_default_str();
  command->add_option("--set-permutations", options->evidence.set_permutations, "of them for the test by sets, which costs far more")
      ->capture_default_str();
  command->add_option("--control-permutations", options->evidence.control_permutations, "of them for the controls")->capture_default_str();
  command->add_option("--bootstrap", options->evidence.bootstrap, "resamples for the experts' intervals; 0 switches them off")->capture_default_str();
  command->add_option("--pairings", options->evidence.pairings, "random ways of forming the folds, averaged over")->capture_default_str();
  command->add_option("--seed", options->evidence.seed, "of every random step")->capture_default_str();
  command->add_option("--reference-out", options->reference_out, "also write the reference document's objects (runs, atlas, validation, webExperts)");
  command->add_flag("--no-text", options->no_text, "leave prompts and answers out of the atlas");
  command->callback([options, &console] { build(*options, console); });
}

}  // namespace atlas::cli
