// JSON in, with every problem named by its path, and JSON out in one form. Used for probe sets, manifests, configs and atlas files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace atlas {

using Json = nlohmann::ordered_json;  // keys keep their order, so that files read like the structs they come from

inline constexpr double max_safe_integer = 9007199254740991.0;  // 2^53 - 1, the last whole number below which doubles skip none

// Parses `text`. A repeated key keeps its first place and its last value, as in JavaScript. Throws Error with line and column.
Json parse_json(std::string_view text, const std::string& where);
Json read_json_file(const std::string& path);

const char* json_type_name(const Json& value);  // "a text", "a number", "nothing" ... as problems say it

// Reads the fields of one JSON object and collects problems instead of stopping at the first. Ask for every known field, then call
// refuse_unknown(). A field of the wrong type is a problem and reads as an empty value.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string path, std::vector<Problem>& problems);

  bool has(const std::string& key) const;
  const Json* child(const std::string& key);     // null if absent; no problem
  const Json* required(const std::string& key);  // null if absent; a problem
  std::string text(const std::string& key);
  std::string text_or(const std::string& key, std::string fallback);
  std::uint64_t whole_number(const std::string& key, std::uint64_t max);  // 0 .. max
  std::uint64_t whole_number_or(const std::string& key, std::uint64_t max, std::uint64_t fallback);
  double number_or(const std::string& key, double fallback);
  bool boolean_or(const std::string& key, bool fallback);

  std::string path_of(const std::string& key) const { return path_ + "." + key; }
  void problem(const std::string& key, std::string found, std::string expected, std::string likely_cause = "");
  void refuse_unknown();  // a problem for each field that was never asked for

 private:
  const Json* object_;
  std::string path_;
  std::vector<Problem>& problems_;
  std::set<std::string> asked_;
};

// The whole number in `value` if it is one within [0, max], judged by value: 3, 3.0 and 3e0 are the same.
std::optional<std::uint64_t> whole_number(const Json& value, std::uint64_t max);

// The order in which JavaScript visits an object's keys, as indices into `keys`: canonical array indices (0 .. 2^32 - 2) first, as numbers,
// then the rest as they stand.
std::vector<std::size_t> javascript_key_order(const std::vector<std::string>& keys);

}  // namespace atlas
