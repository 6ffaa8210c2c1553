// See capture.h.
#include "runtime/capture.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/generate.h"
#include "runtime/prefill.h"
#include "runtime/probe_tokens.h"

namespace atlas {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t hashed_weights_max_bytes = std::uint64_t{16} << 30;  // hashing more would double the reading

// generation_config.json says where answers end; config.json where there is none.
std::vector<std::int64_t> read_eos_token_ids(const fs::path& folder, const ModelShape& shape) {
  const fs::path file = folder / "generation_config.json";
  if (!fs::exists(file)) return shape.eos_token_ids;
  const Json config = read_json_file(file.string());
  const auto eos = config.find("eos_token_id");
  if (eos == config.end() || eos->is_null()) return shape.eos_token_ids;
  std::vector<std::int64_t> ids;
  for (const Json& id : eos->is_array() ? *eos : Json::array({*eos})) {
    const auto value = whole_number(id, static_cast<std::uint64_t>(shape.vocab_size) - 1);
    if (!value) throw Error(Problem{file.string() + ", eos_token_id", eos->dump(), "token ids below vocab_size", ""});
    ids.push_back(static_cast<std::int64_t>(*value));
  }
  return ids;
}

std::string model_name(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(folder);
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

// Torch's threads wait for each other by spinning. On matrices as small as the demo model's two threads gain little, and on a machine that is
// busy otherwise they lost much (a capture of 6 s took 200 s at a load of 8 on two cores).
int useful_thread_count(const Model& model) {
  constexpr std::uint64_t small_layer_bytes = std::uint64_t{32} << 20;
  std::uint64_t largest = 0;
  for (std::int64_t i = 0; i < model.shape().layer_count; i++) largest = std::max(largest, model.layer_bytes(i));
  return largest < small_layer_bytes ? 1 : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<std::int64_t> row_counts_of(const std::vector<ProbeTokens>& probes) {
  std::vector<std::int64_t> counts;
  for (const ProbeTokens& probe : probes) counts.push_back(static_cast<std::int64_t>(probe.row_count()));
  return counts;
}

}  // namespace

class Capture::Work {
 public:
  Work(CaptureOptions options, ProbeSet probe_set);
  const CapturePlan& plan() const { return plan_; }
  TraceManifest run(const ReportProgress& report);

 private:
  void tokenise();
  void make_plan();
  Json settings() const;
  TraceManifest manifest() const;
  TokenTable token_table() const;
  bool take_earlier_answers();
  void generate(const ReportProgress& report);

  CaptureOptions options_;
  ProbeSet probe_set_;
  Checkpoint checkpoint_;
  Tokenizer tokenizer_;
  std::unique_ptr<Model> model_;
  std::vector<std::int64_t> eos_token_ids_;
  std::vector<ProbeTokens> probes_;  // [probe]
  CapturePlan plan_;
};

Capture::Work::Work(CaptureOptions options, ProbeSet probe_set)
    : options_(std::move(options)), probe_set_(std::move(probe_set)), checkpoint_(options_.model_folder), tokenizer_(options_.model_folder),
      model_(open_model(checkpoint_)), eos_token_ids_(read_eos_token_ids(options_.model_folder, model_->shape())) {
  at::set_num_threads(options_.threads > 0 ? options_.threads : useful_thread_count(*model_));
  options_.use_chat_template = options_.use_chat_template && tokenizer_.has_chat_template();
  tokenise();
  make_plan();
}

void Capture::Work::tokenise() {
  std::vector<Problem> problems;
  for (const Probe& probe : probe_set_.probes) {
    const std::string where = "probe " + probe.id;
    if (!probe.images.empty()) problems.push_back({where, "pictures", "text alone", "this architecture is implemented for text"});
    ProbeTokens tokens = tokenise_prompt(tokenizer_, probe.prompt, options_.use_chat_template);
    if (probe.answer) append_answer(tokens, tokenizer_.encode(*probe.answer, /*add_special_tokens=*/false).ids);
    const std::size_t longest = tokens.token_ids.size() + (probe.answer ? 0 : static_cast<std::size_t>(options_.answer_tokens));
    if (tokens.token_ids.empty()) problems.push_back({where, "no token", "at least one", "a prompt that the tokenizer drops"});
    if (longest > static_cast<std::size_t>(model_->shape().max_position_embeddings))
      problems.push_back({where, std::to_string(longest) + " tokens",
                          "max_position_embeddings at most, " + std::to_string(model_->shape().max_position_embeddings), ""});
    const auto largest = std::max_element(tokens.token_ids.begin(), tokens.token_ids.end());
    if (largest != tokens.token_ids.end() && *largest >= model_->shape().vocab_size)
      problems.push_back({where, "token id " + std::to_string(*largest), "ids below vocab_size, " + std::to_string(model_->shape().vocab_size),
                          "the tokenizer of another model"});
    probes_.push_back(std::move(tokens));
  }
  throw_if_any(std::move(problems));
}

void Capture::Work::make_plan() {
  const ModelShape& shape = model_->shape();
  plan_.model_type = shape.model_type;
  plan_.probe_count = probes_.size();
  plan_.layer_count = static_cast<std::uint64_t>(shape.layer_count);
  plan_.uses_chat_template = options_.use_chat_template;
  std::uint64_t token_count = 0, layer_bytes = 0, widest_layer_bytes = 0;
  for (std::size_t i = 0; i < probes_.size(); i++) {
    const bool generated = options_.answer_tokens > 0 && !probe_set_.probes[i].answer;
    const std::uint64_t tokens = probes_[i].token_ids.size() + (generated ? static_cast<std::uint64_t>(options_.answer_tokens) : 0);
    plan_.generated_count += generated ? 1 : 0;
    plan_.prompt_token_count += probes_[i].prompt_token_count;
    plan_.longest_token_count = std::max(plan_.longest_token_count, tokens);
    token_count += tokens;
    if (probes_[i].unknown_reason.empty()) continue;
    if (plan_.unknown_phase_count++ == 0) plan_.unknown_reason = "probe " + probe_set_.probes[i].id + ": " + probes_[i].unknown_reason;
  }
  for (std::int64_t i = 0; i < shape.layer_count; i++) {
    layer_bytes += model_->layer_bytes(i);
    widest_layer_bytes = std::max(widest_layer_bytes, model_->layer_bytes(i));
  }
  plan_.pass_count = 1 + (plan_.generated_count > 0 ? static_cast<std::uint64_t>(options_.answer_tokens) : 0);
  plan_.bytes_to_read = plan_.pass_count * layer_bytes;
  // Hidden states in, after attention, normed, of the experts and of a block of them; the layer; scores and the copies made of them.
  const std::uint64_t hidden_bytes = token_count * static_cast<std::uint64_t>(shape.hidden_size) * sizeof(float);
  plan_.memory_bytes = 5 * hidden_bytes + widest_layer_bytes + 4 * static_cast<std::uint64_t>(options_.prefill.step.score_bytes) +
                       (plan_.generated_count > 0 ? token_count * shape.cache_bytes_per_token : 0);
}

// Everything beside model and probes that decides the routes.
Json Capture::Work::settings() const {
  Json settings{{"device", "cpu"}, {"compute_dtype", "float32"}, {"weights_dtype", checkpoint_.disk_dtypes()}, {"torch", TORCH_VERSION}};
  settings["tokenizer_sha256"] = tokenizer_.tokenizer_sha256();
  settings["chat_template_sha256"] = options_.use_chat_template ? Json(tokenizer_.chat_template_sha256()) : Json(nullptr);
  if (options_.use_chat_template) settings["template_arguments"] = chat_template_arguments();
  if (options_.answer_tokens > 0)
    settings["decoding"] = {{"method", "greedy"}, {"answer_tokens", options_.answer_tokens}, {"eos_token_ids", eos_token_ids_}};
  Json unknown = Json::array();
  for (std::size_t i = 0; i < probes_.size(); i++)
    if (!probes_[i].unknown_reason.empty()) unknown.push_back({{"probe", probe_set_.probes[i].id}, {"reason", probes_[i].unknown_reason}});
  if (!unknown.empty()) settings["unknown_phases"] = unknown;
  return settings;
}

TraceManifest Capture::Work::manifest() const {
  const ModelShape& shape = model_->shape();
  TraceManifest manifest;
  manifest.model = {model_name(options_.model_folder), checkpoint_.config_sha256(), checkpoint_.weights_sha256(hashed_weights_max_bytes), "none"};
  manifest.engine_name = "expert-atlas";
  manifest.engine_version = options_.engine_version;
  manifest.settings = settings();
  manifest.probe_set = describe_probe_set(probe_set_, options_.with_texts);
  manifest.layers = shape.moe_layers;
  manifest.expert_count = shape.expert_count;
  manifest.expert_top_k = shape.expert_top_k;
  manifest.has_router_weights = true;
  manifest.ordered_by_weight = true;
  manifest.probes = trace_probes(probe_set_);
  std::uint64_t row = 0;
  for (std::size_t i = 0; i < probes_.size(); i++) {
    TraceProbe& probe = manifest.probes[i];
    probe.row_begin = row;
    probe.row_end = row += probes_[i].row_count();
    for (std::size_t t = 0; t < probes_[i].row_count(); t++) probe.token_count[static_cast<std::size_t>(probes_[i].phases[t])]++;
  }
  return manifest;
}

TokenTable Capture::Work::token_table() const {
  TokenTable tokens;
  for (std::size_t i = 0; i < probes_.size(); i++) {
    for (std::size_t t = 0; t < probes_[i].row_count(); t++) {
      tokens.probe_index.push_back(static_cast<std::int32_t>(i));
      tokens.position.push_back(static_cast<std::int32_t>(t));
      tokens.phase.push_back(static_cast<std::uint8_t>(probes_[i].phases[t]));
      tokens.token_ids.push_back(probes_[i].token_ids[t]);
    }
  }
  return tokens;
}

// An interrupted capture has its generated answers in its token table (all but each answer's last token, which is never fed) and in its
// texts: to generate them again would cost many passes. False if there is no such capture; whether it is the same is for TraceWriter to say.
bool Capture::Work::take_earlier_answers() {
  const fs::path file = options_.out / "manifest.json";
  if (options_.existing != Existing::resume || !fs::exists(file)) return false;
  const TraceManifest earlier = manifest_from_json(read_json_file(file.string()), file.string());
  const bool same_probes = earlier.probes.size() == probes_.size() && earlier.settings == settings() &&
                           earlier.model.config_sha256 == checkpoint_.config_sha256() && earlier.probe_set.value("sha256", "") == probe_set_.sha256;
  if (!same_probes)
    throw Error(
        Problem{options_.out.string(), "a trace of another model, probe set or settings", "the same capture, to go on with it", "other options"});
  const SafetensorsFile table(options_.out / "tokens.safetensors");
  const auto ids = elements<std::int32_t>(table.expect("token_ids", Dtype::i32, {earlier.row_count()}), table.path().string());
  const ProbeTexts texts = texts_of(earlier);
  for (std::size_t i = 0; i < probes_.size(); i++) {
    if (probe_set_.probes[i].answer) continue;
    const auto rows = ids.subspan(earlier.probes[i].row_begin, earlier.probes[i].row_end - earlier.probes[i].row_begin);
    if (rows.size() < probes_[i].prompt_token_count)
      throw Error(Problem{table.path().string(), "fewer rows than tokens of the prompt", "the rows of this capture", "a damaged file"});
    std::vector<std::int32_t> answer(rows.begin() + static_cast<std::ptrdiff_t>(probes_[i].prompt_token_count), rows.end());
    answer.push_back(0);  // in the place of the last token, which has no row
    append_answer(probes_[i], answer);
    if (!texts.answers.empty()) probe_set_.probes[i].answer = texts.answers[i];
  }
  return true;
}

void Capture::Work::generate(const ReportProgress& report) {
  std::vector<std::size_t> asked;  // probes without an answer of their own
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::size_t i = 0; i < probes_.size(); i++) {
    if (probe_set_.probes[i].answer) continue;
    asked.push_back(i);
    prompts.push_back(probes_[i].token_ids);
  }
  const GenerateOptions options{options_.prefill.step, options_.answer_tokens, eos_token_ids_};
  const std::vector<std::vector<std::int32_t>> answers = generate_answers(*model_, prompts, options, report);
  for (std::size_t i = 0; i < asked.size(); i++) {
    append_answer(probes_[asked[i]], answers[i]);
    probe_set_.probes[asked[i]].answer = tokenizer_.decode(answers[i], /*skip_special_tokens=*/true);
  }
}

TraceManifest Capture::Work::run(const ReportProgress& report) {
  if (options_.existing == Existing::refuse && fs::exists(options_.out) && !fs::is_empty(options_.out))
    throw Error(Problem{options_.out.string(), "something with this name", "a new name",
                        "an earlier capture: --resume goes on with it, --replace replaces it"});
  if (options_.answer_tokens > 0 && !take_earlier_answers()) generate(report);
  const TokenTable tokens = token_table();
  TraceWriter writer(options_.out, manifest(), tokens, options_.existing);
  prefill(*model_, tokens.token_ids, row_counts_of(probes_), writer, options_.prefill, report);
  return writer.manifest();
}

Capture::Capture(CaptureOptions options, ProbeSet probe_set) : work_(std::make_unique<Work>(std::move(options), std::move(probe_set))) {}
Capture::~Capture() = default;
const CapturePlan& Capture::plan() const { return work_->plan(); }
TraceManifest Capture::run(const ReportProgress& report) { return work_->run(report); }

}  // namespace atlas
