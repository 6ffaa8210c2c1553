// See checkpoint.h.
#include "runtime/checkpoint.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "base/sha256.h"

namespace atlas {

namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "model.safetensors.index.json";
constexpr const char* likely_incomplete = "an incomplete download";

// Tensor name -> file name, as the index says; empty without an index.
std::map<std::string, std::string> read_index(const fs::path& folder) {
  if (!fs::exists(folder / index_name)) return {};
  const std::string where = (folder / index_name).string();
  const Json index = read_json_file(where);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) throw Error(Problem{where, "no object weight_map", "tensor names and their files", ""});
  std::map<std::string, std::string> file_of;
  for (const auto& [tensor, file] : map->items()) {
    const bool is_name = file.is_string() && fs::path(file.get<std::string>()).filename() == file.get<std::string>();
    if (!is_name) throw Error(Problem{where + ", weight_map." + tensor, file.dump(), "the name of a file in the folder", ""});
    file_of[tensor] = file.get<std::string>();
  }
  return file_of;
}

std::set<std::string> weight_file_names(const fs::path& folder, const std::map<std::string, std::string>& index) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  if (!index.empty()) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model") && name.ends_with(".safetensors")) names.insert(name);
  }
  return names;
}

at::ScalarType scalar_type(Dtype dtype) {
  if (dtype == Dtype::f32) return at::kFloat;
  if (dtype == Dtype::bf16) return at::kBFloat16;
  assert(dtype == Dtype::f16);
  return at::kHalf;
}

bool is_weight_dtype(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16; }

}  // namespace

Checkpoint::Checkpoint(fs::path folder) : folder_(std::move(folder)) {
  if (!fs::is_directory(folder_)) throw Error(Problem{folder_.string(), "no folder", "a model folder with config.json", "another path"});
  config_ = read_json_file(config_path());
  const std::map<std::string, std::string> index = read_index(folder_);
  const std::set<std::string> names = weight_file_names(folder_, index);
  std::vector<Problem> problems;
  if (names.empty()) problems.push_back({folder_.string(), "no model*.safetensors", "the model's weights", likely_incomplete});
  for (const std::string& name : names)
    if (!fs::exists(folder_ / name))
      problems.push_back({(folder_ / name).string(), "no file", "the weights that " + std::string(index_name) + " names", likely_incomplete});
  throw_if_any(std::move(problems));
  for (const std::string& name : names) files_.emplace_back(folder_ / name);
  for (const SafetensorsFile& file : files_) {
    for (const auto& [name, tensor] : file.tensors()) {
      const auto named = index.find(name);
      const bool elsewhere = !index.empty() && named != index.end() && named->second != file.path().filename();
      if (elsewhere)
        problems.push_back({file.path().string() + ", " + name, "a tensor that the index places in " + named->second, "each tensor in its file", ""});
      if (!tensors_.emplace(name, &tensor).second)
        problems.push_back({file.path().string() + ", " + name, "a tensor that another file has, too", "each tensor once", ""});
    }
  }
  for (const auto& [name, file] : index)
    if (!tensors_.contains(name))
      problems.push_back({(folder_ / file).string(), "no tensor " + name, "the tensors that the index names", likely_incomplete});
  throw_if_any(std::move(problems));
}

const TensorView& Checkpoint::view(const std::string& name) const {
  const auto found = tensors_.find(name);
  assert(found != tensors_.end());  // check() was called first
  return *found->second;
}

at::Tensor Checkpoint::tensor(const std::string& name) const {
  const TensorView& on_disk = view(name);
  const std::vector<std::int64_t> shape(on_disk.shape.begin(), on_disk.shape.end());
  void* bytes = const_cast<std::byte*>(on_disk.bytes.data());  // torch has no tensor over constant memory
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes) % dtype_bytes(on_disk.dtype) == 0;
  if (aligned) return at::from_blob(bytes, shape, scalar_type(on_disk.dtype));
  const auto byte_count = static_cast<std::int64_t>(on_disk.bytes.size());
  return at::from_blob(bytes, {byte_count}, at::kByte).clone().view(scalar_type(on_disk.dtype)).view(shape);
}

at::Tensor Checkpoint::tensor_f32(const std::string& name) const { return tensor(name).to(at::kFloat); }

void Checkpoint::check(const std::vector<TensorSpec>& expected, const std::function<bool(const std::string&)>& is_ignored) const {
  std::vector<Problem> problems;
  std::set<std::string> known;
  for (const TensorSpec& spec : expected) {
    known.insert(spec.name);
    const auto found = tensors_.find(spec.name);
    const std::string where = folder_.string() + ", " + spec.name;
    if (found == tensors_.end()) {
      problems.push_back(
          {where, "missing", "a tensor of shape " + shape_text(spec.shape), "an incomplete download, or config.json of another model"});
      continue;
    }
    const TensorView& tensor = *found->second;
    if (tensor.shape != spec.shape)
      problems.push_back({where, "shape " + shape_text(tensor.shape), shape_text(spec.shape), "config.json of another model"});
    if (!is_weight_dtype(tensor.dtype))
      problems.push_back(
          {where, std::string("dtype ") + dtype_name(tensor.dtype), "F32, BF16 or F16", "a quantised model, which is not implemented"});
  }
  for (const auto& [name, tensor] : tensors_)
    if (!known.contains(name) && !is_ignored(name))
      problems.push_back({folder_.string() + ", " + name, "a tensor of shape " + shape_text(tensor->shape), "no such tensor",
                          "config.json of another model, or a part that is not implemented"});
  throw_if_any(std::move(problems));
}

std::uint64_t Checkpoint::tensor_bytes(const std::string& prefix) const {
  std::uint64_t sum = 0;
  for (auto it = tensors_.lower_bound(prefix); it != tensors_.end() && it->first.starts_with(prefix); ++it) sum += it->second->bytes.size();
  return sum;
}

std::string Checkpoint::disk_dtypes() const {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.insert(dtype_name(tensor->dtype));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string Checkpoint::config_sha256() const { return sha256_hex(MappedFile(config_path()).text()); }

std::string Checkpoint::weights_sha256(std::uint64_t limit_bytes) const {
  std::uint64_t total = 0;
  for (const SafetensorsFile& file : files_) total += fs::file_size(file.path());
  if (total > limit_bytes) return "";
  std::string lines;
  for (const SafetensorsFile& file : files_) lines += sha256_hex(MappedFile(file.path()).text()) + "  " + file.path().filename().string() + "\n";
  return sha256_hex(lines);
}

}  // namespace atlas
