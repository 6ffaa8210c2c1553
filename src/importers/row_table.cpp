// See row_table.h.
#include "importers/row_table.h"

#include <algorithm>
#include <numeric>

namespace atlas {

std::size_t RunRows::find(const RowKey& key, std::size_t guess) const {
  if (guess < keys.size() && keys[guess] == key) return guess;
  const auto found = std::lower_bound(keys.begin(), keys.end(), key);
  return found != keys.end() && *found == key ? static_cast<std::size_t>(found - keys.begin()) : keys.size();
}

// Multiplications by odd constants with the high bits folded down: neighbouring rows must not share a bucket.
std::size_t RowCounter::Hash::operator()(const RowKey& key) const {
  std::uint64_t mixed = key.forward * 0x9E3779B97F4A7C15U ^ key.row;
  mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93U;
  return mixed ^ mixed >> 32;
}

std::uint32_t RowCounter::index_of(const RowKey& key) {
  const std::uint32_t next = last_ + 1;
  if (last_ < keys_.size() && keys_[last_] == key) return last_;
  if (next < keys_.size() && keys_[next] == key) return next;
  const auto [entry, is_new] = key_index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) {
    keys_.push_back(key);
    copies_.push_back(0);
  }
  return entry->second;
}

void RowCounter::add(const RowKey& key, std::uint32_t layer_ordinal) {
  last_ = index_of(key);
  Chunk& chunk = chunks_[std::uint64_t{layer_ordinal} << 32 | last_ / 128];
  const std::uint32_t in_chunk = last_ % 128;
  std::uint64_t& seen = chunk.seen.at(in_chunk / 64);
  const std::uint64_t bit = std::uint64_t{1} << in_chunk % 64;
  std::uint32_t times = 1;
  if ((seen & bit) != 0) {
    if (!chunk.more) chunk.more = std::make_unique<std::array<std::uint32_t, 128>>();
    times += ++chunk.more->at(in_chunk);
    repeated_count_++;
  }
  seen |= bit;
  copies_[last_] = std::max(copies_[last_], times);
}

RunRows RowCounter::rows() const {
  std::vector<std::uint32_t> order(keys_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](std::uint32_t left, std::uint32_t right) { return keys_[left] < keys_[right]; });
  RunRows rows;
  std::uint64_t row = 0;
  for (const std::uint32_t key : order) {
    rows.keys.push_back(keys_[key]);
    rows.first_row.push_back(row);
    row += copies_[key];
  }
  rows.first_row.push_back(row);
  return rows;
}

}  // namespace atlas
