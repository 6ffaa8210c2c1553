// Model folders: what is found, what is refused, and the hashes that name them.
#include "runtime/checkpoint.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "base/sha256.h"
#include "runtime/golden_test_data.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

const std::array<float, 2> floats{1.5F, -2};
const std::array<std::uint16_t, 2> bf16_bits{0x3FC0, 0xC000};  // 1.5 and -2
const std::array<std::uint16_t, 2> f16_bits{0x3E00, 0xC000};   // 1.5 and -2

TensorOut tensor_of(const std::string& name, Dtype dtype = Dtype::f32) {
  if (dtype == Dtype::bf16) return {name, dtype, {2}, std::as_bytes(std::span(bf16_bits))};
  if (dtype == Dtype::f16) return {name, dtype, {2}, std::as_bytes(std::span(f16_bits))};
  return {name, dtype, {2}, std::as_bytes(std::span(floats))};
}

fs::path new_folder() {
  const fs::path folder = fresh_folder("checkpoint");
  std::ofstream(folder / "config.json") << R"({"model_type": "x"})";
  return folder;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckpointTest, tensors_of_all_three_dtypes_widen_to_the_same_values) {
  const fs::path folder = new_folder();
  write_safetensors(folder / "model.safetensors", {tensor_of("a"), tensor_of("b", Dtype::bf16), tensor_of("c", Dtype::f16)});
  const Checkpoint checkpoint(folder);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(checkpoint.tensor_f32(name).equal(at::tensor({1.5F, -2.F}))) << name;
  EXPECT_EQ(checkpoint.tensor("b").scalar_type(), at::kBFloat16);
  EXPECT_EQ(checkpoint.disk_dtypes(), "BF16, F16, F32");
  EXPECT_EQ(checkpoint.tensor_bytes("a"), 8U);
  EXPECT_EQ(checkpoint.tensor_bytes(""), 16U);
}

// A header of 8 + 59 bytes: the data begins at an odd address, which a reader of mapped memory must not take for floats as it is.
TEST(CheckpointTest, tensors_at_odd_addresses_are_copied) {
  const fs::path folder = new_folder();
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" + std::string(5, ' ');
  ASSERT_EQ(header.size() % 2, 1U);
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  const std::uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), 8) << header;
  file.write(reinterpret_cast<const char*>(floats.data()), 8);
  file.close();
  EXPECT_TRUE(Checkpoint(folder).tensor_f32("a").equal(at::tensor({1.5F, -2.F})));
}

TEST(CheckpointTest, an_index_is_followed_and_every_fault_of_it_listed) {
  const fs::path folder = new_folder();
  write_safetensors(folder / "one.safetensors", {tensor_of("a"), tensor_of("b")});
  write_safetensors(folder / "two.safetensors", {tensor_of("b")});
  const auto write_index = [&](const std::string& map) {
    std::ofstream(folder / "model.safetensors.index.json") << R"({"weight_map": )" + map + "}";
  };
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors"})");
  EXPECT_TRUE(Checkpoint(folder).has("b"));
  write_index(R"({"a": "three.safetensors", "b": "four.safetensors"})");
  const std::string absent = error_of([&] { Checkpoint{folder}; });
  EXPECT_NE(absent.find("three.safetensors"), std::string::npos);
  EXPECT_NE(absent.find("four.safetensors"), std::string::npos);
  write_index(R"({"a": "two.safetensors", "b": "one.safetensors", "c": "one.safetensors"})");
  const std::string wrong = error_of([&] { Checkpoint{folder}; });
  EXPECT_NE(wrong.find("another file has"), std::string::npos) << wrong;            // b is in both
  EXPECT_NE(wrong.find("the index places in two.safetensors"), std::string::npos);  // a
  EXPECT_NE(wrong.find("no tensor c"), std::string::npos);
  write_index(R"({"a": "../one.safetensors"})");
  EXPECT_NE(error_of([&] { Checkpoint{folder}; }).find("../one.safetensors"), std::string::npos);
}

TEST(CheckpointTest, folders_without_config_or_weights_are_refused_by_name) {
  const fs::path folder = fresh_folder("empty");
  EXPECT_NE(error_of([&] { Checkpoint{folder / "none"}; }).find("none"), std::string::npos);
  EXPECT_NE(error_of([&] { Checkpoint{folder}; }).find("config.json"), std::string::npos);
  std::ofstream(folder / "config.json") << "{}";
  EXPECT_NE(error_of([&] { Checkpoint{folder}; }).find("model*.safetensors"), std::string::npos);
}

TEST(CheckpointTest, a_check_lists_missing_surplus_misshapen_and_quantised_tensors_together) {
  const fs::path folder = new_folder();
  const std::array<std::uint8_t, 2> bytes{1, 2};
  write_safetensors(folder / "model.safetensors", {tensor_of("a"),
                                                   tensor_of("surplus"),
                                                   tensor_of("ignored"),
                                                   {"quantised", Dtype::f8_e4m3, {2}, std::as_bytes(std::span(bytes))}});
  const Checkpoint checkpoint(folder);
  const auto is_ignored = [](const std::string& name) { return name == "ignored"; };
  EXPECT_EQ(error_of([&] { checkpoint.check({{"a", {2}}, {"surplus", {2}}}, [](const std::string&) { return true; }); }), "");
  try {
    checkpoint.check({{"a", {1, 2}}, {"missing", {2}}, {"quantised", {2}}}, is_ignored);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().size(), 4U) << error.what();
  }
}

// As `sha256sum model*.safetensors | sha256sum` says.
TEST(CheckpointTest, the_weights_hash_is_that_of_sha256sums_lines) {
  const fs::path folder = new_folder();
  write_safetensors(folder / "model-2.safetensors", {tensor_of("b")});
  write_safetensors(folder / "model-1.safetensors", {tensor_of("a")});
  std::string lines;
  for (const char* name : {"model-1.safetensors", "model-2.safetensors"}) lines += sha256_hex(MappedFile(folder / name).text()) + "  " + name + "\n";
  const Checkpoint checkpoint(folder);
  EXPECT_EQ(checkpoint.weights_sha256(1 << 20), sha256_hex(lines));
  EXPECT_EQ(checkpoint.weights_sha256(10), "");
  EXPECT_EQ(checkpoint.config_sha256(), sha256_hex(R"({"model_type": "x"})"));
}

}  // namespace
}  // namespace atlas
