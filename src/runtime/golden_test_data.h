// Golden values of testdata/glm_moe_dsa as tensors, for the runtime's tests. Filled by make.py there with transformers 5.17; see its README.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/safetensors.h"

namespace atlas {

// Spinning threads only slow such small matrices down.
inline const bool runs_on_one_thread = (at::set_num_threads(1), true);

inline const std::vector<std::string> golden_cases{"base", "groups", "many_experts", "fp16"};

inline std::filesystem::path golden_folder(const std::string& name) { return std::filesystem::path(ATLAS_TESTDATA_DIR) / "glm_moe_dsa" / name; }

// A fresh folder for one test's files.
inline std::filesystem::path fresh_folder(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("expert-atlas-" + std::to_string(::getpid()) + "-" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

class Golden {
 public:
  explicit Golden(const std::string& name) : file_(golden_folder(name) / "golden.safetensors") {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  // f32 as it is, i32 widened to i64.
  at::Tensor tensor(const std::string& name) const {
    const TensorView* view = file_.find(name);
    if (view == nullptr) throw Error(Problem{file_.path().string(), "no tensor " + name, "a golden value", ""});
    const std::vector<std::int64_t> shape(view->shape.begin(), view->shape.end());
    const at::ScalarType type = view->dtype == Dtype::f32 ? at::kFloat : at::kInt;
    const at::Tensor values = at::from_blob(const_cast<std::byte*>(view->bytes.data()), shape, type).clone();
    return view->dtype == Dtype::f32 ? values : values.to(at::kLong);
  }
  // "prompt.0", "prompt.1", ..., "decode.0", ...: every text of the case.
  std::vector<std::string> texts(const std::string& kind) const {
    std::vector<std::string> names;
    for (int i = 0; has(kind + "." + std::to_string(i) + ".token_ids"); i++) names.push_back(kind + "." + std::to_string(i));
    return names;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> names = texts("prompt");
    for (const std::string& name : texts("decode")) names.push_back(name);
    return names;
  }

 private:
  SafetensorsFile file_;
};

// Largest difference as a part of the golden tensor's largest value.
inline double relative_difference(const at::Tensor& ours, const at::Tensor& golden) {
  EXPECT_EQ(ours.sizes(), golden.sizes());
  if (golden.numel() == 0) return 0;
  return (ours - golden).abs().max().item<double>() / golden.abs().max().item<double>();
}

}  // namespace atlas
