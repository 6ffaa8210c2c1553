// See json.h.
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/mapped_file.h"

namespace atlas {

static std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::to_string(line) + ":" + std::to_string(before.size() - start + 1);
}

Json parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    const bool ended = byte >= text.size();
    throw Error(Problem{where + ":" + line_and_column(text, byte), ended ? "the text ends here" : "not JSON", "a complete JSON value",
                        text.empty() ? "an empty file" : (ended ? "the file was cut off" : "")});
  }
}

Json read_json_file(const std::string& path) {
  const MappedFile file(path);
  return parse_json(file.text(), path);
}

const char* json_type_name(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "a text";
    case Json::value_t::boolean: return "true or false";
    default: return "a number";
  }
}

static std::string shown(const Json& value) {
  if (!value.is_primitive()) return json_type_name(value);
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::optional<std::uint64_t> whole_number(const Json& value, std::uint64_t max) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= max ? std::optional(number) : std::nullopt;
  }
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!(number >= 0) || number > max_safe_integer || std::trunc(number) != number) return std::nullopt;
  const auto whole = static_cast<std::uint64_t>(number);
  return whole <= max ? std::optional(whole) : std::nullopt;
}

ObjectReader::ObjectReader(const Json& object, std::string path, std::vector<Problem>& problems)
    : object_(&object), path_(std::move(path)), problems_(problems) {
  if (!object.is_object()) problems_.push_back({path_, json_type_name(object), "an object", ""});
}

bool ObjectReader::has(const std::string& key) const { return object_->is_object() && object_->contains(key); }

const Json* ObjectReader::child(const std::string& key) {
  asked_.insert(key);
  return has(key) ? &object_->at(key) : nullptr;
}

const Json* ObjectReader::required(const std::string& key) {
  const Json* value = child(key);
  if (value == nullptr && object_->is_object()) problem(key, "nothing", "a value");
  return value;
}

void ObjectReader::problem(const std::string& key, std::string found, std::string expected, std::string likely_cause) {
  problems_.push_back({path_of(key), std::move(found), std::move(expected), std::move(likely_cause)});
}

std::string ObjectReader::text(const std::string& key) { return required(key) != nullptr ? text_or(key, "") : ""; }

std::string ObjectReader::text_or(const std::string& key, std::string fallback) {
  const Json* value = child(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  problem(key, shown(*value), "a text");
  return fallback;
}

std::uint64_t ObjectReader::whole_number(const std::string& key, std::uint64_t max) {
  return required(key) != nullptr ? whole_number_or(key, max, 0) : 0;
}

std::uint64_t ObjectReader::whole_number_or(const std::string& key, std::uint64_t max, std::uint64_t fallback) {
  const Json* value = child(key);
  if (value == nullptr) return fallback;
  if (const auto number = atlas::whole_number(*value, max)) return *number;
  problem(key, shown(*value), "a whole number from 0 to " + std::to_string(max));
  return fallback;
}

double ObjectReader::number_or(const std::string& key, double fallback) {
  const Json* value = child(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) return value->get<double>();
  problem(key, shown(*value), "a number");
  return fallback;
}

bool ObjectReader::boolean_or(const std::string& key, bool fallback) {
  const Json* value = child(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  problem(key, shown(*value), "true or false");
  return fallback;
}

void ObjectReader::refuse_unknown() {
  if (!object_->is_object()) return;
  for (const auto& [key, value] : object_->items()) {
    if (!asked_.contains(key)) problem(key, "a field that is not known here", "no such field", "a spelling slip, or a newer format");
  }
}

static std::optional<std::uint64_t> array_index(const std::string& key) {
  if (key.empty() || key.size() > 10 || (key.size() > 1 && key[0] == '0')) return std::nullopt;
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const std::uint64_t value = std::stoull(key);
  return value < 4294967295U ? std::optional(value) : std::nullopt;
}

std::vector<std::size_t> javascript_key_order(const std::vector<std::string>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&keys](std::size_t left, std::size_t right) {
    const auto left_index = array_index(keys[left]), right_index = array_index(keys[right]);
    if (left_index && right_index) return *left_index < *right_index;
    return left_index.has_value() && !right_index.has_value();
  });
  return order;
}

}  // namespace atlas
