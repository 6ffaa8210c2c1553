// See layer_fill.h.
#include "importers/layer_fill.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "trace/trace.h"

namespace atlas {

static SafetensorsLayout layout_of(const LayerFill::Shape& shape) {
  std::vector<TensorOut> tensors{{"expert_ids", expert_id_dtype(shape.expert_count), {shape.row_count, shape.expert_top_k}, {}}};
  if (shape.has_selected_count) tensors.push_back({"selected_count", Dtype::u8, {shape.row_count}, {}});
  return layout_safetensors(tensors);
}

// The bytes after the header: ids of all ones (no expert), then counts of zero (missing). The layout puts them in this order.
static std::array<MappedOutput::Part, 2> parts_of(const LayerFill::Shape& shape) {
  const std::uint64_t id_bytes = shape.row_count * shape.expert_top_k * dtype_bytes(expert_id_dtype(shape.expert_count));
  return {MappedOutput::Part{std::byte{0xFF}, id_bytes}, MappedOutput::Part{std::byte{0}, shape.has_selected_count ? shape.row_count : 0}};
}

LayerFill::LayerFill(const std::filesystem::path& path, const Shape& shape) : LayerFill(path, shape, layout_of(shape)) {}

LayerFill::LayerFill(const std::filesystem::path& path, const Shape& shape, const SafetensorsLayout& layout)
    : shape_(shape), id_bytes_(dtype_bytes(expert_id_dtype(shape.expert_count))), no_id_(0xFFFFFFFFU >> (32 - 8 * id_bytes_)),
      file_(path, layout.header, parts_of(shape)) {
  expert_ids_ = file_.data() + layout.begin.at("expert_ids");
  if (shape.has_selected_count) selected_count_ = file_.data() + layout.begin.at("selected_count");
}

std::uint32_t LayerFill::id(std::uint64_t row, std::uint32_t slot) const {
  std::uint32_t value = 0;
  std::memcpy(&value, expert_ids_ + (row * shape_.expert_top_k + slot) * id_bytes_, id_bytes_);
  return value;
}

bool LayerFill::is_free(std::uint64_t row) const { return id(row, 0) == no_id_; }

bool LayerFill::put(std::uint64_t row_begin, std::uint64_t row_end, std::span<const double> experts) {
  // Rows fill from the start, so the free ones can be bisected: a range that one record repeats a million times stays fast.
  std::uint64_t row = row_begin;
  for (std::uint64_t count = row_end - row_begin; count > 0;) {
    const std::uint64_t half = count / 2;
    if (is_free(row + half)) {
      count = half;
    } else {
      row += half + 1;
      count -= half + 1;
    }
  }
  if (row == row_end) return false;
  std::byte* to = expert_ids_ + row * shape_.expert_top_k * id_bytes_;
  for (const double expert : experts) {
    const auto value = static_cast<std::uint32_t>(expert);
    std::memcpy(to, &value, id_bytes_);
    to += id_bytes_;
  }
  if (selected_count_ != nullptr) selected_count_[row] = static_cast<std::byte>(experts.size());
  return true;
}

bool LayerFill::is_before(std::uint64_t left, std::uint64_t right) const {
  for (std::uint32_t slot = 0; slot < shape_.expert_top_k; slot++)
    if (id(left, slot) != id(right, slot)) return id(left, slot) < id(right, slot);
  return false;
}

void LayerFill::swap_rows(std::uint64_t left, std::uint64_t right) {
  const std::size_t row_bytes = shape_.expert_top_k * id_bytes_;
  std::swap_ranges(expert_ids_ + left * row_bytes, expert_ids_ + (left + 1) * row_bytes, expert_ids_ + right * row_bytes);
  if (selected_count_ != nullptr) std::swap(selected_count_[left], selected_count_[right]);
}

void LayerFill::sift_down(std::uint64_t row_begin, std::uint64_t at, std::uint64_t size) {
  for (std::uint64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && is_before(row_begin + child, row_begin + child + 1)) child++;
    if (!is_before(row_begin + at, row_begin + child)) return;
    swap_rows(row_begin + at, row_begin + child);
    at = child;
  }
}

// Heapsort in the file itself: rows have no type of their own for std::sort, and no copy of them is held.
void LayerFill::sort_rows(std::uint64_t row_begin, std::uint64_t row_end) {
  const std::uint64_t size = row_end - row_begin;
  for (std::uint64_t at = size / 2; at-- > 0;) sift_down(row_begin, at, size);
  for (std::uint64_t last = size; last-- > 1;) {
    swap_rows(row_begin, row_begin + last);
    sift_down(row_begin, 0, last);
  }
}

}  // namespace atlas
