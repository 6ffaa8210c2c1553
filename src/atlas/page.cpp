// See page.h.
#include "atlas/page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/encoded_array.h"

namespace atlas {

namespace {

constexpr std::string_view place = "<script type=\"application/json\" id=\"atlas-data\">\"EXPERT_ATLAS_JSON\"</script>";
constexpr std::string_view marker = "\"EXPERT_ATLAS_JSON\"";

// Columns that only charts show: four digits do.
constexpr std::array drawn_only{"router_weight_affinity",
                                "specialisation_interval_95",
                                "lift_interval_95",
                                "eta_squared",
                                "specialisation_above_null",
                                "null_accuracies",
                                "token_matched",
                                "unmatched"};

bool is_encoded_array(const Json& json) { return json.is_object() && json.contains("encoding") && json.contains("dtype") && json.contains("shape"); }

// `value` to the nearest f32 with 12 bits after the leading one; the bits below are zero, so that they cost nothing once deflated.
float shortened(float value) {
  constexpr std::uint32_t dropped = 11, half = 1U << (dropped - 1);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + half) & ~((1U << dropped) - 1));
}

template <typename T>
Json narrowed(const std::vector<std::uint64_t>& values, const std::vector<std::uint64_t>& shape) {
  return encode_array<T>(std::vector<T>(values.begin(), values.end()), shape);
}

// A damaged array is left as it is: the page says what is wrong with it.
template <typename T>
void narrow_whole_numbers(Json& json, const std::vector<std::uint64_t>& shape) {
  std::vector<Problem> problems;
  const std::vector<T> read = decode_array<T>(json, shape, "", problems);
  if (!problems.empty()) return;
  const std::vector<std::uint64_t> values(read.begin(), read.end());
  const std::uint64_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  if (most <= std::numeric_limits<std::uint8_t>::max()) json = narrowed<std::uint8_t>(values, shape);
  else if (most <= std::numeric_limits<std::uint16_t>::max()) json = narrowed<std::uint16_t>(values, shape);
  else if (most <= std::numeric_limits<std::uint32_t>::max()) json = narrowed<std::uint32_t>(values, shape);
}

void narrow_reals(Json& json, const std::vector<std::uint64_t>& shape, bool only_drawn) {
  std::vector<Problem> problems;
  const std::vector<double> values = decode_array<double>(json, shape, "", problems);
  if (!problems.empty()) return;
  std::vector<float> reals(values.begin(), values.end());
  if (only_drawn) std::transform(reals.begin(), reals.end(), reals.begin(), shortened);
  json = encode_array<float>(reals, shape);
}

void narrow_array(const std::string& name, Json& json) {
  const auto shape = json["shape"].get<std::vector<std::uint64_t>>();
  const std::string dtype = json["dtype"].get<std::string>();
  if (dtype == "u32") narrow_whole_numbers<std::uint32_t>(json, shape);
  if (dtype == "u64") narrow_whole_numbers<std::uint64_t>(json, shape);
  if (dtype == "f64") narrow_reals(json, shape, std::find(drawn_only.begin(), drawn_only.end(), name) != drawn_only.end());
}

void narrow_arrays(Json& json) {
  if (!json.is_object()) return;
  for (auto& [name, value] : json.items()) {
    if (is_encoded_array(value)) narrow_array(name, value);
    else narrow_arrays(value);
  }
}

}  // namespace

Json compact_for_page(Json atlas) {
  if (atlas.contains("counts")) atlas["counts"].erase("router_weight_sum");
  if (atlas.contains("evidence") && atlas["evidence"].is_object()) {
    for (Json& phase : atlas["evidence"]) {
      // With layers left out, shares are of fewer layers than the counts tell the page: then the column stays.
      const bool all_layers = phase.contains("layers_left_out") && phase["layers_left_out"].empty();
      if (all_layers && phase.contains("experts")) phase["experts"].erase("affinity");
    }
  }
  narrow_arrays(atlas);
  return atlas;
}

std::string json_for_script(const Json& json) {
  const std::string text = json.dump();
  std::string safe;
  safe.reserve(text.size());
  for (const char character : text) {  // in JSON, "<" occurs only inside texts, where an escape means the same
    if (character == '<') safe += "\\u003c";
    else safe += character;
  }
  return safe;
}

std::string page_html(std::string_view html_template, const Json& atlas) {
  const std::size_t found = html_template.find(place);
  if (found == std::string_view::npos || html_template.find(place, found + 1) != std::string_view::npos)
    throw Error(Problem{"the page's template", found == std::string_view::npos ? "no place for the atlas" : "more than one place for the atlas",
                        std::string(place), "viewer/dist/page.html was not made by viewer's `npm run build`"});
  const std::size_t at = found + place.find(marker);
  std::string html(html_template.substr(0, at));
  html += json_for_script(atlas);
  html += html_template.substr(at + marker.size());
  return html;
}

}  // namespace atlas
