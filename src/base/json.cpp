// See json.h.
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/mapped_file.h"

namespace atlas {

static std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::to_string(line) + ":" + std::to_string(before.size() - start + 1);
}

namespace {

// Builds the tree from the library's parser events. The library's own builder looks for every key among those before it, which takes seconds
// for the 60,000 tensors of a large model's index; and it follows any nesting, which later recursive code (a copy, dump) could not.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::size_t fault_byte = 0;
  const char* fault = nullptr;  // set if the text was refused

  bool null() override { return place(Json()) != nullptr; }
  bool boolean(bool value) override { return place(value) != nullptr; }
  bool number_integer(std::int64_t value) override { return place(value) != nullptr; }
  bool number_unsigned(std::uint64_t value) override { return place(value) != nullptr; }
  bool number_float(double value, const std::string&) override { return place(value) != nullptr; }
  bool string(std::string& value) override { return place(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) override { return false; }  // not in text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool end_object() override {
    drop_repeated_keys(open_.back()->get_ref<Json::object_t&>());
    return close();
  }
  bool key(std::string& name) override {
    open_.back()->get_ref<Json::object_t&>().emplace_back(std::move(name), Json());
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    fault_byte = byte > 0 ? byte - 1 : 0;
    fault = dynamic_cast<const Json::out_of_range*>(&error) != nullptr ? "a number that no double can hold" : "not JSON";
    return false;
  }

 private:
  Json* place(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& last = parent.get_ref<Json::object_t&>().back().second;
    return &(last = std::move(value));
  }
  bool open(Json value) {
    if (open_.size() == max_json_depth) {
      fault = "more than 200 lists and objects in one another";
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  // A repeated key keeps its first place and its last value.
  static void drop_repeated_keys(Json::object_t& object) {
    std::unordered_map<std::string_view, std::size_t> place_of;
    std::vector<std::size_t> last_value;  // [distinct keys], index of each one's last value
    for (std::size_t i = 0; i < object.size(); i++) {
      const auto [entry, is_new] = place_of.try_emplace(object.data()[i].first, last_value.size());
      if (is_new) last_value.push_back(i);
      else last_value[entry->second] = i;
    }
    if (last_value.size() == object.size()) return;
    Json::object_t distinct;
    for (const std::size_t i : last_value) distinct.emplace_back(object.data()[i].first, std::move(object.data()[i].second));
    object = std::move(distinct);
  }

  static constexpr std::size_t max_json_depth = 200;
  std::vector<Json*> open_;  // lists and objects not yet closed; each is the last child of the one before, so none moves
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  TreeBuilder builder;
  if (Json::sax_parse(text, &builder)) return std::move(builder.root);
  const bool ended = builder.fault_byte >= text.size();
  throw Error(Problem{where + ":" + line_and_column(text, builder.fault_byte), ended ? "the text ends here" : builder.fault, "a complete JSON value",
                      text.empty() ? "an empty file" : (ended ? "the file was cut off" : "")});
}

Json read_json_file(const std::string& path) {
  const MappedFile file(path);
  return parse_json(file.text(), path);
}

const char* json_type_name(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a text";
    case Json::value_t::boolean:
      return "true or false";
    default:
      return "a number";
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
