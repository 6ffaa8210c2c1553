// See route_records.h. Lines go through simdjson's On-Demand parser, which looks only at what is asked for: so every value is asked for, and
// a line that is not plainly a record goes to the strict parser, which decides and words the error.
#include "importers/route_records.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/json.h"

namespace atlas {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr int max_fast_depth = 16;  // deeper values are left to the strict parser, which does not recurse

bool is_number(ondemand::value& value, double& number) {
  std::uint64_t whole = 0;
  if (value.get_uint64().get(whole) != simdjson::SUCCESS) return value.get_double().get(number) == simdjson::SUCCESS;
  number = static_cast<double>(whole);
  return true;
}

bool is_json(ondemand::value& value, int depth) {
  ondemand::json_type type{};
  if (depth > max_fast_depth || value.type().get(type) != simdjson::SUCCESS) return false;
  double number = 0;
  bool truth = false;
  std::string_view text;
  switch (type) {
    case ondemand::json_type::number:
      return is_number(value, number);
    case ondemand::json_type::string:
      return value.get_string().get(text) == simdjson::SUCCESS;
    case ondemand::json_type::boolean:
      return value.get_bool().get(truth) == simdjson::SUCCESS;
    case ondemand::json_type::null:
      return value.is_null().get(truth) == simdjson::SUCCESS && truth;
    case ondemand::json_type::array: {
      ondemand::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return false;
      for (auto element : array) {
        ondemand::value inner;
        if (std::move(element).get(inner) != simdjson::SUCCESS || !is_json(inner, depth + 1)) return false;
      }
      return true;
    }
    case ondemand::json_type::object: {
      ondemand::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) return false;
      for (auto field : object) {
        ondemand::value inner;
        if (field.unescaped_key().get(text) != simdjson::SUCCESS || field.value().get(inner) != simdjson::SUCCESS || !is_json(inner, depth + 1))
          return false;
      }
      return true;
    }
  }
  return false;
}

bool is_number_list(ondemand::value& value, std::vector<double>& numbers) {
  ondemand::array array;
  numbers.clear();
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  for (auto element : array) {
    ondemand::value inner;
    double number = 0;
    if (std::move(element).get(inner) != simdjson::SUCCESS || !is_number(inner, number)) return false;
    numbers.push_back(number);
  }
  return true;
}

bool read_field(std::string_view key, ondemand::value& value, RouteRecord& record) {
  if (key == "segment") {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return false;
    record.segment = text;
    return true;
  }
  if (key == "forward") return is_number(value, record.forward);
  if (key == "row") return is_number(value, record.row);
  if (key == "layer") return is_number(value, record.layer);
  if (key == "indices") return is_number_list(value, record.indices);
  return is_json(value, 0);
}

void clear(RouteRecord& record) {
  record.segment.clear();
  record.forward = record.row = record.layer = no_number;
  record.indices.clear();
}

// True if the line is a JSON object whose known fields have their types; false leaves the line to read_strictly.
bool read_fast(ondemand::parser& parser, simdjson::padded_string_view line, RouteRecord& record) {
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(line).get(document) != simdjson::SUCCESS || document.get_object().get(object) != simdjson::SUCCESS) return false;
  clear(record);
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) return false;
    if (!read_field(key, value, record)) return false;
  }
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;  // nothing after the object
}

double number_of(const nlohmann::json& object, const char* key) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : no_number;
}

void read_strictly(std::string_view line, const std::string& place, RouteRecord& record) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    const bool ended = error.byte > line.size();
    throw Error(Problem{place + ":" + std::to_string(std::max<std::size_t>(error.byte, 1)), ended ? "the line ends here" : "not JSON",
                        "a record, one JSON object a line", ended ? "the file was cut off" : ""});
  } catch (const nlohmann::json::exception&) {
    throw Error(Problem{place, "a number that no double can hold", "a record, one JSON object a line", ""});
  }
  if (!json.is_object()) throw Error(Problem{place, json_type_name(Json(json.type())), "a record, one JSON object a line", ""});
  clear(record);
  if (json.contains("segment")) {
    const nlohmann::json& segment = json["segment"];
    record.segment = segment.is_string() ? segment.get<std::string>() : json_type_name(Json(segment.type()));
  }
  record.forward = number_of(json, "forward");
  record.row = number_of(json, "row");
  record.layer = number_of(json, "layer");
  if (!json.contains("indices") || !json["indices"].is_array()) return;
  for (const nlohmann::json& expert : json["indices"]) record.indices.push_back(expert.is_number() ? expert.get<double>() : no_number);
}

std::string shown(double number) {
  if (std::isnan(number)) return "no number";
  if (std::trunc(number) == number && std::fabs(number) < 1e21) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);
}

std::string shown(const std::string& segment) {
  return Json(segment.size() <= 80 ? segment : segment.substr(0, 77) + "...").dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_whole(double number) { return number >= 0 && number <= max_safe_integer && std::trunc(number) == number; }

// NaN equals NaN and -0 equals 0 here, as in a JavaScript Set.
bool is_same(double left, double right) { return left == right || (std::isnan(left) && std::isnan(right)); }

std::optional<double> first_repeat(const std::vector<double>& numbers) {
  if (numbers.size() <= 32) {  // without a copy: this is done for every record
    for (std::size_t i = 1; i < numbers.size(); i++)
      for (std::size_t k = 0; k < i; k++)
        if (is_same(numbers[i], numbers[k])) return numbers[i];
    return std::nullopt;
  }
  std::vector<double> sorted(numbers);
  const auto key = [](double number) { return std::isnan(number) ? -std::numeric_limits<double>::infinity() : number; };
  std::sort(sorted.begin(), sorted.end(), [&](double left, double right) { return key(left) < key(right); });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), is_same);
  return twice == sorted.end() ? std::nullopt : std::optional(*twice);
}

constexpr const char* whole_number_text = "a whole number from 0 to 2^53 - 1";

}  // namespace

struct RouteReader::Parser {
  ondemand::parser parser;
  std::string padded;  // a copy of a line that has too few bytes after it in its file for simdjson to read past
};

RouteReader::RouteReader(std::string_view text, std::string where) : text_(text), where_(std::move(where)), parser_(std::make_unique<Parser>()) {}
RouteReader::~RouteReader() = default;

std::string RouteReader::place() const { return where_ + ":" + std::to_string(line_); }

bool RouteReader::next(RouteRecord& record) {
  while (position_ < text_.size()) {
    const std::string_view rest = text_.substr(position_, max_record_bytes + 1);
    const std::size_t end = rest.find('\n');
    line_++;
    if (end == std::string_view::npos && rest.size() > max_record_bytes) {
      throw Error(Problem{place(), "a line of more than " + std::to_string(max_record_bytes) + " bytes", "one record a line",
                          "the records stand in one list instead of one a line"});
    }
    const std::string_view line = rest.substr(0, end);
    const std::size_t bytes_behind = text_.size() - position_ - line.size();
    position_ += end == std::string_view::npos ? line.size() : end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    simdjson::padded_string_view view(line.data(), line.size(), line.size() + bytes_behind);
    if (bytes_behind < simdjson::SIMDJSON_PADDING) {
      parser_->padded.assign(line);
      parser_->padded.append(simdjson::SIMDJSON_PADDING, ' ');
      view = simdjson::padded_string_view(parser_->padded.data(), line.size(), parser_->padded.size());
    }
    if (!read_fast(parser_->parser, view, record)) read_strictly(line, place(), record);
    return true;
  }
  return false;
}

std::vector<RouteRecord> parse_route_records(std::string_view text, const std::string& where) {
  RouteReader reader(text, where);
  std::vector<RouteRecord> records;
  RouteRecord record;
  while (reader.next(record)) records.push_back(record);
  return records;
}

std::optional<Problem> route_record_problem(const RouteRecord& record, const std::string& segment) {
  if (record.segment != segment)
    return Problem{"segment", shown(record.segment), shown(segment) + ", the run of this file", "records of several runs in one file"};
  for (const auto& [name, number] : {std::pair{"forward", record.forward}, std::pair{"row", record.row}, std::pair{"layer", record.layer}})
    if (!is_whole(number)) return Problem{name, shown(number), whole_number_text, ""};
  if (record.indices.empty()) return Problem{"indices", "no experts", "at least one", ""};
  if (const auto twice = first_repeat(record.indices)) return Problem{"indices", shown(*twice) + " twice", "experts that differ", ""};
  for (const double expert : record.indices)
    if (!is_whole(expert)) return Problem{"indices", shown(expert), whole_number_text, ""};
  return std::nullopt;
}

}  // namespace atlas
