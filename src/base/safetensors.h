// The safetensors file format: 8 bytes of header length, a JSON header, then the tensors' bytes. Read by mapping, written atomically.
// Format source: the safetensors project's format description (little-endian, row-major, no holes, no overlap).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace atlas {

enum class Dtype { boolean, u8, i8, f8_e4m3, f8_e5m2, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 };

std::size_t dtype_bytes(Dtype dtype);
const char* dtype_name(Dtype dtype);  // as in the file: "BF16", "U8", ...

struct TensorView {
  Dtype dtype = Dtype::u8;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  // product(shape) * dtype_bytes(dtype), row-major, little-endian

  std::uint64_t element_count() const { return bytes.size() / dtype_bytes(dtype); }
};

// A mapped file whose header has been checked in full: every tensor lies inside the file, has just the bytes that its shape asks for, and
// overlaps no other. Reading a hostile header allocates no more than a small multiple of the header's own bytes.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);  // throws Error that lists every fault of the header

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_.path(); }

  const TensorView* find(const std::string& name) const;
  // The tensor `name`; throws Error if it is missing or has another dtype or shape.
  const TensorView& expect(const std::string& name, Dtype dtype, const std::vector<std::uint64_t>& shape) const;

 private:
  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Checks a header and its tensors against the bytes of the file; what SafetensorsFile does, on bytes in memory (for the fuzzer).
void parse_safetensors(std::span<const std::byte> bytes, const std::string& where, std::map<std::string, TensorView>& tensors,
                       std::map<std::string, std::string>& metadata);

// The elements of `tensor` as T; throws Error if the dtype's size is another or the data is not aligned for T.
template <typename T>
std::span<const T> elements(const TensorView& tensor, const std::string& where);

struct TensorOut {
  std::string name;
  Dtype dtype = Dtype::u8;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

// Writes the tensors in the order of falling alignment, so that every one is aligned, then by name; the same input gives the same bytes.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorOut> tensors, const std::map<std::string, std::string>& metadata = {});

// The header as write_safetensors lays it out (padded to 8 bytes, the length in front) and each tensor's first byte in the file. For
// writers that fill a file out of order.
struct SafetensorsLayout {
  std::string header;
  std::map<std::string, std::uint64_t> begin;  // name -> offset from the start of the file
  std::uint64_t file_bytes = 0;
};
SafetensorsLayout layout_safetensors(const std::vector<TensorOut>& tensors, const std::map<std::string, std::string>& metadata = {});

std::string shape_text(const std::vector<std::uint64_t>& shape);  // "[12, 4]"

}  // namespace atlas
