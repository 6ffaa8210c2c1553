// Large arrays inside JSON: {"dtype", "shape", "encoding": "deflate+base64", "data"}; little-endian, row-major. Used by atlas files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace atlas {

// T is u8, u16, u32, u64, f32 or f64, as std types. The same input gives the same text with the same zlib.
template <typename T>
Json encode_array(std::span<const T> values, const std::vector<std::uint64_t>& shape);

// The array `json` as T in `shape`; a problem (and an empty result) if its dtype, shape or data is another. Never allocates more than
// `shape` asks for.
template <typename T>
std::vector<T> decode_array(const Json& json, const std::vector<std::uint64_t>& shape, const std::string& where, std::vector<Problem>& problems);

std::string base64(std::span<const std::byte> bytes);
std::vector<std::byte> from_base64(std::string_view text, const std::string& where);  // throws Error

}  // namespace atlas
