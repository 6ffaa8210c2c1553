// See safetensors.h.
#include "base/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace atlas {

namespace {

struct DtypeFacts {
  Dtype dtype;
  const char* name;
  std::size_t bytes;
};

constexpr std::array<DtypeFacts, 15> dtypes{{{Dtype::boolean, "BOOL", 1},
                                             {Dtype::u8, "U8", 1},
                                             {Dtype::i8, "I8", 1},
                                             {Dtype::f8_e4m3, "F8_E4M3", 1},
                                             {Dtype::f8_e5m2, "F8_E5M2", 1},
                                             {Dtype::u16, "U16", 2},
                                             {Dtype::i16, "I16", 2},
                                             {Dtype::f16, "F16", 2},
                                             {Dtype::bf16, "BF16", 2},
                                             {Dtype::u32, "U32", 4},
                                             {Dtype::i32, "I32", 4},
                                             {Dtype::f32, "F32", 4},
                                             {Dtype::u64, "U64", 8},
                                             {Dtype::i64, "I64", 8},
                                             {Dtype::f64, "F64", 8}}};

constexpr std::uint64_t max_header_bytes = 100'000'000;  // the limit of the format's own implementation

const DtypeFacts& facts_of(Dtype dtype) { return dtypes.at(static_cast<std::size_t>(dtype)); }

std::optional<Dtype> dtype_named(const std::string& name) {
  for (const DtypeFacts& facts : dtypes)
    if (name == facts.name) return facts.dtype;
  return std::nullopt;
}

// Reads one entry of the header into `tensor` (without its bytes) and its byte range; problems are collected.
struct Entry {
  std::string name;
  TensorView tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::optional<Entry> read_entry(const std::string& name, const Json& json, const std::string& where, std::uint64_t data_bytes,
                                std::vector<Problem>& problems) {
  const std::size_t problems_before = problems.size();
  const std::string path = where + ", tensor " + name;
  ObjectReader fields(json, path, problems);
  Entry entry{name, {}, 0, 0};
  const std::string dtype_text = fields.text("dtype");
  const auto dtype = dtype_named(dtype_text);
  if (!dtype && !dtype_text.empty()) fields.problem("dtype", dtype_text, "a dtype of the safetensors format");
  std::uint64_t expected_bytes = dtype ? dtype_bytes(*dtype) : 1;
  const Json* shape = fields.required("shape");
  if (shape != nullptr && !shape->is_array()) fields.problem("shape", json_type_name(*shape), "a list of whole numbers");
  for (const Json& extent : shape != nullptr && shape->is_array() ? *shape : Json::array()) {
    const auto value = whole_number(extent, std::numeric_limits<std::uint64_t>::max());
    if (!value) fields.problem("shape", extent.dump(-1, ' ', false, Json::error_handler_t::replace), "whole numbers");
    if (__builtin_mul_overflow(expected_bytes, value.value_or(0), &expected_bytes))
      fields.problem("shape", "more elements than 64 bits can count", "a shape that fits the file", "a damaged header");
    entry.tensor.shape.push_back(value.value_or(0));
  }
  const Json* offsets = fields.required("data_offsets");
  if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2) {
    if (offsets != nullptr) fields.problem("data_offsets", json_type_name(*offsets), "two whole numbers");
    return std::nullopt;
  }
  const auto begin = whole_number((*offsets)[0], data_bytes), end = whole_number((*offsets)[1], data_bytes);
  if (!begin || !end || *begin > *end) {
    fields.problem("data_offsets", offsets->dump(-1, ' ', false, Json::error_handler_t::replace),
                   "a range within the " + std::to_string(data_bytes) + " bytes of data", "the file was cut off");
    return std::nullopt;
  }
  entry.begin = *begin;
  entry.end = *end;
  if (problems.size() == problems_before && entry.end - entry.begin != expected_bytes) {
    fields.problem("data_offsets", std::to_string(entry.end - entry.begin) + " bytes",
                   std::to_string(expected_bytes) + " bytes for " + dtype_text + " " + shape_text(entry.tensor.shape), "a damaged header");
  }
  if (problems.size() != problems_before) return std::nullopt;
  entry.tensor.dtype = *dtype;
  return entry;
}

void read_metadata(const Json& json, const std::string& where, std::map<std::string, std::string>& metadata, std::vector<Problem>& problems) {
  const std::string path = where + " (header), __metadata__";
  if (!json.is_object()) return problems.push_back({path, json_type_name(json), "an object of texts", ""});
  for (const auto& [key, value] : json.items()) {
    if (value.is_string()) metadata[key] = value.get<std::string>();
    else problems.push_back({path + "." + key, json_type_name(value), "a text", ""});
  }
}

void check_ranges(std::vector<Entry>& entries, const std::string& where, std::uint64_t data_bytes, std::vector<Problem>& problems) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& left, const Entry& right) { return std::pair(left.begin, left.end) < std::pair(right.begin, right.end); });
  std::uint64_t position = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != position) {
      problems.push_back({where + ", tensor " + entry.name, "data from byte " + std::to_string(entry.begin),
                          "from byte " + std::to_string(position) + ", where the one before ends", "a damaged header"});
    }
    position = std::max(position, entry.end);
  }
  if (problems.empty() && position != data_bytes) {
    problems.push_back({where, std::to_string(data_bytes) + " bytes of data", std::to_string(position) + " bytes, as the header says",
                        "another file was appended, or the header is damaged"});
  }
}

}  // namespace

std::size_t dtype_bytes(Dtype dtype) { return facts_of(dtype).bytes; }
const char* dtype_name(Dtype dtype) { return facts_of(dtype).name; }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); i++) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void parse_safetensors(std::span<const std::byte> bytes, const std::string& where, std::map<std::string, TensorView>& tensors,
                       std::map<std::string, std::string>& metadata) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < 8) throw Error(Problem{where, std::to_string(bytes.size()) + " bytes", "a safetensors file", "the file was cut off"});
  std::memcpy(&header_bytes, bytes.data(), 8);
  if (header_bytes > bytes.size() - 8 || header_bytes > max_header_bytes) {
    throw Error(Problem{where, "a header of " + std::to_string(header_bytes) + " bytes in a file of " + std::to_string(bytes.size()),
                        "a header inside the file", "the file was cut off, or it is no safetensors file"});
  }
  const std::string_view header_text(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  const Json header = parse_json(header_text, where + " (header)");
  const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);
  std::vector<Problem> problems;
  std::vector<Entry> entries;
  if (!header.is_object()) throw Error(Problem{where + " (header)", json_type_name(header), "an object", ""});
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") read_metadata(json, where, metadata, problems);
    else if (auto entry = read_entry(name, json, where, data.size(), problems)) entries.push_back(std::move(*entry));
  }
  if (problems.empty()) check_ranges(entries, where, data.size(), problems);
  throw_if_any(std::move(problems));
  for (Entry& entry : entries) {
    entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
    tensors.emplace(std::move(entry.name), std::move(entry.tensor));
  }
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  parse_safetensors(file_.bytes(), path.string(), tensors_, metadata_);
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorView& SafetensorsFile::expect(const std::string& name, Dtype dtype, const std::vector<std::uint64_t>& shape) const {
  const TensorView* tensor = find(name);
  const std::string wanted = std::string(dtype_name(dtype)) + " " + shape_text(shape);
  if (tensor == nullptr) throw Error(Problem{path().string(), "no tensor " + name, wanted, ""});
  if (tensor->dtype != dtype || tensor->shape != shape) {
    throw Error(Problem{path().string() + ", tensor " + name, std::string(dtype_name(tensor->dtype)) + " " + shape_text(tensor->shape), wanted, ""});
  }
  return *tensor;
}

template <typename T>
std::span<const T> elements(const TensorView& tensor, const std::string& where) {
  if (dtype_bytes(tensor.dtype) != sizeof(T)) {
    throw Error(Problem{where, dtype_name(tensor.dtype), std::to_string(sizeof(T)) + "-byte elements", ""});
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) != 0) {
    throw Error(Problem{where, "data that is not aligned to " + std::to_string(alignof(T)) + " bytes", "aligned data", "written by another program"});
  }
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

template std::span<const std::uint8_t> elements(const TensorView&, const std::string&);
template std::span<const std::uint16_t> elements(const TensorView&, const std::string&);
template std::span<const std::uint32_t> elements(const TensorView&, const std::string&);
template std::span<const std::int32_t> elements(const TensorView&, const std::string&);
template std::span<const float> elements(const TensorView&, const std::string&);

// Falling alignment, then name: the one order in which tensors are laid out.
static std::vector<const TensorOut*> in_file_order(const std::vector<TensorOut>& tensors) {
  std::vector<const TensorOut*> ordered;
  for (const TensorOut& tensor : tensors) ordered.push_back(&tensor);
  std::sort(ordered.begin(), ordered.end(), [](const TensorOut* left, const TensorOut* right) {
    const std::size_t left_bytes = dtype_bytes(left->dtype), right_bytes = dtype_bytes(right->dtype);
    return left_bytes != right_bytes ? left_bytes > right_bytes : left->name < right->name;
  });
  return ordered;
}

SafetensorsLayout layout_safetensors(const std::vector<TensorOut>& tensors, const std::map<std::string, std::string>& metadata) {
  SafetensorsLayout layout;
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorOut* tensor : in_file_order(tensors)) {
    std::uint64_t size = dtype_bytes(tensor->dtype);
    for (const std::uint64_t extent : tensor->shape) size *= extent;
    header[tensor->name] = {{"dtype", dtype_name(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {offset, offset + size}}};
    layout.begin[tensor->name] = offset;
    offset += size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = text.size();
  layout.header.resize(8);
  std::memcpy(layout.header.data(), &header_bytes, 8);
  layout.header += text;
  for (auto& [name, begin] : layout.begin) begin += layout.header.size();
  layout.file_bytes = layout.header.size() + offset;
  return layout;
}

void write_safetensors(const std::filesystem::path& path, std::vector<TensorOut> tensors, const std::map<std::string, std::string>& metadata) {
  AtomicFile file(path);
  file.write(layout_safetensors(tensors, metadata).header);
  for (const TensorOut* tensor : in_file_order(tensors)) file.write(tensor->bytes);
  file.commit();
}

}  // namespace atlas
