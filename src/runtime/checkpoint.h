// A model folder: config.json and one or more safetensors files, mapped. Filled by its constructor; read by the model files, which ask for
// tensors by name when a layer needs them. Nothing is read from disk before a tensor's bytes are used.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/safetensors.h"

namespace atlas {

// A tensor that an architecture needs.
struct TensorSpec {
  std::string name;
  std::vector<std::uint64_t> shape;
};

class Checkpoint {
 public:
  // Reads config.json, maps the files of model.safetensors.index.json (or, without an index, every model*.safetensors of the folder) and checks
  // their headers. Throws Error that lists all problems: files that the index names and the folder lacks, tensors in two files or in
  // another than the index says.
  explicit Checkpoint(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  std::string config_path() const { return (folder_ / "config.json").string(); }
  const Json& config() const { return config_; }

  bool has(const std::string& name) const { return tensors_.contains(name); }
  // The tensor in its disk dtype, sharing the mapped bytes (copied only where a file has them badly aligned). Never write to it.
  at::Tensor tensor(const std::string& name) const;
  at::Tensor tensor_f32(const std::string& name) const;  // widened to fp32

  // Throws one Error that lists every tensor that is missing, has another shape, has a dtype other than F32, BF16 or F16, or is neither in
  // `expected` nor for `is_ignored` to skip.
  void check(const std::vector<TensorSpec>& expected, const std::function<bool(const std::string&)>& is_ignored) const;

  // Disk bytes of all tensors whose name begins with `prefix`.
  std::uint64_t tensor_bytes(const std::string& prefix) const;
  std::string disk_dtypes() const;  // "BF16, F32": what the tensors are stored as

  std::string config_sha256() const;  // of the bytes of config.json
  // SHA-256 of the lines that `sha256sum NAME...` prints for the weight files in name order, so `sha256sum model*.safetensors | sha256sum`
  // in the folder gives it, too. Reads every byte of the weights; empty if they are larger than `limit_bytes`.
  std::string weights_sha256(std::uint64_t limit_bytes) const;

 private:
  const TensorView& view(const std::string& name) const;

  std::filesystem::path folder_;
  Json config_;
  std::vector<SafetensorsFile> files_;                // in name order
  std::map<std::string, const TensorView*> tensors_;  // into files_
};

}  // namespace atlas
