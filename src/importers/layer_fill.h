// One layer file of a trace, filled record by record in any order. Used by importers whose sources do not come layer by layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/mapped_file.h"
#include "base/safetensors.h"

namespace atlas {

class LayerFill {
 public:
  struct Shape {
    std::uint64_t row_count = 0;
    std::uint32_t expert_top_k = 0;
    std::uint32_t expert_count = 0;
    bool has_selected_count = false;  // some row is short or missing
  };
  // Writes the file with all rows missing; full rows take their place by put().
  LayerFill(const std::filesystem::path& path, const Shape& shape);

  // Puts the experts (whole numbers below expert_count, expert_top_k at most) into the first free row of [row_begin, row_end). Rows of a range
  // fill from its start. False if there is none.
  bool put(std::uint64_t row_begin, std::uint64_t row_end, std::span<const double> experts);
  // Orders the rows of a range by their ids, slot by slot, free rows last: what was put there does not show in which order it came.
  void sort_rows(std::uint64_t row_begin, std::uint64_t row_end);

  void release() const { file_.release(); }
  void sync() const { file_.sync(); }

 private:
  LayerFill(const std::filesystem::path& path, const Shape& shape, const SafetensorsLayout& layout);
  std::uint32_t id(std::uint64_t row, std::uint32_t slot) const;
  bool is_free(std::uint64_t row) const;
  bool is_before(std::uint64_t left, std::uint64_t right) const;
  void swap_rows(std::uint64_t left, std::uint64_t right);
  void sift_down(std::uint64_t row_begin, std::uint64_t at, std::uint64_t size);

  Shape shape_;
  std::size_t id_bytes_ = 1;
  std::uint32_t no_id_ = 0;  // all ones
  MappedOutput file_;
  std::byte* expert_ids_ = nullptr;      // [row_count, expert_top_k], into file_
  std::byte* selected_count_ = nullptr;  // [row_count], into file_, or null
};

}  // namespace atlas
