// `expert-atlas capture --model DIR --probes FILE --out X.trace`: our own runtime's routes, as a trace.
#include "runtime/capture.h"

#include <fmt/format.h>

#include <optional>

#include "base/parallel.h"
#include "base/version.h"
#include "cli/command.h"

namespace atlas::cli {

namespace {

struct Options {
  std::string model, probes, out, topic_axis;
  std::uint32_t answer_tokens = 0;
  bool no_template = false, no_text = false, resume = false, replace = false;
};

std::string plan_text(const CapturePlan& plan, const std::string& model) {
  std::string text =
      fmt::format("{}: {}, {} layers. {} probes, {} prompt tokens, {}. The longest has {} tokens.\n", model, plan.model_type, plan.layer_count,
                  plan.probe_count, count_text(plan.prompt_token_count),
                  plan.uses_chat_template ? "with the chat template" : "without a chat template", count_text(plan.longest_token_count));
  text += fmt::format("Reads {} of weights in {} pass{}", bytes_text(plan.bytes_to_read), plan.pass_count, plan.pass_count == 1 ? "" : "es");
  if (plan.generated_count > 0) text += fmt::format(" ({} answers are generated first, at most one pass a token)", plan.generated_count);
  text += fmt::format(", needs about {} of memory.", bytes_text(plan.memory_bytes));
  if (plan.unknown_phase_count > 0)
    text += fmt::format("\nTemplate and prompt cannot be told apart in {} probes, their phase is unknown ({}).", plan.unknown_phase_count,
                        plan.unknown_reason);
  return text;
}

void capture(const Options& options, int threads, const Console& console) {
  CaptureOptions capture_options;
  capture_options.model_folder = options.model;
  capture_options.out = options.out;
  capture_options.existing = options.resume ? Existing::resume : options.replace ? Existing::replace : Existing::refuse;
  capture_options.answer_tokens = options.answer_tokens;
  capture_options.use_chat_template = !options.no_template;
  capture_options.with_texts = !options.no_text;
  capture_options.engine_version = version;
  capture_options.threads = threads;
  ProbeSet probe_set = read_probe_set(options.probes);
  if (!options.topic_axis.empty()) probe_set = with_topic_axis(std::move(probe_set), options.topic_axis);

  Capture run(std::move(capture_options), std::move(probe_set));
  console.note(plan_text(run.plan(), options.model));
  std::string stage;
  std::optional<Progress> progress;
  const TraceManifest manifest = run.run([&](const char* now, std::uint64_t done, std::uint64_t total) {
    if (stage != now) progress.emplace(console, now, "bytes"), stage = now;
    progress->update(done, total);
  });
  progress.reset();

  std::string text = fmt::format("{}: {} probes, {} rows, {} layers, {} experts a layer, {} a token", options.out, manifest.probes.size(),
                                 manifest.row_count(), manifest.layers.size(), manifest.expert_count, manifest.expert_top_k);
  Json rows_by_phase = Json::object();
  for (std::size_t phase = 0; phase < phase_count; phase++) {
    std::uint64_t rows = 0;
    for (const TraceProbe& probe : manifest.probes) rows += probe.token_count[phase];
    rows_by_phase[phase_names[phase]] = rows;
    if (rows > 0) text += fmt::format("; {} {}", count_text(rows), phase_names[phase]);
  }
  console.result(text + "\n", {{"out", options.out},
                               {"probes", manifest.probes.size()},
                               {"rows", manifest.row_count()},
                               {"rows_by_phase", rows_by_phase},
                               {"layers", manifest.layers.size()},
                               {"expert_count", manifest.expert_count},
                               {"expert_top_k", manifest.expert_top_k}});
}

}  // namespace

void add_capture(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("capture", "Run a probe set through a model and record every routing decision");
  command->footer(
      "The model is a folder with config.json, safetensors and tokenizer.json (glm_moe_dsa: GLM-5, 5.1, 5.2).\n"
      "Each layer's weights are read once for the whole probe set. An interrupted capture goes on with --resume.\n"
      "Example: expert-atlas capture --model demo/model --probes probes/starter.json --answer-tokens 16 --out demo.trace");
  auto options = std::make_shared<Options>();
  command->add_option("--model", options->model, "the model's folder")->required();
  command->add_option("--probes", options->probes, "the probe set")->required();
  command->add_option("-o,--out", options->out, "the trace to write, a folder")->required();
  command
      ->add_option("--answer-tokens", options->answer_tokens,
                   "generate answers of up to this many tokens (greedy) for probes without one, and capture them, too")
      ->check(CLI::Range(0U, 1'000'000U));
  command->add_option("--topic-axis", options->topic_axis, "take topics from this label of the probes (version 2)");
  command->add_flag("--no-template", options->no_template, "give the prompt as it is, without the model's chat template");
  command->add_flag("--no-text", options->no_text, "leave prompts and answers out of the trace");
  CLI::Option* resume = command->add_flag("--resume", options->resume, "go on with an interrupted capture of the same name");
  command->add_flag("--replace", options->replace, "replace a trace of this name")->excludes(resume);
  // Without --threads the runtime chooses: a small model runs best on one.
  const CLI::Option* threads = app.get_option_no_throw("--threads");
  command->callback([options, threads, &console] {
    const bool given = threads != nullptr && threads->count() > 0;
    capture(*options, given ? static_cast<int>(thread_count()) : 0, console);
  });
}

}  // namespace atlas::cli
