// Which rows a run's records ask for: one for each (forward, row) and as many more as some layer repeats it. Filled by the first pass of the
// import of reference JSONL, looked up by its second. Memory grows with the tokens of the run, not with its selections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace atlas {

struct RowKey {
  std::uint64_t forward = 0;
  std::uint64_t row = 0;
  auto operator<=>(const RowKey&) const = default;
};

// The rows of one run in their final order, sorted by (forward, row); rows of one key lie together.
struct RunRows {
  std::vector<RowKey> keys;              // [key_count], rising
  std::vector<std::uint64_t> first_row;  // [key_count + 1], from the run's first row; the last is the run's row count

  std::uint64_t row_count() const { return first_row.empty() ? 0 : first_row.back(); }
  // The index of `key`, or key_count if it is not there. `guess` is tried first: records mostly follow one another.
  std::size_t find(const RowKey& key, std::size_t guess) const;
};

class RowCounter {
 public:
  // One record of `key` in the layer with this ordinal; ordinals are the caller's.
  void add(const RowKey& key, std::uint32_t layer_ordinal);
  std::uint64_t repeated_count() const { return repeated_count_; }  // records whose (forward, row, layer) was there before
  RunRows rows() const;

 private:
  // How often 128 keys were seen in one layer: a bit each for once, and numbers as soon as one is seen again.
  struct Chunk {
    std::array<std::uint64_t, 2> seen{};
    std::unique_ptr<std::array<std::uint32_t, 128>> more;  // times beyond the first
  };
  struct Hash {
    std::size_t operator()(const RowKey& key) const;
  };
  std::uint32_t index_of(const RowKey& key);

  std::vector<RowKey> keys_;                                   // in the order of their first record
  std::vector<std::uint32_t> copies_;                          // [key_count], the most records of a key in one layer
  std::unordered_map<RowKey, std::uint32_t, Hash> key_index_;  // into keys_
  std::unordered_map<std::uint64_t, Chunk> chunks_;            // by layer ordinal and key index / 128
  std::uint32_t last_ = 0;
  std::uint64_t repeated_count_ = 0;
};

}  // namespace atlas
