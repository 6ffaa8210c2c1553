// See encoded_array.h.
#include "base/encoded_array.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>

namespace atlas {

namespace {

constexpr const char* encoding_name = "deflate+base64";

template <typename T>
constexpr const char* dtype_text();
template <>
constexpr const char* dtype_text<std::uint8_t>() {
  return "u8";
}
template <>
constexpr const char* dtype_text<std::uint16_t>() {
  return "u16";
}
template <>
constexpr const char* dtype_text<std::uint32_t>() {
  return "u32";
}
template <>
constexpr const char* dtype_text<std::uint64_t>() {
  return "u64";
}
template <>
constexpr const char* dtype_text<float>() {
  return "f32";
}
template <>
constexpr const char* dtype_text<double>() {
  return "f64";
}

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> packed(size);
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6) != Z_OK)
    throw Error(Problem{"deflate", "zlib refused", "a working zlib", ""});
  packed.resize(size);
  return packed;
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::vector<std::byte> from_base64(std::string_view text, const std::string& where) {
  std::vector<std::byte> bytes(text.size() / 4 * 3);
  const int size = text.size() % 4 != 0 ? -1
                                        : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                                          reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) throw Error(Problem{where, "a text that is not base64", "base64", "a damaged file"});
  const auto padding = std::count(text.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(text.size())), text.end(), '=');
  bytes.resize(static_cast<std::size_t>(size - padding));
  return bytes;
}

template <typename T>
Json encode_array(std::span<const T> values, const std::vector<std::uint64_t>& shape) {
  return {{"dtype", dtype_text<T>()}, {"shape", shape}, {"encoding", encoding_name}, {"data", base64(deflated(std::as_bytes(values)))}};
}

template <typename T>
std::vector<T> decode_array(const Json& json, const std::vector<std::uint64_t>& shape, const std::string& where, std::vector<Problem>& problems) {
  ObjectReader fields(json, where, problems);
  const std::string dtype = fields.text("dtype"), encoding = fields.text("encoding"), data = fields.text("data");
  const Json* found_shape = fields.required("shape");
  if (dtype != dtype_text<T>()) fields.problem("dtype", dtype, dtype_text<T>());
  if (encoding != encoding_name) fields.problem("encoding", encoding, encoding_name);
  if (found_shape == nullptr || *found_shape != Json(shape))
    fields.problem("shape", found_shape == nullptr ? "nothing" : found_shape->dump(), Json(shape).dump());
  if (!json.is_object() || dtype != dtype_text<T>() || encoding != encoding_name || found_shape == nullptr || *found_shape != Json(shape)) return {};
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::vector<T> values(count);
  const std::vector<std::byte> packed = from_base64(data, where);
  uLongf size = values.size() * sizeof(T);
  const int status = uncompress(reinterpret_cast<Bytef*>(values.data()), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (status != Z_OK || size != values.size() * sizeof(T)) {
    fields.problem("data", "data that does not unpack to " + std::to_string(values.size() * sizeof(T)) + " bytes", "the array's bytes",
                   "a damaged file");
    return {};
  }
  return values;
}

#define ATLAS_ARRAY_OF(T)                                                            \
  template Json encode_array(std::span<const T>, const std::vector<std::uint64_t>&); \
  template std::vector<T> decode_array(const Json&, const std::vector<std::uint64_t>&, const std::string&, std::vector<Problem>&);
ATLAS_ARRAY_OF(std::uint8_t)
ATLAS_ARRAY_OF(std::uint16_t)
ATLAS_ARRAY_OF(std::uint32_t)
ATLAS_ARRAY_OF(std::uint64_t)
ATLAS_ARRAY_OF(float)
ATLAS_ARRAY_OF(double)
#undef ATLAS_ARRAY_OF

}  // namespace atlas
