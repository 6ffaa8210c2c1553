// Tests of the safetensors reader and writer: round trips, alignment, and every way in which a header can lie.
#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/test_support.h"

namespace atlas {
namespace {

std::string file_with(const std::string& header, const std::string& data) {
  const std::uint64_t size = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

std::map<std::string, TensorView> parse(const std::string& bytes) {
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
  parse_safetensors(std::as_bytes(std::span(bytes.data(), bytes.size())), "f", tensors, metadata);
  return tensors;
}

std::vector<std::string> faults(const std::string& header, const std::string& data) {
  return problems_of([&] { parse(file_with(header, data)); });
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

using Texts = std::vector<std::string>;

TEST(Safetensors, A_file_made_by_hand_is_read) {
  const std::string bytes = file_with("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "U16", "[2]", "[0,4]") + "," +
                                          tensor("s", "U8", "[]", "[4,5]") + "," + tensor("e", "F32", "[0,7]", "[5,5]") + "}  ",
                                      std::string("\x01\x00\x02\x01\x09", 5));
  const auto tensors = parse(bytes);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors.at("a").dtype, Dtype::u16);
  EXPECT_EQ(tensors.at("a").shape, (std::vector<std::uint64_t>{2}));
  std::uint16_t second = 0;
  std::memcpy(&second, tensors.at("a").bytes.data() + 2, 2);
  EXPECT_EQ(second, 258);
  EXPECT_TRUE(tensors.at("s").shape.empty());
  EXPECT_EQ(tensors.at("s").element_count(), 1U);
  EXPECT_EQ(tensors.at("e").element_count(), 0U);
}

TEST(Safetensors, Every_truncation_of_a_file_is_refused) {
  const std::string whole = file_with("{" + tensor("a", "U16", "[2]", "[0,4]") + "," + tensor("b", "U8", "[3]", "[4,7]") + "}", "1234567");
  EXPECT_NO_THROW(parse(whole));
  for (std::size_t size = 0; size < whole.size(); size++) EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
}

TEST(Safetensors, A_header_longer_than_the_file_or_than_the_format_allows_is_refused_before_anything_is_allocated) {
  std::string bytes(16, '\0');
  for (const std::uint64_t size : {std::uint64_t{9}, std::uint64_t{100'000'001}, UINT64_MAX, UINT64_MAX - 7}) {
    std::memcpy(bytes.data(), &size, 8);
    EXPECT_EQ(problem_of([&] { parse(bytes); }),
              "f: a header of " + std::to_string(size) +
                  " bytes in a file of 16; expected a header inside the file (likely cause: the file was cut off, or it is no safetensors file)");
  }
  EXPECT_EQ(problem_of([&] { parse("1234567"); }), "f: 7 bytes; expected a safetensors file (likely cause: the file was cut off)");
}

TEST(Safetensors, A_header_that_is_no_JSON_object_is_refused) {
  EXPECT_THROW(parse(file_with("{", "")), Error);
  EXPECT_THROW(parse(file_with("", "")), Error);
  EXPECT_EQ(faults("[]", ""), (Texts{"f (header): a list; expected an object"}));
  EXPECT_EQ(faults("{\"a\":5}", "").at(0), "f, tensor a: a number; expected an object");
  EXPECT_EQ(faults("{\"__metadata__\":[]}", ""), (Texts{"f (header), __metadata__: a list; expected an object of texts"}));
  EXPECT_EQ(faults("{\"__metadata__\":{\"k\":5}}", ""), (Texts{"f (header), __metadata__.k: a number; expected a text"}));
}

TEST(Safetensors, Tensors_that_overlap_or_leave_holes_are_refused) {
  EXPECT_EQ(faults("{" + tensor("a", "U8", "[4]", "[0,4]") + "," + tensor("b", "U8", "[4]", "[2,6]") + "}", "123456"),
            (Texts{"f, tensor b: data from byte 2; expected from byte 4, where the one before ends (likely cause: a damaged header)"}));
  EXPECT_EQ(faults("{" + tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("b", "U8", "[2]", "[4,6]") + "}", "123456"),
            (Texts{"f, tensor b: data from byte 4; expected from byte 2, where the one before ends (likely cause: a damaged header)"}));
  EXPECT_EQ(faults("{" + tensor("a", "U8", "[2]", "[1,3]") + "}", "123").at(0).substr(0, 32), "f, tensor a: data from byte 1; e");
  EXPECT_EQ(faults("{" + tensor("a", "U8", "[4]", "[0,4]") + "," + tensor("b", "U8", "[4]", "[0,4]") + "}", "1234").size(), 1U);
  EXPECT_EQ(faults("{" + tensor("a", "U8", "[2]", "[0,2]") + "}", "123").at(0).substr(0, 39), "f: 3 bytes of data; expected 2 bytes, a");
}

TEST(Safetensors, Ranges_outside_the_data_or_backwards_are_refused) {
  for (const char* offsets : {"[0,5]", "[3,2]", "[0,18446744073709551615]", "[18446744073709551615,0]", "[-1,3]", "[0.5,4]", "[\"0\",4]"})
    EXPECT_NE(faults("{" + tensor("a", "U8", "[4]", offsets) + "}", "1234").at(0).find("expected a range within the 4 bytes of data"),
              std::string::npos)
        << offsets;
  for (const char* offsets : {"5", "[]", "[0]", "[0,1,2]", "{}", "null"})
    EXPECT_NE(faults("{" + tensor("a", "U8", "[4]", offsets) + "}", "1234").at(0).find("expected two whole numbers"), std::string::npos) << offsets;
}

TEST(Safetensors, Shapes_that_do_not_match_their_bytes_or_overflow_are_refused) {
  EXPECT_EQ(faults("{" + tensor("a", "F32", "[2,2]", "[0,15]") + "}", std::string(15, 'x')),
            (Texts{"f, tensor a.data_offsets: 15 bytes; expected 16 bytes for F32 [2, 2] (likely cause: a damaged header)"}));
  // 2^32 x 2^32 x 8 bytes and 2^61 x 8 bytes are 0 in 64 bits.
  EXPECT_NE(faults("{" + tensor("a", "F64", "[4294967296,4294967296]", "[0,0]") + "}", "").at(0).find("more elements than 64 bits can count"),
            std::string::npos);
  EXPECT_NE(faults("{" + tensor("a", "F64", "[2305843009213693952]", "[0,0]") + "}", "").at(0).find("more elements than 64 bits can count"),
            std::string::npos);
  for (const char* shape : {"[-1]", "[1.5]", "[\"2\"]", "[null]", "[1e300]", "[[1]]"})
    EXPECT_NE(faults("{" + tensor("a", "U8", shape, "[0,1]") + "}", "1").at(0).find("expected whole numbers"), std::string::npos) << shape;
  for (const char* shape : {"5", "{}", "null", "\"x\""})
    EXPECT_EQ(faults("{" + tensor("a", "U8", shape, "[0,1]") + "}", "1").at(0).substr(0, 19), "f, tensor a.shape: ") << shape;
}

TEST(Safetensors, Fields_missing_and_unknown_dtypes_are_all_reported_at_once) {
  EXPECT_EQ(
      faults(
          R"({"a":{"shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","data_offsets":[0,1]},"c":{"dtype":"U8","shape":[1]},"d":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}})",
          "1"),
      (Texts{"f, tensor a.dtype: nothing; expected a value", "f, tensor b.shape: nothing; expected a value",
             "f, tensor c.data_offsets: nothing; expected a value", "f, tensor d.dtype: Q4; expected a dtype of the safetensors format"}));
}

TEST(Safetensors, A_repeated_name_counts_once_with_its_last_entry) {
  // As in JSON.parse and Python's json; the first entry's bytes would overlap if it counted, too.
  const auto tensors = parse(file_with("{" + tensor("a", "U8", "[1]", "[0,1]") + "," + tensor("a", "U8", "[2]", "[0,2]") + "}", "12"));
  EXPECT_EQ(tensors.at("a").shape, (std::vector<std::uint64_t>{2}));
}

TEST(Safetensors, All_dtypes_are_written_and_read_back_aligned_and_in_a_fixed_order) {
  const TestFolder folder;
  std::vector<TensorOut> tensors;
  const std::string data(24, 'x');
  const std::vector<Dtype> dtypes{Dtype::u8,  Dtype::f64,  Dtype::boolean, Dtype::i8,  Dtype::f8_e4m3, Dtype::f8_e5m2, Dtype::u16, Dtype::i16,
                                  Dtype::f16, Dtype::bf16, Dtype::u32,     Dtype::i32, Dtype::f32,     Dtype::u64,     Dtype::i64};
  for (const Dtype dtype : dtypes) tensors.push_back({dtype_name(dtype), dtype, {3}, std::as_bytes(std::span(data.data(), 3 * dtype_bytes(dtype)))});
  write_safetensors(folder / "one", tensors, {{"k", "v"}});
  std::reverse(tensors.begin(), tensors.end());
  write_safetensors(folder / "two", tensors, {{"k", "v"}});
  EXPECT_EQ(file_bytes(folder / "one"), file_bytes(folder / "two"));
  const SafetensorsFile file(folder / "one");
  EXPECT_EQ(file.metadata().at("k"), "v");
  ASSERT_EQ(file.tensors().size(), dtypes.size());
  for (const auto& [name, view] : file.tensors()) {
    EXPECT_EQ(name, dtype_name(view.dtype));
    EXPECT_EQ(view.element_count(), 3U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.bytes.data()) % dtype_bytes(view.dtype), 0U) << name;
  }
}

TEST(Safetensors, The_layout_says_where_the_writer_puts_each_tensor) {
  const TestFolder folder;
  const std::string data = "abcdefghijkl";
  const auto bytes = std::as_bytes(std::span(data.data(), data.size()));
  const std::vector<TensorOut> tensors{{"b", Dtype::u8, {4}, bytes.first(4)}, {"a", Dtype::u32, {1, 2}, bytes.subspan(4, 8)}};
  const SafetensorsLayout layout = layout_safetensors(tensors);
  write_safetensors(folder / "x", tensors);
  const std::string written = file_bytes(folder / "x");
  EXPECT_EQ(written.size(), layout.file_bytes);
  EXPECT_EQ(written.substr(0, layout.header.size()), layout.header);
  EXPECT_EQ(layout.header.size() % 8, 0U);
  EXPECT_EQ(written.substr(layout.begin.at("b"), 4), "abcd");
  EXPECT_EQ(written.substr(layout.begin.at("a"), 8), "efghijkl");
}

TEST(Safetensors, A_tensor_that_is_absent_or_of_another_kind_is_refused_by_name) {
  const TestFolder folder;
  const std::string data = "1234";
  write_safetensors(folder / "x", {{"a", Dtype::u8, {2, 2}, std::as_bytes(std::span(data.data(), 4))}});
  const SafetensorsFile file(folder / "x");
  const std::string path = (folder / "x").string();
  EXPECT_EQ(file.expect("a", Dtype::u8, {2, 2}).element_count(), 4U);
  EXPECT_EQ(file.find("b"), nullptr);
  EXPECT_EQ(problem_of([&] { file.expect("b", Dtype::u8, {4}); }), path + ": no tensor b; expected U8 [4]");
  EXPECT_EQ(problem_of([&] { file.expect("a", Dtype::u8, {4}); }), path + ", tensor a: U8 [2, 2]; expected U8 [4]");
  EXPECT_EQ(problem_of([&] { file.expect("a", Dtype::i8, {2, 2}); }), path + ", tensor a: U8 [2, 2]; expected I8 [2, 2]");
}

TEST(Safetensors, Elements_of_another_size_or_badly_aligned_are_refused) {
  alignas(8) const std::array<std::byte, 12> data{};
  const TensorView view{Dtype::f32, {2}, std::span(data).first(8)};
  EXPECT_EQ(elements<float>(view, "f").size(), 2U);
  EXPECT_EQ(problem_of([&] { elements<std::uint16_t>(view, "f"); }), "f: F32; expected 2-byte elements");
  const TensorView shifted{Dtype::f32, {2}, std::span(data).subspan(1, 8)};
  EXPECT_NE(problem_of([&] { elements<float>(shifted, "f"); }).find("not aligned to 4 bytes"), std::string::npos);
}

TEST(Safetensors, A_hostile_header_of_a_megabyte_is_refused_quickly) {
  std::string header = "{";
  for (int i = 0; i < 20000; i++) header += tensor("t" + std::to_string(i), "U8", "[9223372036854775807]", "[0,1]") + ",";
  header.back() = '}';
  EXPECT_EQ(faults(header, "1").size(), 20000U);
  std::string extents = "[";
  for (int i = 0; i < 300000; i++) extents += "1,";
  extents.back() = ']';
  EXPECT_EQ(parse(file_with("{" + tensor("a", "U8", extents, "[0,1]") + "}", "1")).at("a").shape.size(), 300000U);
}

}  // namespace
}  // namespace atlas
