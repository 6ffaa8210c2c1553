// Fuzz target: any bytes as a safetensors file. What is accepted must be tensors that fill the data without overlap.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace atlas;
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    parse_safetensors(bytes, "input", tensors, metadata);
  } catch (const Error&) {
    return 0;
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, data, 8);
  const auto header = nlohmann::json::parse(data + 8, data + 8 + header_bytes);
  if (header.size() != tensors.size() + header.contains("__metadata__")) std::abort();
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const auto& [name, tensor] : tensors) {
    std::uint64_t elements_of_shape = 1;
    for (const std::uint64_t extent : tensor.shape) elements_of_shape *= extent;
    if (elements_of_shape * dtype_bytes(tensor.dtype) != tensor.bytes.size()) std::abort();
    const nlohmann::json& entry = header.at(name);
    const auto begin = static_cast<std::int64_t>(tensor.bytes.data() - bytes.data() - 8) - static_cast<std::int64_t>(header_bytes);
    if (!entry.at("shape").is_array() || entry["shape"] != nlohmann::json(tensor.shape)) std::abort();
    if (entry.at("data_offsets") != nlohmann::json({begin, begin + static_cast<std::int64_t>(tensor.bytes.size())})) std::abort();
    if (!tensor.bytes.empty()) ranges.emplace_back(tensor.bytes.data(), tensor.bytes.data() + tensor.bytes.size());
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 0; i < ranges.size(); i++) {
    const std::byte* expected_end = i + 1 < ranges.size() ? ranges[i + 1].first : bytes.data() + bytes.size();
    if (ranges[i].second != expected_end) std::abort();
  }
  return 0;
}
