// See prefill.h.
#include "runtime/prefill.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>

namespace atlas {

namespace {

namespace fs = std::filesystem;

LayerRoutes to_routes(std::int64_t layer, const Routing& routing) {
  const at::Tensor ids = routing.expert_ids.to(at::kInt).contiguous();
  const at::Tensor weights = routing.router_weights.contiguous(), margin = routing.selection_margin.contiguous();
  const auto* first_id = ids.const_data_ptr<std::int32_t>();
  const auto* first_weight = weights.const_data_ptr<float>();
  const auto* first_margin = margin.const_data_ptr<float>();
  LayerRoutes routes;
  routes.layer = static_cast<std::uint32_t>(layer);
  routes.expert_ids.assign(first_id, first_id + ids.numel());
  routes.router_weights.assign(first_weight, first_weight + weights.numel());
  routes.selection_margin.assign(first_margin, first_margin + margin.numel());
  return routes;
}

// What goes from layer to layer. In the trace's folder under a name that TraceWriter takes for an unfinished file.
struct State {
  std::int64_t next_layer = 0;
  at::Tensor hidden;  // f32 [row_count, hidden_size]
};

fs::path state_path(const TraceWriter& writer) { return writer.layer_path(0).parent_path() / "hidden.partial-resume.safetensors"; }

std::string selection_name(std::size_t sequence) { return "selection." + std::to_string(sequence); }

TensorOut out_of(std::string name, Dtype dtype, const at::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {std::move(name), dtype, {tensor.sizes().begin(), tensor.sizes().end()}, {bytes, static_cast<std::size_t>(tensor.nbytes())}};
}

void keep_state(const TraceWriter& writer, const State& state, std::span<const Sequence> sequences) {
  std::vector<TensorOut> tensors{out_of("hidden", Dtype::f32, state.hidden)};
  for (std::size_t i = 0; i < sequences.size(); i++)
    if (sequences[i].selection.defined()) tensors.push_back(out_of(selection_name(i), Dtype::boolean, sequences[i].selection));
  write_safetensors(state_path(writer), std::move(tensors), {{"next_layer", std::to_string(state.next_layer)}});
}

at::Tensor copied(const TensorView& view, at::ScalarType type) {
  const std::vector<std::int64_t> shape(view.shape.begin(), view.shape.end());
  return at::from_blob(const_cast<std::byte*>(view.bytes.data()), shape, type).clone();
}

bool has_layers_before(const TraceWriter& writer, const Model& model, std::int64_t layer) {
  for (const std::uint32_t moe_layer : model.shape().moe_layers)
    if (static_cast<std::int64_t>(moe_layer) < layer && !writer.has_layer(moe_layer)) return false;
  return true;
}

// The state that an earlier capture kept, with the sequences' selections; at layer 0, without hidden states, where there is none.
State kept_state(const TraceWriter& writer, const Model& model, std::int64_t row_count, std::span<Sequence> sequences) {
  if (!fs::exists(state_path(writer))) return {};
  const SafetensorsFile file(state_path(writer));
  State state;
  const auto next = file.metadata().find("next_layer");
  if (next == file.metadata().end()) return {};
  state.next_layer = std::stoll(next->second);
  if (!has_layers_before(writer, model, state.next_layer)) return {};
  const std::vector<std::uint64_t> shape{static_cast<std::uint64_t>(row_count), static_cast<std::uint64_t>(model.shape().hidden_size)};
  state.hidden = copied(file.expect("hidden", Dtype::f32, shape), at::kFloat);
  for (std::size_t i = 0; i < sequences.size(); i++)
    if (const TensorView* selection = file.find(selection_name(i))) sequences[i].selection = copied(*selection, at::kBool);
  return state;
}

std::uint64_t bytes_of_layers(const Model& model, std::int64_t begin) {
  std::uint64_t bytes = 0;
  for (std::int64_t i = begin; i < model.shape().layer_count; i++) bytes += model.layer_bytes(i);
  return bytes;
}

at::Tensor embed(const Model& model, std::span<const std::int32_t> token_ids) {
  const auto count = static_cast<std::int64_t>(token_ids.size());
  return model.embed(at::from_blob(const_cast<std::int32_t*>(token_ids.data()), {count}, at::kInt).to(at::kLong));
}

}  // namespace

std::vector<Sequence> new_sequences(std::span<const std::int64_t> row_counts) {
  std::vector<Sequence> sequences(row_counts.size());
  std::int64_t row = 0;
  for (std::size_t i = 0; i < row_counts.size(); row += row_counts[i], i++) {
    sequences[i].row_begin = row;
    sequences[i].row_count = row_counts[i];
  }
  return sequences;
}

void prefill(const Model& model, std::span<const std::int32_t> token_ids, std::span<const std::int64_t> row_counts, TraceWriter& writer,
             const PrefillOptions& options, const ReportProgress& report) {
  using Clock = std::chrono::steady_clock;
  const c10::InferenceMode inference;
  std::vector<Sequence> sequences = new_sequences(row_counts);
  const bool complete = has_layers_before(writer, model, model.shape().layer_count);
  State state = complete ? State{model.shape().layer_count, {}} : kept_state(writer, model, static_cast<std::int64_t>(token_ids.size()), sequences);
  const std::uint64_t total_bytes = bytes_of_layers(model, state.next_layer);
  std::uint64_t done_bytes = 0;
  Clock::time_point kept = Clock::now();
  while (state.next_layer < model.shape().layer_count) {
    if (state.next_layer == 0) state.hidden = embed(model, token_ids);
    LayerOutput output = model.load_layer(state.next_layer)->run(state.hidden, sequences, options.step);
    if (output.routing && !writer.has_layer(static_cast<std::uint32_t>(state.next_layer)))
      writer.write_layer(to_routes(state.next_layer, *output.routing));
    state.hidden = std::move(output.hidden);
    done_bytes += model.layer_bytes(state.next_layer++);
    report("capture", done_bytes, total_bytes);
    const bool is_last = state.next_layer == model.shape().layer_count;
    if (is_last || std::chrono::duration<double>(Clock::now() - kept).count() < options.state_seconds) continue;
    keep_state(writer, state, sequences);
    kept = Clock::now();
  }
  fs::remove(state_path(writer));
}

}  // namespace atlas
